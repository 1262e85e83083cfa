"""One job costs one job: whatever a row is, the others of its batch and of its queue go on."""

import psycopg

from tests.support.database import Database
from tests.support.worker import Worker, until, worker

ORDINARY = 40
NUMBERS = 9_000
BOMB = '{"data": [' + ", ".join(["1e131071"] * NUMBERS) + "]}"  # 81 KB; 1.2 GB when PostgreSQL writes it
CURSED = """
CREATE FUNCTION curse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'cursed' USING ERRCODE = '22000';
END $$;
CREATE TRIGGER cursed BEFORE UPDATE ON jobs
FOR EACH ROW WHEN (OLD.correlation_id = 'cursed') EXECUTE FUNCTION curse();
"""


def all_succeeded(db: Database, count: int) -> bool:
    done = db.one("SELECT count(*) AS done FROM jobs WHERE type = 'TEST_NOOP' AND status = 'SUCCEEDED'")
    return done["done"] == count


def among_others(db: Database, running: Worker, *, within: float) -> None:
    """Those before it, and those that come later."""
    until(lambda: all_succeeded(db, ORDINARY), within=within, what="those beside it")
    for _ in range(5):
        db.enqueue("TEST_NOOP", priority=0)
    until(lambda: all_succeeded(db, ORDINARY + 5), within=5, what="those after it")
    assert running.exit_code is None


def plant(db: Database) -> str:
    """Past every rule; in the queue's order it comes first."""
    with psycopg.connect(db.url) as connection:
        connection.execute("SET session_replication_role = replica")
        [bomb] = connection.execute(
            "INSERT INTO jobs (tenant_id, type, payload, priority)"
            " VALUES (%s, 'TEST_ANY', %s, 0) RETURNING job_id",
            [db.tenant(), BOMB],
        ).fetchone() or [None]
    return str(bomb)


def test_a_payload_that_cannot_be_read_fails_its_own_job_alone(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        bomb = plant(db)
        for _ in range(ORDINARY):
            db.enqueue("TEST_NOOP")
        among_others(db, running, within=10)
        waits = "SELECT max(started_at - created_at)::text AS most FROM jobs WHERE type = 'TEST_NOOP'"
        print(f"beside the bomb every job began within {db.one(waits)['most']}")
        end = "SELECT status, fail_code FROM jobs WHERE job_id = %s"
        until(lambda: db.one(end, [bomb])["status"] == "FAILED", within=60, what="the end of the bomb")
        assert db.one(end, [bomb])["fail_code"] == "PAYLOAD_TOO_LARGE"
        assert running.stop() == 0


def test_a_row_that_refuses_to_be_taken_is_passed_over(db: Database) -> None:
    db.enqueue("TEST_NOOP", priority=0, correlation_id="cursed")
    for _ in range(ORDINARY):
        db.enqueue("TEST_NOOP")
    with db.connect() as connection:
        connection.execute(CURSED.encode())
    with worker(db.url_as("bpc_worker")) as running:
        until(lambda: all_succeeded(db, ORDINARY), within=20, what="those beside it")
        until(lambda: running.get("/readyz")[0] == 503, within=5, what="ready is red")
        assert "cannot be taken" in running.get("/readyz")[1]
        assert running.stop() == 0


def test_jobs_that_wait_for_others_begin_while_all_other_slots_are_full(db: Database) -> None:
    for _ in range(2):
        db.enqueue("TEST_SLEEP", '{"seconds": 10}')
    with worker(db.url_as("bpc_worker"), BPC_WORKER_CONCURRENCY=2) as running:
        running.wait_ready()
        until(lambda: running.metric("bpc_worker_slots_in_use") == 2, within=10, what="all slots are taken")
        outside = db.enqueue("TEST_OUTSIDE", '{"seconds": 0}', priority=0)
        until(lambda: db.job(outside)["status"] == "SUCCEEDED", within=5, what="a slot of its own")
        inside = db.one(
            "SELECT count(*) AS running FROM jobs WHERE type = 'TEST_SLEEP' AND status = 'RUNNING'"
        )
        assert inside["running"] == 2
        assert running.stop() == 0
