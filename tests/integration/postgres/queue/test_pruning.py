"""What ended long ago is removed, type by type, in pages; dead letters and what lives stay."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import psycopg
import pytest

from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.pruning import JobPages, walk
from tests.support.database import Database

NO_JOB = "00000000-0000-0000-0000-000000000000"


@asynccontextmanager
async def pages(db: Database, kept: Mapping[str, int], role: str = "bpc_worker") -> AsyncIterator[JobPages]:
    link = Link(Dsn(url=db.url_as(role), application_name="test"))
    yield JobPages(link, kept, call_timeout=20)
    link.drop()


def ended(db: Database, status: str, days_ago: float, job_type: str = "TEST_A") -> str:
    """A job of that past, with an event; put there with the guards away."""
    job_id = db.enqueue(job_type)
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE jobs SET status = %s, created_at = now() - %s * interval '1 day',"
            " finished_at = now() - %s * interval '1 day' WHERE job_id = %s",
            [status, days_ago, days_ago, job_id],
        )
    db.run("INSERT INTO job_events (job_id, type) VALUES (%s, 'job:retried')", [job_id])
    return job_id


def left(db: Database) -> set[str]:
    return {str(row["job_id"]) for row in db.run("SELECT job_id FROM jobs")}


async def test_only_what_ended_and_is_old_enough_goes_and_its_events_with_it(db: Database) -> None:
    gone = [ended(db, status, 31) for status in ("SUCCEEDED", "FAILED", "CANCELLED")]
    kept = {ended(db, "DEAD_LETTER", 4000), ended(db, "SUCCEEDED", 29), db.enqueue("TEST_A")}
    async with pages(db, {"*": 30}) as some:
        done = await walk(some)

    assert done is not None
    assert (done.removed_jobs, done.removed_events) == (3, 3)
    assert left(db) == kept
    assert not db.run("SELECT 1 FROM job_events WHERE job_id = ANY (%s::uuid[])", [gone])
    assert db.one("SELECT count(*) AS n FROM job_events")["n"] == 2


async def test_every_type_has_its_own_days_and_zero_keeps(db: Database) -> None:
    ended(db, "SUCCEEDED", 8, "TEST_SHORT")
    kept = {ended(db, "SUCCEEDED", 4000, "TEST_KEPT"), ended(db, "SUCCEEDED", 8, "TEST_A")}
    async with pages(db, {"*": 30, "TEST_SHORT": 7, "TEST_KEPT": 0}) as some:
        await walk(some)

    assert left(db) == kept


async def test_a_page_goes_on_where_the_last_one_ended_whoever_it_was(db: Database) -> None:
    for _ in range(5):
        ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as first, pages(db, {"*": 30}, "bpc_operator") as second:
        seen = [await each.prune(2) for each in (first, second, first, second)]

    assert [(page.looked_at, page.removed_jobs, page.at_the_end) for page in seen if page] == [
        (2, 2, False),
        (2, 2, False),
        (1, 1, True),
        (0, 0, True),
    ]


async def test_only_one_walks_at_a_time(db: Database) -> None:
    ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as some:
        with db.connect() as other, other.transaction():
            other.execute("SELECT FROM prune_progress FOR UPDATE")
            assert await some.prune(10) is None
        page = await some.prune(10)

    assert page is not None
    assert page.removed_jobs == 1


@pytest.mark.xfail(strict=True, reason="a job that FAILED goes as if it had succeeded")
async def test_what_failed_stays_until_somebody_decides(db: Database) -> None:
    kept = {ended(db, "FAILED", 4000), ended(db, "DEAD_LETTER", 4000)}
    async with pages(db, {"*": 30}) as some:
        await walk(some)

    assert left(db) == kept


@pytest.mark.xfail(strict=True, reason="whoever calls says what time it is, and so how old everything is")
@pytest.mark.parametrize("role", ["bpc_operator", "bpc_worker", "bpc_app"])
def test_no_caller_says_what_time_it_is(db: Database, role: str) -> None:
    kept = ended(db, "SUCCEEDED", 1)
    with db.connect(role) as connection, pytest.raises(psycopg.Error):
        connection.execute("SELECT * FROM bpc_prune_jobs('{\"*\": 1}', 1000000, '9000-01-01')")

    assert left(db) == {kept}


@pytest.mark.xfail(strict=True, reason="an operator may remove what ended yesterday")
@pytest.mark.parametrize("days", ['{"*": 29}', '{"*": 90, "TEST_A": 1}', '{"*": -1}'])
def test_an_operator_removes_nothing_younger_than_thirty_days(db: Database, days: str) -> None:
    ended(db, "SUCCEEDED", 31)
    with (
        db.connect("bpc_operator") as connection,
        pytest.raises(psycopg.errors.InvalidParameterValue, match="kept for 30 days at least"),
    ):
        connection.execute("SELECT * FROM bpc_prune_jobs(%s)", [days])


@pytest.mark.xfail(strict=True, reason="a job goes with the record of what somebody did to it")
async def test_what_a_person_did_stays_and_so_does_the_job(db: Database) -> None:
    job_id = db.enqueue("TEST_A", status="DEAD_LETTER")
    with db.connect("bpc_operator") as operator:
        operator.execute("SELECT bpc_patch_and_retry(%s, '{amount}', '1')", [job_id])
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE jobs SET status = 'SUCCEEDED', created_at = now() - interval '4000 days',"
            " finished_at = now() - interval '4000 days' WHERE job_id = %s",
            [job_id],
        )
    async with pages(db, {"*": 30}) as some:
        await walk(some)

    assert left(db) == {job_id}
    assert db.events(job_id) == ["job:payload_patched", "job:requeued"]


@pytest.mark.xfail(strict=True, reason="nobody is told that jobs were removed, nor by whom")
async def test_what_was_removed_is_told_with_counts_and_a_name(db: Database) -> None:
    for job_type in ("TEST_A", "TEST_A", "TEST_B"):
        ended(db, "SUCCEEDED", 31, job_type)
    async with pages(db, {"*": 30}, "bpc_operator") as some:
        await walk(some)

    told = db.one("SELECT type, data FROM job_events WHERE job_id = %s", [NO_JOB])
    assert told["type"] == "jobs:pruned"
    assert isinstance(told["data"], dict)
    assert told["data"]["by"] == "bpc_operator_login"
    assert told["data"]["jobs"] == {"TEST_A": 2, "TEST_B": 1}
    assert told["data"]["events"] == 3


@pytest.mark.xfail(strict=True, reason="every walk looks at every row of the table")
async def test_a_page_looks_at_nothing_but_what_is_old(db: Database) -> None:
    for _ in range(5):
        ended(db, "SUCCEEDED", 29)
        ended(db, "DEAD_LETTER", 4000)
        db.enqueue("TEST_A")
    ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as some:
        first, second = await some.prune(100), await some.prune(100)

    assert first is not None
    assert (first.looked_at, first.removed_jobs) == (1, 1)
    assert second is not None
    assert second.looked_at == 0


@pytest.mark.xfail(strict=True, reason="a fifth of a long history has to be dead before it is vacuumed")
@pytest.mark.parametrize("table", ["jobs", "job_events"])
def test_a_long_history_puts_no_vacuum_off(db: Database, table: str) -> None:
    found = db.one(
        "SELECT coalesce(array_to_string(main.reloptions || toast.reloptions, ' '), '') AS options"
        " FROM pg_class AS main JOIN pg_class AS toast ON toast.oid = main.reltoastrelid"
        " WHERE main.oid = %s::regclass",
        [table],
    )

    assert str(found["options"]).count("autovacuum_vacuum_scale_factor=0.01") == 2
