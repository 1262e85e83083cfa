"""How long the queue is, what is overdue, and when the queue takes no more."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import UUID

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import JobId, NewJob, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Waiting
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.testing import NOON
from tests.support.database import Database

HOUR = timedelta(hours=1)


@asynccontextmanager
async def a_store(db: Database, url: str | None = None, **settings: object) -> AsyncIterator[PostgresJobs]:
    told = QueueSettings(owner="w", types=("TEST_A", "TEST_B"), lease_seconds=86400, **settings)  # type: ignore[arg-type]
    store = PostgresJobs(Dsn(url=url or db.url_as("bpc_worker"), application_name="test"), told, now=NOON)
    yield store
    store.close()


def later(store: PostgresJobs, seconds: float) -> None:
    assert store.now is not None
    store.now = store.samples.now = store.now + timedelta(seconds=seconds)


def tenant(db: Database, name: str = "acme") -> TenantId:
    return TenantId(UUID(db.tenant(name)))


async def test_what_waits_is_counted_by_kind_over_all_tenants(db: Database) -> None:
    async with a_store(db) as store:
        for name in ("acme", "other"):
            jobs = [
                NewJob(type="TEST_A"),
                NewJob(type="TEST_A", scheduled_at=NOON - HOUR),
                NewJob(type="TEST_B"),
            ]
            await store.enqueue_many(tenant(db, name), jobs)
        await store.enqueue(tenant(db), NewJob(type="TEST_B", queue="slow", scheduled_at=NOON + HOUR))

        found = await store.samples.waiting(every_seconds=10)

        assert sorted(found, key=lambda kind: (kind.queue, kind.type)) == [
            Waiting("default", "TEST_A", 4, 3600.0, handled=False),
            Waiting("default", "TEST_B", 2, 0.0, handled=False),
            Waiting("slow", "TEST_B", 1, 0.0, handled=False),  # not due yet
        ]
        assert db.one("SELECT queued FROM queue_totals")["queued"] == 7


async def test_what_somebody_takes_is_handled_by_type_and_queue_while_he_lives(db: Database) -> None:
    async with a_store(db) as store:
        jobs = [
            NewJob(type=name, queue=queue) for name in ("TEST_A", "TEST_B") for queue in ("default", "slow")
        ]
        await store.enqueue_many(tenant(db), jobs)
        db.run(
            "INSERT INTO workers (worker_id, host, pid, release, types, queues, concurrency, started_at,"
            " seen_at, expires_at) VALUES ('w', 'h', 1, '0.1.0', '{TEST_A}', '{default}', 10, %(now)s,"
            " %(now)s, %(now)s + interval '1 minute')",
            {"now": NOON},
        )
        handled = [kind for kind in await store.samples.waiting(every_seconds=10) if kind.handled]
        assert [(kind.queue, kind.type) for kind in handled] == [("default", "TEST_A")]

        later(store, 60)
        assert not any(kind.handled for kind in await store.samples.waiting(every_seconds=10))


async def test_between_two_counts_everybody_gets_the_last_one(db: Database) -> None:
    async with a_store(db) as store, a_store(db) as other:
        await store.enqueue(tenant(db), NewJob(type="TEST_A"))
        [one] = await store.samples.waiting(every_seconds=10)
        assert (one.type, one.queued) == ("TEST_A", 1)
        await store.enqueue(tenant(db), NewJob(type="TEST_A"))

        assert [kind.queued for kind in await other.samples.waiting(every_seconds=10)] == [1]
        later(other, 10)
        assert [kind.queued for kind in await other.samples.waiting(every_seconds=10)] == [2]
        await other.claim(limit=10)
        later(other, 10)
        assert await other.samples.waiting(every_seconds=10) == []
        assert db.run("SELECT 1 FROM queue_samples") == []


async def test_a_claim_that_takes_too_long_is_noted_once(db: Database) -> None:
    async with a_store(db) as store, a_store(db) as other:
        job = NewJob(type="TEST_A", expected_duration_ms=1000)
        job_id = (await store.enqueue(tenant(db), job)).job_id
        await store.enqueue(tenant(db), NewJob(type="TEST_B", expected_duration_ms=1000))
        await store.enqueue(tenant(db), NewJob(type="TEST_A"))  # nobody knows how long it should take
        await store.claim(limit=10)
        seen = []
        for each in (store, store, other):
            later(each, 7)
            seen += [await each.samples.overdue({"TEST_B": 20}, others=6)]

        assert [[(late.job_id, late.new) for late in found] for found in seen] == [
            [(job_id, True)],
            [(job_id, False)],
            [(job_id, False)],
        ]
        assert db.events(str(job_id)) == ["job:overdue"]
        assert [kind.oldest_seconds for kind in await other.samples.running()] == [7.0, 7.0]

        db.run("UPDATE jobs SET lease_token = gen_random_uuid() WHERE job_id = %s", [job_id])  # another claim
        await store.samples.overdue({}, others=6)
        assert db.events(str(job_id)) == ["job:overdue"] * 2


async def test_a_full_queue_takes_no_more_and_loses_nothing(db: Database) -> None:
    async with a_store(db, max_queued=3) as store:
        acme = tenant(db)
        first = await store.enqueue(acme, NewJob(type="TEST_A", idempotency_key="k"))
        await store.enqueue_many(acme, [NewJob(type="TEST_A")] * 2)  # counted by this process itself
        with pytest.raises(
            Permanent, match="QUEUE_FULL: the queue is full: 3 jobs wait, 3 of them of this tenant"
        ):
            await store.enqueue(acme, NewJob(type="TEST_A"))
        with pytest.raises(Permanent, match="QUEUE_FULL"):
            await store.enqueue_many(tenant(db, "other"), [NewJob(type="TEST_A")])

        again = await store.enqueue(acme, NewJob(type="TEST_A", idempotency_key="k"))
        assert (again.job_id, again.added) == (first.job_id, False)
        many = await store.enqueue_many(acme, [NewJob(type="TEST_A", idempotency_key="k")] * 2)
        assert {(each.job_id, each.added) for each in many} == {(first.job_id, False)}
        keyed = [NewJob(type="TEST_A", idempotency_key=key) for key in ("k", "new", "new", "newer")]
        with pytest.raises(Permanent, match="and 2 more would exceed"):  # a key that is told twice is one
            await store.enqueue_many(acme, keyed)
        await store.enqueue(acme, NewJob(type="TEST_B"), parent=JobId(first.job_id))  # a follow-up
        assert db.one("SELECT count(*) AS n FROM jobs")["n"] == 4


async def test_another_process_learns_from_the_sample_that_it_is_full(db: Database) -> None:
    async with a_store(db, max_queued=3) as store, a_store(db, max_queued=3) as other:
        await store.enqueue_many(tenant(db), [NewJob(type="TEST_A")] * 3)
        await store.samples.waiting(every_seconds=0)

        with pytest.raises(Permanent, match="QUEUE_FULL"):
            await other.enqueue(tenant(db), NewJob(type="TEST_A"))

        await store.claim(limit=10)
        later(store, 1)
        await store.samples.waiting(every_seconds=0)
        other._capacity._read.clear()  # a second has passed
        assert (await other.enqueue(tenant(db), NewJob(type="TEST_A"))).added


async def test_an_old_transaction_is_seen(db: Database) -> None:
    async with a_store(db, db.url) as store:  # a login that sees everybody's
        with db.connect() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT count(*) FROM jobs")
            assert await store.samples.oldest_xmin_seconds() > 0
