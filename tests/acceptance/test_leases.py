"""Workers that freeze or die in the middle of a job: another one takes it over, and it has one result."""

import json
import signal

import pytest

from tests.support.database import Database
from tests.support.history import effects, events, moment, now, span, statuses, tenures, told
from tests.support.outages import lease
from tests.support.poison import check_neighbours, check_poison, check_suspects_were_alone
from tests.support.supervisor import supervise
from tests.support.worker import until, worker

LEASE, RENEW, REAP = 6, 3, 1
SETTINGS = lease(LEASE, RENEW, reap=REAP)
BACKOFF, POLL = 2.2, 1.1  # the longest pause after a first attempt, and between two looks


@pytest.mark.parametrize(
    ("job_seconds", "wakes"),
    [(4, "after the other has completed"), (14, "while the other is at work")],
    ids=["wakes_too_late", "wakes_in_between"],
)
def test_a_worker_that_froze_past_its_lease_adds_no_second_result(
    db: Database, job_seconds: int, wakes: str
) -> None:
    """Both have the same name, so only the token tells their claims apart."""
    with worker(db.url, BPC_WORKER_ID="twin", **SETTINGS) as frozen:
        frozen.wait_ready()
        job_id = db.enqueue("TEST_EFFECT", json.dumps({"key": "a", "seconds": job_seconds}))
        until(lambda: db.job(job_id)["status"] == "RUNNING", within=10)
        frozen.send(signal.SIGSTOP)
        with worker(db.url, BPC_WORKER_ID="twin", **SETTINGS) as other:
            until(lambda: db.job(job_id)["attempts"] == 2, within=30)
            if wakes == "after the other has completed":
                until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=30)
            frozen.send(signal.SIGCONT)
            until(lambda: frozen.metric("bpc_leases_lost_total") == 1, within=10)
            until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=30)
            assert other.stop() == 0

            later = db.enqueue("TEST_EFFECT", '{"key": "b"}')
            until(lambda: db.job(later)["status"] == "SUCCEEDED", within=10)

            assert effects(db) == [("a", 2, other.pid), ("b", 1, frozen.pid)]
        assert [tenure.owner for tenure in tenures(db, job_id)] == ["twin", "twin"]
        assert db.events(job_id) == ["reaper:requeued"]
        assert frozen.metric("bpc_leases_lost_total") == 1
        assert frozen.get("/v1/health/live")[0] == frozen.get("/v1/health/ready")[0] == 200
        assert frozen.stop() == 0
    db.check_history()


def test_the_job_of_a_killed_worker_is_taken_over_in_time(db: Database) -> None:
    url = db.url_as("bpc_worker")
    with (
        worker(url, BPC_WORKER_ID="1", **SETTINGS) as one,
        worker(url, BPC_WORKER_ID="2", **SETTINGS) as two,
    ):
        one.wait_ready()
        two.wait_ready()
        job_id = db.enqueue("TEST_EFFECT", '{"key": "a", "seconds": 5}')
        until(lambda: [claim for claim in tenures(db, job_id) if claim.longest_gap > RENEW / 2], within=10)
        killed, survivor = (one, two) if db.job(job_id)["lease_owner"] == "1" else (two, one)
        killed_at = now(db)
        killed.send(signal.SIGKILL)
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=40)

        first, second = tenures(db, job_id)
        [reaped] = events(db, job_id)
        assert first.ended is not None
        pause = span(moment(reaped, "at"), moment(first.ended, "scheduled_at"))
        after_kill = span(killed_at, second.started_at)
        after_lease = span(first.lease_expires_at, second.started_at)
        reaped_after_lease = span(first.lease_expires_at, moment(reaped, "at"))
        print(f"taken over {after_kill:.2f} s after the kill, {after_lease:.2f} s after the end of the lease")
        assert 0 <= reaped_after_lease <= 1.25 * REAP
        assert 2 <= pause <= BACKOFF
        assert after_lease <= 1.25 * REAP + BACKOFF + POLL
        assert after_kill <= LEASE + 1.25 * REAP + BACKOFF + POLL
        assert reaped["type"] == "reaper:requeued"
        assert effects(db) == [("a", 2, survivor.pid)]
        assert survivor.metric("bpc_reaper_jobs_moved_total", action="requeued") == 1
    db.check_history()


def test_a_job_that_kills_its_workers_dies_alone(db: Database) -> None:
    """Twenty others wait beside it; the workers it kills are replaced at once, until it runs apart."""
    poison = db.enqueue("TEST_KILL")
    others = [db.enqueue("TEST_SLEEP", '{"seconds": 1}') for _ in range(20)]

    exits = supervise(
        db.url,
        {**lease(5, 2), "BPC_JOBS_BACKOFF_BASE": 1},
        lambda: statuses(db) == {"SUCCEEDED": 20, "DEAD_LETTER": 1} and told(db),
        within=180,
    )

    check_poison(db, poison, exits)
    check_neighbours(db, others)
    assert check_suspects_were_alone(db) >= 3
    db.check_history()
