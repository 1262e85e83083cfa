"""Signals: what is finished, what is given back, and how soon the process is gone."""

import signal
import time
from uuid import uuid4

import pytest

from tests.support.database import Database
from tests.support.history import moment, now, statuses, tenures
from tests.support.worker import Worker, until, worker

BOTH = pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
AT_ONCE = 2.0  # seconds, on a busy machine


def stopped(running: Worker, which: signal.Signals, *, within: float) -> tuple[int, float]:
    """Exit code, and seconds from the signal to the end."""
    told_at = time.monotonic()
    running.send(which)
    return running.wait(within), time.monotonic() - told_at


def given_back(db: Database, job_id: str) -> bool:
    """Waiting, due at once, with its attempt back, and one event that says so."""
    job = db.job(job_id)
    assert (job["status"], job["attempts"], job["snoozes"]) == ("QUEUED", 0, 0)
    assert job["lease_owner"] is job["lease_expires_at"] is job["last_error"] is None
    assert moment(job, "scheduled_at") <= now(db)
    assert db.events(job_id) == ["job:released"]
    return True


@BOTH
def test_jobs_that_finish_in_the_grace_are_finished_and_nothing_new_is_begun(
    db: Database, which: signal.Signals
) -> None:
    """Slots are full and more waits; what becomes free is not filled again."""
    grace = 10
    jobs = [db.enqueue("TEST_SLEEP", f'{{"seconds": {seconds}}}') for seconds in (1, 2, 3)]
    with worker(
        db.url_as("bpc_worker"), BPC_WORKER_CONCURRENCY=3, BPC_SHUTDOWN_GRACE_SECONDS=grace
    ) as running:
        until(lambda: statuses(db) == {"RUNNING": 3}, within=20)
        waiting = [db.enqueue("TEST_NOOP", priority=0) for _ in range(5)]
        code, took = stopped(running, which, within=grace)
        print(f"left {took:.2f} s after {which.name}")

        assert code == 0
        assert took < 3 + AT_ONCE
        assert {str(db.job(job_id)["status"]) for job_id in jobs} == {"SUCCEEDED"}
        assert [tenures(db, job_id) for job_id in waiting] == [[]] * 5
        assert [db.events(job_id) for job_id in (*jobs, *waiting)] == [[]] * 8
    with worker(db.url) as successor:
        until(lambda: statuses(db) == {"SUCCEEDED": 8}, within=20)
        assert successor.stop() == 0
    db.check_history()


@BOTH
def test_jobs_that_do_not_finish_in_the_grace_are_given_back(db: Database, which: signal.Signals) -> None:
    grace = 2
    short = db.enqueue("TEST_EFFECT", '{"key": "short", "seconds": 1.2}')
    long = [
        db.enqueue("TEST_SLEEP", '{"seconds": 4}'),
        db.enqueue("TEST_EFFECT", '{"key": "long", "seconds": 4}'),
    ]
    with worker(db.url_as("bpc_worker"), BPC_SHUTDOWN_GRACE_SECONDS=grace) as running:
        until(lambda: statuses(db) == {"RUNNING": 3}, within=20)
        code, took = stopped(running, which, within=grace + 5)
        print(f"left {took:.2f} s after {which.name}")

        assert code == 0
        assert grace <= took <= grace + AT_ONCE
        assert db.job(short)["status"] == "SUCCEEDED"
        assert all(given_back(db, job_id) for job_id in long)
    with worker(db.url) as successor:
        until(lambda: statuses(db) == {"SUCCEEDED": 3}, within=20)
        assert successor.stop() == 0
    assert {str(db.job(job_id)["attempts"]) for job_id in long} == {"1"}
    assert db.one("SELECT count(*) AS n FROM test_effects")["n"] == 2
    db.check_history()


def test_a_draining_worker_is_live_and_not_ready(db: Database) -> None:
    with worker(db.url, BPC_SHUTDOWN_GRACE_SECONDS=20) as running:
        running.wait_ready()
        job_id = db.enqueue("TEST_SLEEP", '{"seconds": 4}')
        until(lambda: db.job(job_id)["status"] == "RUNNING", within=10)
        running.send(signal.SIGTERM)
        until(lambda: running.get("/v1/health/ready")[0] == 503, within=AT_ONCE)

        assert '"draining": "stopping"' in running.get("/v1/health/ready")[1]
        assert [running.get(path)[0] for path in ("/readyz", "/healthz")] == [503, 503]
        assert [running.get(path)[0] for path in ("/v1/health/live", "/livez")] == [200, 200]
        assert running.metric("bpc_worker_slots_in_use") == 1
        assert running.wait(within=20) == 0
    assert db.job(job_id)["status"] == "SUCCEEDED"
    db.check_history()


@pytest.mark.parametrize(
    ("first", "second"),
    [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)],
)
def test_a_second_signal_ends_the_grace_at_once(
    db: Database, first: signal.Signals, second: signal.Signals
) -> None:
    jobs = [db.enqueue("TEST_SLEEP", '{"seconds": 4}') for _ in range(5)]
    with worker(db.url_as("bpc_worker")) as running:
        until(lambda: statuses(db) == {"RUNNING": 5}, within=20)
        running.send(first)
        until(lambda: running.get("/v1/health/ready")[0] == 503, within=AT_ONCE)
        code, took = stopped(running, second, within=10)
        print(f"left {took:.2f} s after the second signal")

        assert code == 0
        assert took <= AT_ONCE
        assert all(given_back(db, job_id) for job_id in jobs)
    with worker(db.url) as successor:
        until(lambda: statuses(db) == {"SUCCEEDED": 5}, within=20)
        assert successor.stop() == 0
    db.check_history()


def test_a_handler_that_completes_after_its_cancellation_is_given_back(db: Database) -> None:
    """It is refused, because the job is being given back, and must not be left to the reaper for that."""
    with worker(db.url, BPC_SHUTDOWN_GRACE_SECONDS=0) as running:
        job_id = db.enqueue("TEST_LATE", '{"seconds": 3}')
        until(lambda: db.job(job_id)["status"] == "RUNNING", within=20)
        code, took = stopped(running, signal.SIGTERM, within=10)

        assert code == 0
        assert took <= AT_ONCE
        assert given_back(db, job_id)
    with worker(db.url) as successor:
        until(lambda: statuses(db) == {"SUCCEEDED": 1}, within=20)
        assert successor.stop() == 0
    db.check_history()


def test_an_idle_worker_leaves_at_once(db: Database) -> None:
    db.enqueue("TEST_NOOP")
    with worker(db.url) as running:
        until(lambda: statuses(db) == {"SUCCEEDED": 1}, within=20)
        code, took = stopped(running, signal.SIGTERM, within=10)

        assert code == 0
        assert took <= AT_ONCE
    db.check_history()


def abandoned(db: Database, job_type: str = "TEST_NOOP", **columns: object) -> str:
    """A job whose worker is gone and whose lease has ended."""
    token = uuid4()
    columns |= {"lease_owner": "gone", "lease_token": token, "begun_token": token}
    columns |= {"lease_expires_at": "2020-01-01T00:00:00Z"}
    return db.enqueue(job_type, "{}", status="RUNNING", attempts=1, **columns)


def test_the_reaper_role_reaps_and_runs_nothing(db: Database) -> None:
    lost = abandoned(db, "NOT_INSTALLED_HERE")
    spent = abandoned(db, max_attempts=1)
    unwanted = abandoned(db, cancel_requested_at="2020-01-01T00:00:00Z")
    waiting = db.enqueue("TEST_NOOP")
    with worker(
        db.url_as("bpc_worker"), "--role", "reaper", BPC_REAPER_INTERVAL_SECONDS=0.2, BPC_JOBS_BACKOFF_BASE=1
    ) as reaper:
        reaper.wait_ready()
        until(lambda: db.job(spent)["status"] != "RUNNING", within=10)
        until(lambda: moment(db.job(lost), "scheduled_at") < now(db), within=10)
        until(lambda: reaper.metric("bpc_reaper_scan_duration_seconds_count") > 20, within=20)

        assert (db.job(lost)["status"], db.events(lost)) == ("QUEUED", ["reaper:requeued"])
        assert (db.job(spent)["status"], db.events(spent)) == ("DEAD_LETTER", ["reaper:dead_lettered"])
        assert (db.job(unwanted)["status"], db.events(unwanted)) == ("CANCELLED", ["job:cancelled"])
        assert (db.job(waiting)["status"], db.job(waiting)["attempts"]) == ("QUEUED", 0)
        assert reaper.metric("bpc_looks_total") == 0
        assert reaper.get("/v1/health/live")[0] == 200
        assert reaper.stop() == 0
    db.run("UPDATE jobs SET type = 'TEST_NOOP' WHERE type = 'NOT_INSTALLED_HERE'")
    with worker(db.url) as runs:
        until(lambda: statuses(db) == {"SUCCEEDED": 2, "DEAD_LETTER": 1, "CANCELLED": 1}, within=20)
        assert runs.stop() == 0
    db.check_history()


@pytest.mark.parametrize("role", ["worker", "all"])
def test_every_worker_reaps_and_runs(db: Database, role: str) -> None:
    lost = abandoned(db)
    waiting = db.enqueue("TEST_NOOP")
    with worker(db.url_as("bpc_worker"), "--role", role, BPC_JOBS_BACKOFF_BASE=1) as running:
        until(lambda: statuses(db) == {"SUCCEEDED": 2}, within=20)

        assert (db.job(lost)["attempts"], db.job(waiting)["attempts"]) == (2, 1)
        assert db.events(lost) == ["reaper:requeued"]
        assert running.stop() == 0
    db.check_history()
