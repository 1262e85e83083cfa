"""A minute and a half inside a handler that gives the loop back to nobody."""

import signal
import time

import pytest

from tests.support.blocked import check_blocked_loop
from tests.support.database import Database
from tests.support.history import statuses, tenures, told
from tests.support.outages import lease
from tests.support.supervisor import supervise
from tests.support.worker import until, worker

LEASE = 6
SETTINGS = lease(LEASE, 3)


@pytest.mark.parametrize("how", ["spin", "sleep"])
def test_a_loop_blocked_for_ninety_seconds_holds_up_neither_leases_nor_probes(db: Database, how: str) -> None:
    with worker(db.url_as("bpc_worker"), **SETTINGS) as running:
        running.wait_ready()
        check_blocked_loop(db, running, how=how, seconds=90, lease=LEASE)
        assert running.stop() == 0
    db.check_history()


def test_with_the_default_grace_a_blocked_worker_leaves_in_time(db: Database) -> None:
    grace = 25
    blocker = db.enqueue("TEST_BLOCK", '{"seconds": 40}')
    with worker(db.url, **SETTINGS) as blocked:
        until(lambda: db.job(blocker)["status"] == "RUNNING", within=20)
        others = [db.enqueue("TEST_SLEEP", '{"seconds": 1}') for _ in range(5)]
        until(lambda: statuses(db) == {"RUNNING": 6}, within=20)
        told_at = time.monotonic()
        blocked.send(signal.SIGTERM)
        assert blocked.wait(within=grace + 5) == 1
        print(f"left {time.monotonic() - told_at:.2f} s after SIGTERM")
        assert statuses(db) == {"RUNNING": 1, "QUEUED": 5}
    with worker(db.url, **SETTINGS) as successor:
        until(lambda: statuses(db) == {"SUCCEEDED": 6}, within=120)
        assert successor.stop() == 0
    assert [db.events(job_id) for job_id in others] == [["job:released"]] * 5
    assert db.events(blocker) == ["reaper:requeued"]
    db.check_history()


def test_a_handler_that_never_lets_itself_be_stopped_costs_its_neighbours_no_attempt(db: Database) -> None:
    """Five processes end because of it; they give back what they hold, again and again."""
    stubborn = db.enqueue("TEST_STUBBORN", '{"seconds": 600}')
    others = [db.enqueue("TEST_SLEEP", '{"seconds": 20}') for _ in range(15)]

    exits = supervise(
        db.url,
        SETTINGS,
        lambda: statuses(db) == {"SUCCEEDED": 15, "DEAD_LETTER": 1} and told(db),
        within=400,
    )

    released = sum(len(tenures(db, job_id)) - 1 for job_id in others)
    print(f"{len(exits)} processes ended; jobs were given back {released} times")
    assert exits == [1] * 5
    assert db.job(stubborn)["fail_code"] == "LEASE_EXPIRED"
    assert released > 0
    assert {str(db.job(job_id)["attempts"]) for job_id in others} == {"1"}
    db.check_history()
