"""Workers that freeze or die in the middle of a job: another one takes it over, and it has one result."""

import json
import signal

import pytest

from tests.support.database import Database
from tests.support.history import events, lease_ends, moment, now, seconds, tenures
from tests.support.supervisor import supervise
from tests.support.worker import until, worker

LEASE, RENEW, REAP = 6, 3, 1
SETTINGS = {
    "BPC_JOBS_LEASE_SECONDS": LEASE,
    "BPC_JOBS_LEASE_RENEW_SECONDS": RENEW,
    "BPC_REAPER_INTERVAL_SECONDS": REAP,
}
BACKOFF, POLL = 2.2, 1.1  # the longest pause after a first attempt, and between two looks


def effects(db: Database) -> list[tuple[str, int, int]]:
    rows = db.run("SELECT key, attempt, pid FROM test_effects ORDER BY at")
    return [(str(row["key"]), int(str(row["attempt"])), int(str(row["pid"]))) for row in rows]


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


def test_a_killed_workers_job_is_taken_over_in_time(db: Database) -> None:
    with worker(db.url, BPC_WORKER_ID="1", **SETTINGS) as one, worker(db.url, BPC_WORKER_ID="2", **SETTINGS) as two:
        one.wait_ready()
        two.wait_ready()
        job_id = db.enqueue("TEST_EFFECT", '{"key": "a", "seconds": 5}')
        until(lambda: tenures(db, job_id) and tenures(db, job_id)[0].longest_gap > RENEW / 2, within=10)
        killed, survivor = (one, two) if db.job(job_id)["lease_owner"] == "1" else (two, one)
        killed_at = now(db)
        killed.send(signal.SIGKILL)
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=40)

        taken_over_at = tenures(db, job_id)[1].started_at
        after_lease = seconds(taken_over_at - lease_ends(db, job_id))
        after_kill = seconds(taken_over_at - killed_at)
        print(f"taken over {after_kill:.2f} s after the kill, {after_lease:.2f} s after the lease's end")
        assert 0 < after_lease <= 1.25 * REAP + BACKOFF + POLL
        assert after_kill <= LEASE + 1.25 * REAP + BACKOFF + POLL
        assert effects(db) == [("a", 2, survivor.pid)]
        [reaped] = events(db, job_id)
        assert reaped["type"] == "reaper:requeued"
        assert lease_ends(db, job_id) <= moment(reaped, "at") <= lease_ends(db, job_id) + timedelta(seconds=1.25 * REAP)
    db.check_history()


def test_a_job_that_kills_its_worker_dies_alone(db: Database) -> None:
    """Twenty others wait beside it; every worker it kills is replaced at once."""
    poison = db.enqueue("TEST_KILL")
    others = [db.enqueue("TEST_SLEEP", '{"seconds": 1}') for _ in range(20)]

    exits = supervise(
        db.url,
        lambda: db.one("SELECT count(*) AS n FROM jobs WHERE finished_at IS NULL")["n"] == 0,
        within=150,
        BPC_JOBS_BACKOFF_BASE=1,
        BPC_JOBS_LEASE_SECONDS=5,
        BPC_JOBS_LEASE_RENEW_SECONDS=2,
        BPC_REAPER_INTERVAL_SECONDS=REAP,
    )

    check_poison(db, poison, exits)
    check_neighbours(db, others)
    db.check_history()


def check_poison(db: Database, poison: str, exits: list[int]) -> None:
    job = db.job(poison)
    claims = tenures(db, poison)
    assert exits == [-signal.SIGKILL] * 5
    assert (job["status"], job["fail_code"], job["attempts"]) == ("DEAD_LETTER", "LEASE_EXPIRED", 5)
    assert len(claims) == 5
    assert db.events(poison) == ["reaper:requeued"] * 4 + ["reaper:dead_lettered"]
    told = [event["data"] for event in events(db, poison)]
    assert [data["details"]["locked_by"] for data in told] == [claim.owner for claim in claims]
    assert len({claim.owner for claim in claims}) == 5
