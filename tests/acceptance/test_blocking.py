"""Handlers that block the loop they share, or that ignore their cancellation."""

import signal
import time

import pytest

from tests.support.blocked import check_blocked_loop
from tests.support.database import Database
from tests.support.history import moment, now, span, statuses, tenures
from tests.support.outages import lease
from tests.support.worker import until, worker

LEASE, GRACE = 5, 2
SETTINGS = {**lease(LEASE, 2), "BPC_SHUTDOWN_GRACE_SECONDS": GRACE}
PATIENCE = 5  # for a handler after its cancellation


@pytest.mark.parametrize("how", ["spin", "sleep"])
def test_a_blocked_loop_holds_up_neither_leases_nor_probes(db: Database, how: str) -> None:
    with worker(db.url_as("bpc_worker"), **SETTINGS) as running:
        running.wait_ready()
        check_blocked_loop(db, running, how=how, seconds=12, lease=LEASE)
        assert running.stop() == 0
    db.check_history()


def test_a_worker_whose_loop_is_blocked_leaves_in_time_and_gives_the_others_back(db: Database) -> None:
    others = [db.enqueue("TEST_SLEEP", '{"seconds": 10}') for _ in range(3)]
    with worker(db.url_as("bpc_worker"), BPC_WORKER_ID="blocked", **SETTINGS) as blocked:
        until(lambda: statuses(db) == {"RUNNING": 3}, within=20)
        blocker = db.enqueue("TEST_BLOCK", '{"how": "spin", "seconds": 10}')
        until(lambda: statuses(db) == {"RUNNING": 4}, within=10)
        told_at = time.monotonic()
        blocked.send(signal.SIGTERM)
        assert blocked.wait(within=GRACE + 5) == 1
        print(f"left {time.monotonic() - told_at:.2f} s after SIGTERM")

        for job_id in others:
            job = db.job(job_id)
            assert (job["status"], job["attempts"], db.events(job_id)) == ("QUEUED", 0, ["job:released"])
            assert moment(job, "scheduled_at") <= now(db)
        assert db.job(blocker)["status"] == "RUNNING"
        assert db.job(blocker)["lease_owner"] == "blocked"
        assert db.events(blocker) == []
    with worker(db.url, **SETTINGS) as successor:
        until(lambda: statuses(db) == {"SUCCEEDED": 4}, within=60)
        assert successor.stop() == 0
    assert [db.job(job_id)["attempts"] for job_id in (*others, blocker)] == [1, 1, 1, 2]
    assert db.events(blocker) == ["reaper:requeued"]
    db.check_history()


def test_a_handler_that_ignores_its_cancellation_ends_its_process_but_not_the_other_jobs(
    db: Database,
) -> None:
    """Slots are full and a queue waits behind them, so that a slot that gets free is tempting."""
    stubborn = db.enqueue("TEST_STUBBORN", '{"seconds": 60}', max_attempts=1, priority=0)
    others = [db.enqueue("TEST_SLEEP", '{"seconds": 12}') for _ in range(30)]
    with worker(db.url, BPC_WORKER_CONCURRENCY=20, **SETTINGS) as running:
        until(lambda: statuses(db).get("RUNNING") == 20, within=20)
        assert running.wait(within=30) == 1

        claimed_at = tenures(db, stubborn)[0].started_at
        lived = span(claimed_at, now(db))
        print(f"the process ended {lived:.2f} s after the claim")
        assert 2 + PATIENCE <= lived <= 2 + PATIENCE + 2
        for job_id in others:
            job = db.job(job_id)
            assert (job["status"], job["attempts"]) == ("QUEUED", 0)
            assert moment(job, "scheduled_at") <= now(db)
            assert db.events(job_id) == ["job:released"] * len(tenures(db, job_id))
        assert sum(len(tenures(db, job_id)) for job_id in others) >= 19
        assert db.job(stubborn)["status"] == "RUNNING"
    with worker(db.url, BPC_WORKER_CONCURRENCY=30, **SETTINGS) as successor:
        until(lambda: statuses(db) == {"SUCCEEDED": 30, "DEAD_LETTER": 1}, within=60)
        assert successor.stop() == 0
    assert db.job(stubborn)["fail_code"] == "LEASE_EXPIRED"
    assert {db.job(job_id)["attempts"] for job_id in others} == {1}
    db.check_history()
