"""What only the queue in memory can be asked; the rest is in the contract suite."""

import asyncio

import pytest

from bpc_worker.jobs.errors import Unavailable
from bpc_worker.jobs.model import Claim, Done, Failed, JobId, Retry
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Pause, PauseKind
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.testing import A_TENANT, FakeClock, a_job, an_error
from tests.support.stores import settled

SETTINGS = QueueSettings(owner="worker-1", types=("TEST_NOOP",))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> MemoryJobStore:
    return MemoryJobStore(SETTINGS, clock=clock)


async def add(store: MemoryJobStore, **fields: object) -> JobId:
    return (await store.enqueue(A_TENANT, a_job(**fields))).job_id  # type: ignore[arg-type]  # of NewJob


async def claim(store: MemoryJobStore) -> Claim:
    [claim] = (await store.claim(limit=1)).claims
    return claim


async def test_a_snapshot_counts_what_waits_and_what_runs(store: MemoryJobStore, clock: FakeClock) -> None:
    for delay in (0, 0, 30, 60):
        await add(store, delay_seconds=delay)
    await claim(store)
    before = store.snapshot()
    clock.advance(30)
    after = store.snapshot()

    assert (before.depth, before.ready, before.scheduled, before.running) == (3, 1, 2, 1)
    assert (after.depth, after.ready, after.scheduled, after.running) == (3, 2, 1, 1)
    assert not after.shutdown


async def test_what_is_purged_was_never_there_but_what_runs_goes_on(store: MemoryJobStore) -> None:
    await add(store)
    running = await claim(store)
    first = await add(store, idempotency_key="k", delay_seconds=60)
    await add(store)

    assert store.purge() == 2
    assert store.snapshot().depth == 0
    assert await store.settle(running, settled(running, Done())) == "SUCCEEDED"
    assert await add(store, idempotency_key="k") != first


async def test_the_last_hundred_failures_are_remembered(store: MemoryJobStore, clock: FakeClock) -> None:
    for _ in range(120):
        await add(store)
        failed = await claim(store)
        await store.settle(failed, settled(failed, Failed(an_error("NOT_FOUND"))))
    await add(store)
    await claim(store)
    clock.advance(60)
    await store.reap()
    failures = store.recent_failures

    assert len(failures) == 100
    assert [failure.code for failure in failures[-2:]] == ["NOT_FOUND", "LEASE_EXPIRED"]
    assert (failures[-2].job_id, failures[-2].attempt) == (failed.job_id, 1)


async def test_a_queue_that_is_shut_down_is_emptied_but_not_filled(store: MemoryJobStore) -> None:
    first = await add(store)
    await store.shutdown()
    with pytest.raises(Unavailable, match="QUEUE_UNAVAILABLE"):
        await add(store)
    follow_up = await store.enqueue(A_TENANT, a_job(), parent=first)

    assert store.snapshot().shutdown
    assert await store.wait_due()
    assert {(await claim(store)).job_id, (await claim(store)).job_id} == {first, follow_up.job_id}
    assert not await store.wait_due()


async def test_who_waits_is_woken_by_whatever_makes_a_job_due(store: MemoryJobStore) -> None:
    due, job_id = await asyncio.gather(store.wait_due(), add(store))
    assert due

    running = await claim(store)
    await store.settle(running, settled(running, Failed(an_error())))
    due, _ = await asyncio.gather(store.wait_due(), store.requeue(job_id))
    assert due

    await store.pause(Pause(kind=PauseKind.QUEUE, name="default", reason="told to"))
    due, _ = await asyncio.gather(store.wait_due(), store.resume(PauseKind.QUEUE, "default"))
    assert due


async def test_who_waits_is_woken_when_a_delay_has_passed() -> None:
    store = MemoryJobStore(SETTINGS)  # by the clock of the system
    await add(store, delay_seconds=0.02)

    assert await store.wait_due()
    assert (await claim(store)).attempts == 1


async def test_nobody_waits_for_longer_than_he_wants(store: MemoryJobStore) -> None:
    await add(store, delay_seconds=60)

    assert not await store.wait_due(at_most=0.001)


async def test_a_shutdown_wakes_who_waits_for_nothing(store: MemoryJobStore) -> None:
    due, _ = await asyncio.gather(store.wait_due(), store.shutdown())

    assert not due


async def test_a_due_job_of_somebody_else_wakes_nobody(store: MemoryJobStore) -> None:
    await add(store, job_type="OTHER_TYPE")

    assert not await store.wait_due(at_most=0.001)


async def test_a_long_queue_of_retries_stays_in_order(store: MemoryJobStore, clock: FakeClock) -> None:
    jobs = [await add(store) for _ in range(50)]
    for running in (await store.claim(limit=50)).claims:
        await store.settle(running, settled(running, Retry(an_error())))
    clock.advance(10)

    assert [each.job_id for each in (await store.claim(limit=50)).claims] == jobs
