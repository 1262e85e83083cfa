"""While a snapshot is held, what ended stays in every index: looks must not pass over all of it each time."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta

import pytest

from bpc_worker.jobs.errors import Retryable
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue import lease_bound, samples
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.testing import NOON
from tests.support.database import Database

LEASE = 60.0
ENDED = 5_000
CLAIMED = (
    "INSERT INTO jobs (tenant_id, type, status, attempts, scheduled_at, started_at, lease_owner, lease_token,"
    " lease_expires_at) SELECT tenant_id, 'TEST_A', 'RUNNING', 1, %(at)s, %(at)s, 'w', gen_random_uuid(),"
    " %(at)s::timestamptz + interval '60 s' FROM tenants, generate_series(1, %(count)s)"
)
SETTLED = (
    "UPDATE jobs SET status = 'SUCCEEDED', lease_owner = NULL, lease_expires_at = NULL, finished_at = %(at)s"
    " WHERE status = 'RUNNING' AND lease_owner = 'w'"
)


@asynccontextmanager
async def a_store(db: Database) -> AsyncIterator[PostgresJobs]:
    told = QueueSettings(owner="w", types=("TEST_A",), lease_seconds=LEASE)
    store = PostgresJobs(
        Dsn(url=db.url_as("bpc_worker"), application_name="test", engine=True), told, now=NOON
    )
    try:
        yield store
    finally:
        store.close()


@contextmanager
def held_snapshot(db: Database) -> Iterator[None]:
    """As a backup holds one."""
    with db.connect() as other:
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM jobs")
        yield


def end_many(db: Database, minutes_ago: float) -> None:
    """Jobs that were claimed and ended then."""
    params = {"at": NOON - timedelta(minutes=minutes_ago), "count": ENDED}
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(CLAIMED, params)
        connection.execute(SETTLED, params)


def leave_one(db: Database, minutes_ago: float) -> None:
    """A dead worker's."""
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        at = NOON - timedelta(minutes=minutes_ago)
        connection.execute(CLAIMED.replace("'w'", "'dead'").encode(), {"at": at, "count": 1})


async def entries_read(db: Database, store: PostgresJobs) -> int:
    """Of the index of leases, by everybody so far."""
    await store.reaps.run(b"SELECT pg_stat_force_next_flush()", timeout=5)
    await store.reaps.run(b"SELECT 1", timeout=5)
    row = db.one("SELECT idx_tup_read AS n FROM pg_stat_all_indexes WHERE indexrelname = 'jobs_leased'")
    return int(str(row["n"]))


def later(store: PostgresJobs, seconds: float) -> None:
    assert store.now is not None
    store.now = store.samples.now = store.now + timedelta(seconds=seconds)


async def test_the_reaper_passes_once_over_what_had_ended(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_bound, "_SHARE", 10**6)  # as if there were millions
    db.tenant()
    with held_snapshot(db):
        end_many(db, minutes_ago=30)
        async with a_store(db) as store:
            assert await store.reap() == []
            before = await entries_read(db, store)
            for _ in range(3):
                later(store, 15)
                assert await store.reap() == []
            assert await entries_read(db, store) - before < ENDED / 10

            leave_one(db, minutes_ago=0.5)  # its lease ends in half a minute of ours
            later(store, 15)
            assert len(await store.reap()) == 1


async def test_what_the_reaper_could_not_see_is_found_before_long(db: Database) -> None:
    """A claim that was committed long after its lease had ended, by a server that waited for its standby."""
    db.tenant()
    async with a_store(db) as store:
        assert await store.reap() == []
        leave_one(db, minutes_ago=60)
        later(store, 15 * 60)
        assert len(await store.reap()) == 1


async def test_a_worker_that_starts_brings_back_all_that_was_left_long_ago(db: Database) -> None:
    db.tenant()
    for _ in range(250):
        leave_one(db, minutes_ago=60)
    async with a_store(db) as store:
        found = [len(await store.reap()) for _ in range(4)]

    assert found == [100, 100, 50, 0]


async def test_where_all_is_too_much_to_look_at_the_reaper_finds_what_ended_lately(db: Database) -> None:
    """The server gives up the look at everything, as it does after the limit of a statement."""
    db.tenant()
    async with a_store(db) as store:
        assert await store.reap() == []
        looks: list[object] = []
        run = store._run

        async def impatient(link: Link, name: str, params: Mapping[str, object]) -> list[dict[str, object]]:
            looks.append(params["since"])
            if params["since"] is None:
                raise Retryable("57014", "canceling statement due to statement timeout")
            return await run(link, name, params)

        store._run = impatient  # type: ignore[method-assign]
        later(store, 600)
        assert await store.reap() == []
        assert looks[1:] == [None]
        leave_one(db, minutes_ago=-10)
        later(store, 61)
        assert len(await store.reap()) == 1


async def test_a_count_that_took_long_is_not_repeated_for_ten_times_as_long(db: Database) -> None:
    db.enqueue("TEST_A")
    async with a_store(db) as store:
        await store.samples.waiting(every_seconds=1)
        took = db.one("SELECT took_seconds FROM queue_totals")["took_seconds"]
        assert isinstance(took, float)
        assert 0 < took < 5
        db.run("UPDATE queue_totals SET took_seconds = 2")
        db.enqueue("TEST_A")

        later(store, 19)
        assert [kind.queued for kind in await store.samples.waiting(every_seconds=1)] == [1]
        later(store, 2)
        assert [kind.queued for kind in await store.samples.waiting(every_seconds=1)] == [2]


async def test_what_runs_is_not_asked_again_at_once_where_the_answer_took_long(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.tenant()
    leave_one(db, minutes_ago=0.5)
    db.run("UPDATE jobs SET expected_duration_ms = 1")
    monkeypatch.setattr(samples, "_LONG_SECONDS", 0.0)
    monkeypatch.setattr(samples, "_SHARE", 10**6)
    async with a_store(db) as store:
        first = [*await store.samples.running(), *await store.samples.overdue({}, others=6)]
        db.run("TRUNCATE jobs")
        again = [*await store.samples.running(), *await store.samples.overdue({}, others=6)]

    assert len(first) == len(again) == 2
    assert [getattr(found, "new", None) for found in (*first, *again)] == [None, True, None, False]


@pytest.mark.parametrize("what", ["running", "overdue"])
async def test_what_runs_is_looked_for_among_leases_of_now(db: Database, what: str) -> None:
    db.tenant()
    with held_snapshot(db):
        end_many(db, minutes_ago=30)
        leave_one(db, minutes_ago=0.5)
        db.run("UPDATE jobs SET expected_duration_ms = 1 WHERE lease_owner = 'dead'")
        async with a_store(db) as store:
            before = await entries_read(db, store)
            if what == "running":
                [found] = await store.samples.running()
                assert found.oldest_seconds == 30
            else:
                [late] = await store.samples.overdue({}, others=6)
                assert late.new
            assert await entries_read(db, store) - before < ENDED / 10
