"""Many jobs at once, by INSERT and by COPY."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import NewJob, Priority, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from tests.support.database import Database

WILD = ['"', "\\", "\t", "\n", "\r", "\\N", "\\.", "{a,b}", "ü", "😀", "'", "%s", "\x7f"]
MANY = 1200  # enough for COPY


@pytest.fixture
async def store(db: Database) -> AsyncIterator[PostgresJobs]:
    dsn = Dsn(
        url=db.url_as("bpc_producer"), application_name="bulk", engine=True, suppress_insert_notify=True
    )
    jobs = PostgresJobs(dsn, QueueSettings(owner="nobody"))
    yield jobs
    jobs.close()


@pytest.fixture
def tenant(db: Database) -> TenantId:
    return TenantId(UUID(db.tenant()))


@pytest.mark.parametrize("count", [len(WILD), MANY], ids=["insert", "copy"])
async def test_every_job_arrives_as_it_was_meant(
    store: PostgresJobs, db: Database, tenant: TenantId, count: int
) -> None:
    jobs = [
        NewJob(
            type="TEST_NOOP",
            payload={"n": n, "text": WILD[n % len(WILD)]},
            priority=Priority(n % 4),
            correlation_id=WILD[n % len(WILD)],
        )
        for n in range(count)
    ]
    added = await store.enqueue_many(tenant, jobs)
    rows = {
        row["job_id"]: row
        for row in db.run(
            "SELECT job_id, payload, priority, correlation_id, spec_hash IS NOT NULL AS hashed FROM jobs"
        )
    }

    assert len(rows) == count
    assert all(each.added for each in added)
    for job, each in zip(jobs, added, strict=True):
        row = rows[each.job_id]
        assert row["payload"] == job.payload
        assert (row["priority"], row["correlation_id"]) == (job.priority, job.correlation_id)
        assert row["hashed"]


async def test_ids_stand_in_the_order_of_the_call(store: PostgresJobs, tenant: TenantId) -> None:
    added = await store.enqueue_many(tenant, [NewJob(type="TEST_NOOP") for _ in range(MANY)])
    milliseconds = [each.job_id.int >> 80 for each in added]

    assert milliseconds == sorted(milliseconds)


@pytest.mark.parametrize("count", [3, MANY], ids=["few", "many"])
async def test_one_taken_key_with_another_payload_takes_all_back(
    store: PostgresJobs, db: Database, tenant: TenantId, count: int
) -> None:
    await store.enqueue(tenant, NewJob(type="TEST_NOOP", payload={"n": 0}, idempotency_key="k"))
    jobs = [NewJob(type="TEST_NOOP", payload={"n": n}, idempotency_key=f"k{n}") for n in range(count)]
    with pytest.raises(Permanent, match="IDEMPOTENCY_CONFLICT"):
        await store.enqueue_many(
            tenant, [*jobs, NewJob(type="TEST_NOOP", payload={"n": 1}, idempotency_key="k")]
        )

    assert db.one("SELECT count(*) AS n FROM jobs")["n"] == 1


async def test_a_value_that_the_table_refuses_takes_all_back(
    store: PostgresJobs, db: Database, tenant: TenantId
) -> None:
    jobs = [NewJob(type="TEST_NOOP") for _ in range(MANY)]
    with pytest.raises(Permanent, match="VALIDATION_ERROR"):
        await store.enqueue_many(tenant, [*jobs, NewJob(type="lower case")])

    assert db.one("SELECT count(*) AS n FROM jobs")["n"] == 0
    assert len(await store.enqueue_many(tenant, jobs)) == MANY, "the connection is still good"


async def test_many_jobs_make_one_ring_at_most(store: PostgresJobs, db: Database, tenant: TenantId) -> None:
    with db.connect() as listener:
        listener.execute("LISTEN bpc_jobs")
        await store.enqueue_many(tenant, [NewJob(type="TEST_NOOP") for _ in range(MANY)])
        assert list(listener.notifies(timeout=0)) == [], "who adds many rings himself"
        await store.ring()
        assert len(list(listener.notifies(timeout=5, stop_after=1))) == 1
