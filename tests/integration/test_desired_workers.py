"""How many workers there is work for: `bpc_desired_workers`, by which a fleet is scaled."""

import pytest
from psycopg import errors

from tests.support.database import Database

WORKER = """
INSERT INTO workers (worker_id, host, pid, release, types, queues, concurrency, started_at, seen_at,
                     expires_at)
VALUES ('w', 'h', %s, '1', %s, %s, 10, now(), now(), now() + %s::interval)
"""
MANY = """
INSERT INTO jobs (tenant_id, type, priority, status, scheduled_at, finished_at, created_at)
SELECT %(tenant)s, %(type)s, g %% 4, %(status)s, now() + %(when)s::interval,
       CASE WHEN %(status)s <> 'QUEUED' THEN now() END, now()
FROM generate_series(1, %(count)s) AS g
"""


def desired(db: Database, slots: int = 1, role: str = "bpc_reader") -> object:
    with db.connect(role) as connection:
        row = connection.execute("SELECT bpc_desired_workers(%s) AS n", [slots]).fetchone()
    assert row is not None
    return row["n"]


def handles(db: Database, *types: str, queue: str = "default", seconds: int = 60, pid: int = 1) -> None:
    db.run(WORKER, [pid, [*types], [queue], f"{seconds} s"])


def many(
    db: Database,
    count: int,
    *,
    status: str = "QUEUED",
    when: str = "-1 s",
    tenant: str = "acme",
    job_type: str = "A_JOB",
) -> None:
    params = {"tenant": db.tenant(tenant), "type": job_type, "status": status, "when": when, "count": count}
    db.run(MANY, params)


def runs(db: Database, count: int) -> None:
    db.run(
        "INSERT INTO jobs (tenant_id, type, status, lease_owner, lease_token, lease_expires_at)"
        " SELECT %s, 'A_JOB', 'RUNNING', 'w', gen_random_uuid(), now() + interval '1 minute'"
        " FROM generate_series(1, %s)",
        [db.tenant(), count],
    )


@pytest.mark.parametrize("role", ["bpc_reader", "bpc_operator"])
def test_due_and_running_jobs_are_divided_by_slots_and_rounded_up(db: Database, role: str) -> None:
    assert desired(db, 4, role) == 0
    many(db, 9)
    runs(db, 4)
    many(db, 50, when="1 hour")
    many(db, 50, status="SUCCEEDED")
    many(db, 50, status="DEAD_LETTER")

    assert [desired(db, slots, role) for slots in (1, 4, 13, 14, 100)] == [13, 4, 1, 1, 1]


@pytest.mark.parametrize("role", ["bpc_app", "bpc_worker", "bpc_producer", "bpc_web", "bpc_public"])
def test_nobody_else_is_told(db: Database, role: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        desired(db, 1, role)


@pytest.mark.parametrize("slots", [0, -1, None])
def test_a_worker_without_slots_is_refused(db: Database, slots: int) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="at least one slot"):
        desired(db, slots)


def test_what_no_worker_handles_needs_another_worker_and_not_one_more(db: Database) -> None:
    many(db, 3)
    many(db, 5, job_type="OTHER_JOB")
    handles(db, "OTHER_JOB", seconds=-1)  # gone
    handles(db, pid=2)  # only reaps
    assert desired(db) == 8, "nobody is there: whoever comes will say what he handles"

    handles(db, "A_JOB", pid=3)
    assert desired(db) == 3
    handles(db, "OTHER_JOB", queue="elsewhere", pid=4)
    assert desired(db) == 3
    handles(db, "OTHER_JOB", "A_JOB", pid=5)
    assert desired(db) == 8


@pytest.mark.parametrize("has_worker", [True, False])
def test_what_is_paused_needs_nobody(db: Database, *, has_worker: bool) -> None:
    if has_worker:
        handles(db, "A_JOB", "OTHER_JOB")
    many(db, 3)
    many(db, 4, tenant="other")
    many(db, 5, job_type="OTHER_JOB")
    runs(db, 2)
    for kind, name, left in (
        ("type", "OTHER_JOB", 9),
        ("tenant", db.tenant("other"), 10),
        ("tenant", db.tenant(), 6),
        ("queue", "default", 2),
    ):
        db.run("SELECT bpc_pause(%s, %s, 'by a test')", [kind, name])
        assert desired(db) == left, (kind, name)
        db.run("UPDATE job_pauses SET expires_at = now() - interval '1 s'")
        assert desired(db) == 14, "it has ended"
        db.run("DELETE FROM job_pauses")


def test_suspects_run_one_at_a_time(db: Database) -> None:
    many(db, 3)
    db.run("UPDATE jobs SET fail_code = 'LEASE_EXPIRED', attempts = 2")
    assert desired(db) == 1
    handles(db, "OTHER_JOB")
    assert desired(db) == 0


def test_the_count_ends_somewhere(db: Database) -> None:
    many(db, 10_500)
    assert desired(db) == 10_000
    db.run("SELECT bpc_pause('tenant', %s, 'by a test')", [db.tenant("other")])
    assert desired(db) == 10_000
