"""Workers that are killed in a drain: what had not begun pays no attempt."""

import json
import secrets
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.history import statuses, told
from tests.support.outages import lease
from tests.support.supervisor import supervise
from tests.support.worker import until, worker

JOBS, KILLS = 6000, 4
AT_A_TIME = 4  # begin by one statement
SESSIONS = "SELECT FROM pg_stat_activity WHERE application_name LIKE 'bpc-worker%'"


def enqueue(db: Database, path: Path) -> None:
    db.run(
        "INSERT INTO jobs (tenant_id, type, payload, max_attempts)"
        " SELECT %s, 'TEST_BEGIN', %s, 1 FROM generate_series(1, %s)",
        [db.tenant(), json.dumps({"path": str(path)}), JOBS],
    )


def running(db: Database) -> set[str]:
    rows = db.run("SELECT job_id FROM jobs WHERE status = 'RUNNING' AND type = 'TEST_BEGIN'")
    return {str(row["job_id"]) for row in rows}


def has_done(db: Database, count: int) -> bool:
    return statuses(db).get("SUCCEEDED", 0) >= count


@pytest.mark.parametrize("slots", [10, 100])
def test_no_dead_letter_is_one_whose_handler_never_began(db: Database, tmp_path: Path, slots: int) -> None:
    path = tmp_path / "begun"
    path.touch()
    path.chmod(0o666)
    settings = {**lease(5, 2), "BPC_WORKER_CONCURRENCY": slots, "BPC_LOG_LEVEL": "warning"}
    url = db.url_as("bpc_worker")
    enqueue(db, path)
    left: set[str] = set()
    never: set[str] = set()
    for kill in range(1, KILLS + 1):
        with worker(url, **settings) as victim:
            until(partial(has_done, db, kill * JOBS // 10), within=60, every=0.001)
            time.sleep(secrets.randbelow(50) / 1000)  # at any moment of its round
            victim.send(signal.SIGKILL)
            victim.wait(10)
        until(lambda: not db.run(SESSIONS), within=10)
        begun = set(path.read_text(encoding="ascii").split())
        left |= (now := running(db))
        never |= now - begun
    with worker(url, **settings) as last:
        until(lambda: statuses(db).keys() <= {"SUCCEEDED", "DEAD_LETTER"} and told(db), within=120)
        assert last.stop() == 0
    dead = {str(row["job_id"]) for row in db.run("SELECT job_id FROM jobs WHERE status = 'DEAD_LETTER'")}
    print(
        f"{slots} slots, {KILLS} kills: {len(left)} left RUNNING, {len(never)} of them never begun;"
        f" {len(dead)} dead letters, {len(dead & never)} of them never begun"
    )
    assert left
    assert not db.run("SELECT FROM jobs WHERE status = 'DEAD_LETTER' AND begun_token IS NULL")
    assert len(dead & never) <= KILLS * AT_A_TIME, "what one statement begins, a kill can cost"
    assert statuses(db) == {"SUCCEEDED": JOBS - len(dead), "DEAD_LETTER": len(dead)}
    db.check_history()


def test_a_job_that_kills_its_process_at_its_first_line_is_dead_after_its_attempts(db: Database) -> None:
    poison = db.enqueue("TEST_KILL", max_attempts=2)
    exits = supervise(
        db.url_as("bpc_worker"),
        {**lease(5, 2), "BPC_JOBS_BACKOFF_BASE": 1},
        lambda: statuses(db) == {"DEAD_LETTER": 1} and told(db),
        within=120,
    )
    assert exits == [-signal.SIGKILL] * 2
    assert (db.job(poison)["attempts"], db.job(poison)["snoozes"]) == (2, 0)
    assert db.events(poison) == ["reaper:requeued", "reaper:dead_lettered"]
    db.check_history()


def test_the_jobs_of_a_rack_that_died_come_back_soon(db: Database) -> None:
    """By one reaper, whose passes end after a fifth of a second: it does not wait an interval for each."""
    db.run(
        "INSERT INTO jobs"
        " (tenant_id, type, status, attempts, lease_owner, lease_token, lease_expires_at, started_at)"
        " SELECT %s, 'TEST_NOOP', 'RUNNING', 1, 'dead', gen_random_uuid(), now(), now() - interval '1 minute'"
        " FROM generate_series(1, 6000)",
        [db.tenant()],
    )
    with worker(db.url_as("bpc_worker"), "--role", "reaper"):
        until(lambda: statuses(db).get("QUEUED"), within=30)
        began = time.monotonic()
        until(lambda: statuses(db) == {"QUEUED": 6000}, within=120, every=0.2)
        print(f"6,000 leases of dead workers came back in {time.monotonic() - began:.1f} s")
