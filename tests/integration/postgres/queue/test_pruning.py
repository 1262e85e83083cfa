"""What ended long ago is removed, type by type, in pages; dead letters and what lives stay."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.pruning import JobPages, walk
from bpc_worker.testing import NOON
from tests.support.database import Database

DAY = timedelta(days=1)


@asynccontextmanager
async def pages(db: Database, kept: Mapping[str, int], role: str = "bpc_worker") -> AsyncIterator[JobPages]:
    link = Link(Dsn(url=db.url_as(role), application_name="test"))
    yield JobPages(link, kept, call_timeout=20, now=NOON)
    link.drop()


def ended(db: Database, status: str, days_ago: float, job_type: str = "TEST_A") -> str:
    """A job of that past, with an event; put there with the guards away."""
    job_id = db.enqueue(job_type)
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE jobs SET status = %s, finished_at = %s WHERE job_id = %s",
            [status, NOON - days_ago * DAY, job_id],
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
