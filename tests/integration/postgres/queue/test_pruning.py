"""What ended long ago is removed, type by type, in pages; what failed, lives or was done by people stays."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import psycopg
import pytest

from bpc_worker.jobs.store import Pruned
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.pruning import JobPages, walk
from tests.support.database import Database

NO_JOB = "00000000-0000-0000-0000-000000000000"


@asynccontextmanager
async def link_as(db: Database, role: str) -> AsyncIterator[Link]:
    link = Link(Dsn(url=db.url_as(role), application_name="test"))
    try:
        yield link
    finally:
        link.drop()


@asynccontextmanager
async def pages(db: Database, kept: Mapping[str, int]) -> AsyncIterator[JobPages]:
    async with link_as(db, "bpc_worker") as link:
        yield JobPages(link, kept, call_timeout=20)


async def by_hand(db: Database, kept: Mapping[str, int]) -> Pruned:
    async with link_as(db, "bpc_operator") as link:
        done = await walk(link, kept, page_timeout=20)
    assert done is not None
    return done


async def rested(db: Database, some: JobPages, page: int) -> Pruned | None:
    """The next page, after the rest."""
    db.run("UPDATE prune_progress SET rests_until = '1970-01-01Z'")
    return await some.prune(page)


def ended(db: Database, status: str, days_ago: float, job_type: str = "TEST_A", **columns: object) -> str:
    """A job of that past, with an event; put there with the guards away."""
    job_id = db.enqueue(job_type, "{}", **columns)
    grow_old(db, job_id, status, days_ago)
    db.run("INSERT INTO job_events (job_id, type) VALUES (%s, 'job:retried')", [job_id])
    return job_id


def grow_old(db: Database, job_id: str, status: str, days_ago: float) -> None:
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE jobs SET status = %s, created_at = now() - %s * interval '1 day',"
            " finished_at = now() - %s * interval '1 day' WHERE job_id = %s",
            [status, days_ago, days_ago, job_id],
        )


def left(db: Database) -> set[str]:
    return {str(row["job_id"]) for row in db.run("SELECT job_id FROM jobs")}


def told(db: Database) -> list[dict[str, object]]:
    rows = db.run("SELECT data FROM job_events WHERE job_id = %s ORDER BY job_event_id", [NO_JOB])
    found = [row["data"] for row in rows]
    assert all(isinstance(data, dict) for data in found)
    return found  # type: ignore[return-value]  # looked at in the line before


async def test_only_what_ended_and_is_old_enough_goes_and_its_events_with_it(db: Database) -> None:
    gone = [ended(db, status, 31) for status in ("SUCCEEDED", "CANCELLED")]
    kept = {ended(db, "DEAD_LETTER", 4000), ended(db, "SUCCEEDED", 29), db.enqueue("TEST_A")}
    done = await by_hand(db, {"*": 30})

    assert (done.looked_at, done.removed_jobs, done.removed_events) == (2, 2, 2)
    assert left(db) == kept
    assert not db.run("SELECT 1 FROM job_events WHERE job_id = ANY (%s::uuid[])", [gone])
    assert db.one("SELECT count(*) AS n FROM job_events WHERE job_id <> %s", [NO_JOB])["n"] == 2


async def test_what_failed_stays_until_somebody_decides(db: Database) -> None:
    kept = {ended(db, "FAILED", 4000), ended(db, "DEAD_LETTER", 4000)}
    await by_hand(db, {"*": 30})

    assert left(db) == kept


async def test_any_id_will_do(db: Database) -> None:
    """Of whatever version: the order is that of the ends."""
    ids = [f"{digit}0000000-0000-4000-8000-000000000000" for digit in "f0a5"]
    for number, job_id in enumerate(ids):
        ended(db, "SUCCEEDED", 31 + number, job_id=job_id)
    young = ended(db, "SUCCEEDED", 1, job_id="00000000-0000-4000-8000-000000000001")
    done = await by_hand(db, {"*": 30})

    assert (done.looked_at, done.removed_jobs) == (4, 4)
    assert left(db) == {young}


async def test_every_type_has_its_own_days_and_zero_keeps(db: Database) -> None:
    kept = {ended(db, "SUCCEEDED", 4000, "TEST_KEPT"), ended(db, "SUCCEEDED", 8, "TEST_A")}
    ended(db, "SUCCEEDED", 8, "TEST_SHORT")
    ended(db, "SUCCEEDED", 31, "TEST_B")
    async with pages(db, {"*": 30, "TEST_SHORT": 7, "TEST_KEPT": 0}) as some:
        done = await some.prune(100)

    assert done is not None
    assert (done.removed_jobs, done.at_the_end) == (2, True)
    assert left(db) == kept


async def test_what_is_kept_for_longer_is_found_when_its_time_has_come(db: Database) -> None:
    """The walk has passed over it once; so it has, when the rules change, over all that was kept then."""
    ended(db, "SUCCEEDED", 50, "TEST_LONG")
    ended(db, "SUCCEEDED", 40, "TEST_A")
    async with pages(db, {"*": 30, "TEST_LONG": 60}) as some:
        await rested(db, some, 100)
    assert len(left(db)) == 1
    async with pages(db, {"*": 30, "TEST_LONG": 45}) as some:
        await rested(db, some, 100)
    assert not left(db)


async def test_a_page_looks_at_nothing_but_what_is_old(db: Database) -> None:
    for _ in range(5):
        ended(db, "SUCCEEDED", 29)
        ended(db, "DEAD_LETTER", 4000)
        db.enqueue("TEST_A")
    ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as some:
        first, second = await some.prune(100), await rested(db, some, 100)

    assert first is not None
    assert (first.looked_at, first.removed_jobs) == (1, 1)
    assert second is not None
    assert second.looked_at == 0


async def test_a_page_goes_on_where_the_last_one_ended_whoever_it_was(db: Database) -> None:
    for _ in range(5):
        ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as first, pages(db, {"*": 30}) as second:
        seen = [await rested(db, each, 2) for each in (first, second, first, second)]

    assert [(page.looked_at, page.removed_jobs, page.at_the_end) for page in seen if page] == [
        (2, 2, False),
        (2, 2, False),
        (1, 1, True),
        (0, 0, True),
    ]


async def test_what_was_locked_when_the_walk_passed_is_found_the_next_day(db: Database) -> None:
    job_id = ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as some:
        with db.connect() as other, other.transaction():
            other.execute("SELECT FROM jobs WHERE job_id = %s FOR UPDATE", [job_id])
            await some.prune(10)
        await rested(db, some, 10)
        assert left(db) == {job_id}

        db.run("UPDATE prune_progress SET began_at = now() - interval '25 hours'")
        await rested(db, some, 10)
        assert not left(db)


async def test_only_one_walks_at_a_time(db: Database) -> None:
    ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as some:
        with db.connect() as other, other.transaction():
            other.execute("SELECT FROM prune_progress FOR UPDATE")
            assert await some.prune(10) is None
        page = await some.prune(10)

    assert page is not None
    assert page.removed_jobs == 1


async def test_who_has_not_caught_up_for_a_minute_rests_no_longer_than_a_page_takes(db: Database) -> None:
    for _ in range(4):
        ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as some:
        await some.prune(1)
        db.run("UPDATE prune_progress SET behind_since = now() - interval '2 minutes', rests_until = now()")
        began = time.monotonic()
        page = await some.prune(2)
        passed = time.monotonic() - began

        assert page is not None
        assert 0 < page.rest_seconds < passed
        await rested(db, some, 2)
    assert db.one("SELECT behind_since FROM prune_progress")["behind_since"] is None


async def test_all_workers_share_the_rest_after_a_page(db: Database) -> None:
    for _ in range(6):
        ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as first, pages(db, {"*": 30}) as second:
        page = await first.prune(2)
        assert page is not None
        db.run("UPDATE prune_progress SET rests_until = now() + interval '1 minute'")
        assert await second.prune(2) is None
        assert page.rest_seconds > 0
        assert (await by_hand(db, {"*": 30})).removed_jobs == 4  # an operator waits for nobody


@pytest.mark.parametrize("role", ["bpc_operator", "bpc_worker", "bpc_app"])
def test_no_caller_says_what_time_it_is(db: Database, role: str) -> None:
    kept = ended(db, "SUCCEEDED", 1)
    with db.connect(role) as connection, pytest.raises(psycopg.Error):
        connection.execute("SELECT * FROM bpc_prune_jobs('{\"*\": 1}', 1000000, '9000-01-01')")

    assert left(db) == {kept}


@pytest.mark.parametrize("days", ['{"*": 29}', '{"*": 90, "TEST_A": 1}', '{"*": -1}'])
def test_an_operator_removes_nothing_younger_than_thirty_days(db: Database, days: str) -> None:
    ended(db, "SUCCEEDED", 31)
    with (
        db.connect("bpc_operator") as connection,
        pytest.raises(psycopg.errors.InvalidParameterValue, match="kept for 30 days at least"),
    ):
        connection.execute("SELECT * FROM bpc_prune_jobs(%s)", [days])


async def test_by_hand_a_type_that_is_kept_for_a_week_goes_after_thirty_days(db: Database) -> None:
    ended(db, "SUCCEEDED", 31)
    kept = ended(db, "SUCCEEDED", 8)

    assert (await by_hand(db, {"*": 7})).removed_jobs == 1
    assert left(db) == {kept}


@pytest.mark.parametrize(
    ("role", "call"),
    [
        ("bpc_worker", "bpc_prune_page('{\"*\": -1}', 10)"),
        ("bpc_worker", "bpc_prune_page('{\"*\": 30}', 1000000)"),
        ("bpc_operator", "bpc_prune_page('{\"*\": 1}', 10)"),
        ("bpc_operator", "bpc_remove_old_jobs('{\"*\": 1}', 1, 10, true)"),
        ("bpc_worker", "bpc_remove_old_jobs('{\"*\": 0}', 0, 10, true)"),
        ("bpc_worker", "bpc_prune_jobs('{\"*\": 30}')"),
        ("bpc_app", "bpc_prune_jobs('{\"*\": 30}')"),
        ("bpc_reader", "bpc_prune_jobs('{\"*\": 30}')"),
        ("bpc_operator", "bpc_prune_jobs('{\"*\": 30}', 0)"),
    ],
)
def test_what_nobody_may_ask_for(db: Database, role: str, call: str) -> None:
    kept = ended(db, "SUCCEEDED", 31)
    refusals = (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue)
    with db.connect(role) as connection, pytest.raises(refusals):
        connection.execute(f"SELECT * FROM {call}".encode())

    assert left(db) == {kept}


async def test_an_end_that_a_worker_dated_back_makes_a_young_job_no_older(db: Database) -> None:
    job_id = ended(db, "SUCCEEDED", 29)
    with db.connect("bpc_worker") as connection:
        connection.execute("UPDATE jobs SET finished_at = '2001-01-01Z' WHERE job_id = %s", [job_id])
    await by_hand(db, {"*": 30})

    assert left(db) == {job_id}


@pytest.mark.parametrize(
    "act",
    [
        "bpc_patch_and_retry(%s, '{amount}', '1')",
        "bpc_retry_job(%s)",
        "bpc_discard_job(%s)",
        "bpc_replay_job(%s)",
    ],
)
async def test_what_a_person_did_stays_and_so_does_the_job(db: Database, act: str) -> None:
    job_id = db.enqueue("TEST_A", status="DEAD_LETTER")
    with db.connect("bpc_operator") as operator:
        operator.execute(f"SELECT {act}".encode(), [job_id])
    events = db.events(job_id)
    all_of_them = left(db)
    for each in all_of_them:
        grow_old(db, each, "SUCCEEDED", 4000)
    done = await by_hand(db, {"*": 30})

    assert (done.looked_at, done.removed_jobs) == (len(all_of_them), 0)
    assert left(db) == all_of_them
    assert db.events(job_id) == events != []


async def test_what_was_removed_is_told_with_counts_and_a_name(db: Database) -> None:
    for job_type in ("TEST_A", "TEST_A", "TEST_B"):
        ended(db, "SUCCEEDED", 31, job_type)
    await by_hand(db, {"*": 30})

    [data] = told(db)
    assert (data["by"], data["kept_days"]) == ("bpc_operator_login", {"*": 30})
    assert (data["jobs"], data["events"]) == ({"TEST_A": 2, "TEST_B": 1}, 3)
    assert db.events(NO_JOB) == ["jobs:pruned"]


async def test_the_pages_of_a_day_are_one_event_for_each_login(db: Database) -> None:
    for _ in range(3):
        ended(db, "SUCCEEDED", 31)
    async with pages(db, {"*": 30}) as some:
        for _ in range(2):
            await rested(db, some, 1)
    await by_hand(db, {"*": 30})

    assert [(data["by"], data["jobs"], data["events"]) for data in told(db)] == [
        ("bpc_worker_login", {"TEST_A": 2}, 2),
        ("bpc_operator_login", {"TEST_A": 1}, 1),
    ]


@pytest.mark.parametrize("table", ["jobs", "job_events"])
def test_a_long_history_puts_no_vacuum_off(db: Database, table: str) -> None:
    found = db.one(
        "SELECT coalesce(array_to_string(main.reloptions || toast.reloptions, ' '), '') AS options"
        " FROM pg_class AS main JOIN pg_class AS toast ON toast.oid = main.reltoastrelid"
        " WHERE main.oid = %s::regclass",
        [table],
    )

    assert str(found["options"]).count("autovacuum_vacuum_scale_factor=0.01") == 2
