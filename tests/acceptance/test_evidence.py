"""Events under load and of dead letters: real workers, one chain without fork or gap, one event per death."""

from uuid import uuid4

from tests.support.chains import check_chains
from tests.support.database import Database
from tests.support.worker import command, until, worker

JOBS = 300
QUICK_REAPER = {"BPC_REAPER_INTERVAL_SECONDS": 1}
# As a worker leaves it that died in its last attempt.
ABANDONED = """
UPDATE jobs SET status = 'RUNNING', attempts = max_attempts, started_at = now(), lease_owner = 'gone',
                lease_token = job_id, begun_token = job_id, lease_expires_at = now() - interval '1 second'
WHERE job_id = %s
"""


def left(db: Database, *, besides: str = "") -> int:
    """How many jobs have not ended."""
    row = db.one(
        "SELECT count(*) AS n FROM jobs WHERE status IN ('QUEUED', 'RUNNING') AND type <> %s", [besides]
    )
    return int(str(row["n"]))


def deaths(db: Database) -> list[tuple[str, object, object, object]]:
    rows = db.run(
        "SELECT aggregate_id::text AS job_id, payload FROM events WHERE event_type = 'JOB_DEAD_LETTERED'"
        " AND aggregate_type = 'job' ORDER BY aggregate_id, aggregate_version"
    )
    told = [(str(row["job_id"]), row["payload"]) for row in rows]
    return [(job_id, p["job_type"], p["attempt"], p["code"]) for job_id, p in told]  # type: ignore[index]


def test_300_jobs_at_once_make_one_chain_without_fork_or_gap(db: Database) -> None:
    """Two processes with 24 jobs at a time each, every one at the end of the same chain."""
    chain = uuid4()
    db.run(
        "INSERT INTO jobs (tenant_id, type, payload)"
        " SELECT %s, 'TEST_TELL', jsonb_build_object('chain', %s::text) FROM generate_series(1, %s)",
        [db.tenant(), chain, JOBS],
    )
    settings = {"BPC_WORKER_CONCURRENCY": 24}
    url = db.url_as("bpc_worker")
    with worker(url, **settings) as first, worker(url, **settings) as second:
        until(lambda: left(db) == 0, within=60, what="all jobs ended")
        assert (first.stop(), second.stop()) == (0, 0)

    rows = db.run("SELECT aggregate_version, actor_id FROM events ORDER BY aggregate_version")
    owners = db.run(
        "SELECT DISTINCT new ->> 'lease_owner' AS name FROM job_history WHERE new ->> 'status' = 'RUNNING'"
    )
    assert [row["aggregate_version"] for row in rows] == [*range(1, JOBS + 1)]
    assert len({row["actor_id"] for row in rows}) == JOBS
    assert db.one("SELECT count(*) AS n FROM jobs WHERE status = 'SUCCEEDED' AND attempts = 1") == {"n": JOBS}
    assert len(owners) == 2
    assert check_chains(db) == 1
    assert command(db.url_as("bpc_reader"), "audit", "verify").returncode == 0
    db.check_history()


def test_every_death_is_told_once_whoever_saw_it(db: Database) -> None:
    """Attempts used up, in groups; a worker that died; a job that dies again after a retry."""
    died = [db.enqueue("TEST_FAIL", max_attempts=1) for _ in range(20)]
    reaped = db.enqueue("TEST_NOOP", max_attempts=1)
    db.run(ABANDONED, [reaped])
    failed = db.enqueue("TEST_FAIL", '{"family": "permanent"}')
    with worker(db.url_as("bpc_worker"), **QUICK_REAPER) as running:
        until(lambda: len(deaths(db)) == 21, within=30, what="21 deaths told")
        db.run("UPDATE jobs SET status = 'QUEUED', attempts = 0 WHERE job_id = %s", [died[0]])
        until(lambda: len(deaths(db)) == 22, within=30, what="the second death told")
        until(lambda: left(db) == 0, within=30, what="all jobs ended")
        assert running.stop() == 0

    told = deaths(db)
    assert sorted(told) == sorted(
        [(job_id, "TEST_FAIL", 1, "COMMAND_FAILED") for job_id in [died[0], *died]]
        + [(reaped, "TEST_NOOP", 1, "LEASE_EXPIRED")]
    )
    assert failed not in {job_id for job_id, *_ in told}
    tellers = db.run("SELECT tenant_id, parent_job_id, status FROM jobs WHERE type = 'RECORD_DEAD_LETTER'")
    assert len(tellers) == 22
    assert {(str(each["tenant_id"]), each["status"]) for each in tellers} == {(db.tenant(), "SUCCEEDED")}
    assert check_chains(db) == 21
    db.check_history()


def test_the_death_of_the_telling_is_told_by_nobody(db: Database) -> None:
    """Else the first one that cannot be told would make the next, for ever."""
    dead = db.enqueue("TEST_FAIL", max_attempts=1)
    telling, delivery = (
        db.enqueue("RECORD_DEAD_LETTER", f'{{"job_id": "{dead}"}}'),
        db.enqueue("DELIVER_WEBHOOK"),
    )
    for job_id in (telling, delivery):
        db.run(ABANDONED, [job_id])
    with worker(db.url_as("bpc_worker"), **QUICK_REAPER) as running:
        until(lambda: db.job(telling)["status"] == "DEAD_LETTER", within=15)
        until(lambda: db.job(delivery)["status"] == "DEAD_LETTER", within=15)
        until(lambda: left(db) == 0, within=15)
        assert running.stop() == 0

    assert [job_id for job_id, *_ in deaths(db)] == [dead]
    assert db.one("SELECT count(*) AS n FROM jobs WHERE parent_job_id IS NOT NULL") == {"n": 1}


def test_what_is_no_dead_letter_of_the_tenant_is_not_told(db: Database) -> None:
    """And what was told already is not told again."""
    dead = db.enqueue("TEST_FAIL", max_attempts=1)
    with worker(db.url_as("bpc_worker")) as running:
        until(lambda: len(deaths(db)) == 1, within=15)
        queued = db.enqueue("TEST_NOOP", scheduled_at="2100-01-01")
        asked = {
            name: db.enqueue("RECORD_DEAD_LETTER", f'{{"job_id": "{job_id}"}}')
            for name, job_id in {"again": dead, "alive": queued, "nobody": uuid4()}.items()
        }
        asked["theirs"] = str(
            db.one(
                "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'RECORD_DEAD_LETTER',"
                " jsonb_build_object('job_id', %s::text)) RETURNING job_id",
                [db.tenant("other"), dead],
            )["job_id"]
        )
        ended = ("SUCCEEDED", "FAILED")
        until(lambda: all(db.job(each)["status"] in ended for each in asked.values()), within=15)
        assert running.stop() == 0

    found = {name: (db.job(job_id)["status"], db.job(job_id)["fail_code"]) for name, job_id in asked.items()}
    assert found == {
        "again": ("SUCCEEDED", None),
        "alive": ("FAILED", "VALIDATION_ERROR"),
        "nobody": ("FAILED", "NOT_FOUND"),
        "theirs": ("FAILED", "NOT_FOUND"),
    }
    assert db.job(asked["nobody"])["fail_reason"] == db.job(asked["theirs"])["fail_reason"]
    assert len(deaths(db)) == 1


def test_a_death_is_told_although_somebody_discarded_the_job_before(db: Database) -> None:
    db.run("SELECT bpc_pause('type', 'RECORD_DEAD_LETTER', 'a test')")
    dead = db.enqueue("TEST_FAIL", max_attempts=1)
    with worker(db.url_as("bpc_worker")) as running:
        until(lambda: db.job(dead)["status"] == "DEAD_LETTER", within=15)
        db.run("UPDATE jobs SET status = 'CANCELLED' WHERE job_id = %s", [dead])
        db.run("SELECT bpc_resume('type', 'RECORD_DEAD_LETTER')")
        until(lambda: left(db) == 0, within=30)
        assert running.stop() == 0

    assert deaths(db) == [(dead, "TEST_FAIL", 1, "COMMAND_FAILED")]
    db.check_history()
