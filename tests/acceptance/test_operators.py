"""People and other programs at work with psql, as logins that have just one of our roles."""

import pytest

from tests.support.database import Database
from tests.support.history import effects, events, moment, span, tenures
from tests.support.psql import done, psql, refused
from tests.support.worker import until, worker

TWO_POLLS = 2.2
A_DEAD_ONE = {
    "status": "DEAD_LETTER",
    "attempts": 5,
    "fail_code": "LEASE_EXPIRED",
    "fail_reason": "lease expired",
}


def dead(db: Database, job_type: str, payload: str = "{}", **columns: object) -> str:
    return db.enqueue(job_type, payload, **{**A_DEAD_ONE, **columns})


@pytest.mark.parametrize("also", [", attempts=0", ""], ids=["attempts_0", "status_only"])
def test_a_dead_letter_is_retried_by_hand(db: Database, also: str) -> None:
    """Five real failures; then the cause is mended, and somebody types one UPDATE."""
    db.run("REVOKE INSERT ON test_effects FROM bpc_worker")
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        job_id = db.enqueue("TEST_EFFECT", '{"key": "a"}')
        for failures in range(1, 6):
            until(lambda count=failures: len(events(db, job_id)) == count, within=10)  # type: ignore[misc]
            db.run("UPDATE jobs SET scheduled_at = now() WHERE job_id = %s AND status = 'QUEUED'", [job_id])
        assert db.job(job_id)["status"] == "DEAD_LETTER"
        db.run("GRANT INSERT ON test_effects TO bpc_worker")

        done(psql(db, "bpc_operator", f"UPDATE jobs SET status='QUEUED'{also} WHERE job_id='{job_id}'"))
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=10)

        *_, requeued = events(db, job_id)
        soon = span(moment(requeued, "at"), tenures(db, job_id)[-1].started_at)
        print(f"claimed {soon:.2f} s after the UPDATE")
        assert 0 <= soon <= TWO_POLLS
        assert db.events(job_id) == ["job:retried"] * 4 + ["job:dead_lettered", "job:requeued"]
        assert requeued["data"] == {
            "by": "bpc_operator_login",
            "from": "DEAD_LETTER",
            "attempts": 5,
            "code": "INTERNAL_ERROR",
        }
        assert (db.job(job_id)["attempts"], db.job(job_id)["fail_code"]) == (1, None)
        assert [attempt for _, attempt, _ in effects(db)] == [1]
        assert running.stop() == 0
    db.check_history()


def test_a_failed_job_is_retried_by_hand_too(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_NOOP", '{"still": "wrong"}')
        until(lambda: db.job(job_id)["status"] == "FAILED", within=10)
        done(psql(db, "bpc_operator", f"UPDATE jobs SET status='QUEUED', attempts=0 WHERE job_id='{job_id}'"))
        until(lambda: len(events(db, job_id)) == 3, within=10)

        assert db.events(job_id) == ["job:failed", "job:requeued", "job:failed"]
        assert db.job(job_id)["attempts"] == 1
        assert running.stop() == 0
    db.check_history()


def test_a_retried_dead_letter_is_no_suspect_any_more(db: Database) -> None:
    """What the old attempts left is cleared: it runs beside others, with all its attempts."""
    with worker(db.url_as("bpc_worker")) as running:
        job_id = dead(db, "TEST_SLEEP", '{"seconds": 1}', max_attempts=7, snoozes=3, stage="half way")
        other = db.enqueue("TEST_SLEEP", '{"seconds": 5}')
        until(lambda: db.job(other)["status"] == "RUNNING", within=20)
        done(psql(db, "bpc_operator", f"UPDATE jobs SET status='QUEUED' WHERE job_id='{job_id}'"))
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=10)

        assert db.job(other)["status"] == "RUNNING", "it was claimed like a suspect, alone"
        assert (db.job(job_id)["attempts"], db.job(job_id)["snoozes"]) == (6, 0)
        until(lambda: db.job(other)["status"] == "SUCCEEDED", within=10)
        assert running.stop() == 0
    db.check_history()


@pytest.mark.parametrize("status", ["SUCCEEDED", "CANCELLED"])
@pytest.mark.parametrize("role", ["bpc_operator", "bpc_worker"])
def test_what_has_ended_well_cannot_be_resurrected(db: Database, status: str, role: str) -> None:
    job_id = db.enqueue("TEST_NOOP", "{}", status=status, attempts=1)

    complaint = refused(
        psql(db, role, f"UPDATE jobs SET status='QUEUED', attempts=0 WHERE job_id='{job_id}'")
    )

    assert f"cannot go from {status} to QUEUED" in complaint
    assert "HINT:" in complaint
    assert "DEAD_LETTER or FAILED to QUEUED (retry)" in complaint
    assert db.job(job_id)["status"] == status
    assert db.events(job_id) == []
    db.check_history()


@pytest.mark.parametrize(
    "change",
    [
        "status='RUNNING'",
        "status='SUCCEEDED'",
        "status='FAILED'",
        "attempts=-1",
        "attempts=5",
    ],
)
def test_an_operator_can_take_a_waiting_job_over_no_illegal_edge(db: Database, change: str) -> None:
    job_id = db.enqueue("TEST_NOOP")

    refused(psql(db, "bpc_operator", f"UPDATE jobs SET {change} WHERE job_id='{job_id}'"))

    assert (db.job(job_id)["status"], db.job(job_id)["attempts"]) == ("QUEUED", 0)
    db.check_history(nothing_left=False)


@pytest.mark.parametrize(
    "change",
    [
        "status='QUEUED'",
        "status='QUEUED', attempts=0",
        "status='SUCCEEDED'",
        "status='CANCELLED'",
        "attempts=0",
    ],
)
def test_an_operator_cannot_take_a_running_job_from_its_worker(db: Database, change: str) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_SLEEP", '{"seconds": 2}')
        until(lambda: db.job(job_id)["status"] == "RUNNING", within=10)

        refused(psql(db, "bpc_operator", f"UPDATE jobs SET {change} WHERE job_id='{job_id}'"))

        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=10)
        assert (db.job(job_id)["attempts"], db.events(job_id)) == (1, [])
        assert running.stop() == 0
    db.check_history()


COLUMNS = {
    "tenant_id": "tenant_id",
    "type": "'TEST_KILL'",
    "payload": "'{}'",
    "max_attempts": "1000",
    "scheduled_at": "now()",
    "created_at": "now()",
    "lease_owner": "'me'",
    "lease_token": "gen_random_uuid()",
    "lease_expires_at": "now()",
    "last_error": "'{}'",
    "result": "'{}'",
    "cancel_requested_at": "now()",
    "begun_token": "gen_random_uuid()",
}


def test_an_operator_can_change_nothing_but_status_and_attempts(db: Database) -> None:
    job_id = dead(db, "TEST_NOOP")

    for column, value in COLUMNS.items():
        complaint = refused(
            psql(db, "bpc_operator", f"UPDATE jobs SET {column} = {value} WHERE job_id='{job_id}'")
        )
        assert "permission denied" in complaint, column
    for statement in (
        "DELETE FROM jobs",
        "TRUNCATE jobs",
        "INSERT INTO jobs (tenant_id, type) SELECT tenant_id, type FROM jobs",
        "INSERT INTO job_events (job_id, type) SELECT job_id, 'job:forged' FROM jobs",
        "UPDATE job_events SET type = 'job:forged'",
        "DELETE FROM job_events",
        "UPDATE tenants SET name = 'other'",
    ):
        assert "permission denied" in refused(psql(db, "bpc_operator", statement)), statement
    db.check_history()


def test_a_worker_cannot_change_what_was_asked_for_nor_what_was_noted(db: Database) -> None:
    job_id = dead(db, "TEST_NOOP")

    for column in ("tenant_id", "type", "payload", "created_at", "idempotency_key", "max_attempts"):
        statement = f"UPDATE jobs SET {column} = {column} WHERE job_id='{job_id}'"
        assert "permission denied" in refused(psql(db, "bpc_worker", statement)), column
    for statement in ("DELETE FROM jobs", "UPDATE job_events SET type = 'x'", "DELETE FROM job_events"):
        assert "permission denied" in refused(psql(db, "bpc_worker", statement)), statement
    db.check_history()


def test_a_plain_insert_of_another_program_is_run(db: Database) -> None:
    tenant = db.tenant("another program's")
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        ran = psql(
            db,
            "bpc_producer",
            "INSERT INTO jobs (tenant_id, type, payload)"
            f" VALUES ('{tenant}', 'TEST_EFFECT', '{{\"key\": \"a\"}}') RETURNING job_id, status",
        )
        job_id, status = done(ran).splitlines()[0].split("|")
        assert status == "QUEUED"
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=10)

        job = db.job(job_id)
        assert (str(job["tenant_id"]), job["priority"], job["max_attempts"], job["queue"]) == (
            tenant,
            2,
            5,
            "default",
        )
        assert span(moment(job, "created_at"), moment(job, "started_at")) <= TWO_POLLS
        assert db.one("SELECT count(*) AS n FROM test_effects")["n"] == 1
        assert running.stop() == 0
    db.check_history()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "'RUNNING'"),
        ("attempts", "3"),
        ("lease_owner", "'me'"),
        ("lease_token", "gen_random_uuid()"),
        ("lease_expires_at", "now()"),
        ("last_heartbeat_at", "now()"),
        ("created_at", "now()"),
        ("started_at", "now()"),
        ("finished_at", "now()"),
        ("snoozes", "1"),
        ("result", "'{}'"),
        ("fail_code", "'LEASE_EXPIRED'"),
        ("cancel_requested_at", "now()"),
    ],
)
def test_a_producer_cannot_set_what_belongs_to_the_workers(db: Database, column: str, value: str) -> None:
    tenant = db.tenant()
    statement = f"INSERT INTO jobs (tenant_id, type, {column}) VALUES ('{tenant}', 'TEST_NOOP', {value})"

    assert "permission denied" in refused(psql(db, "bpc_producer", statement))
    assert db.run("SELECT * FROM jobs") == []


def test_a_producer_can_only_add(db: Database) -> None:
    db.enqueue("TEST_NOOP", '{"secret": "of another tenant"}')

    for statement in (
        "UPDATE jobs SET status = 'CANCELLED'",
        "UPDATE jobs SET payload = '{}'",
        "DELETE FROM jobs",
        "SELECT payload FROM jobs",
        "SELECT * FROM job_events",
        "SELECT bpc_cancel_job(job_id) FROM jobs",
    ):
        assert "permission denied" in refused(psql(db, "bpc_producer", statement)), statement
    db.check_history(nothing_left=False)
