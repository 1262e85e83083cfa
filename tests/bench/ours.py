"""Our own producer, talking like the peers': PostgresJobs, and the trigger that our API publishes."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

from bpc_worker.amqp.connection import Broker
from bpc_worker.amqp.publisher import Publisher
from bpc_worker.jobs.model import NewJob, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from tests.bench.peers.wire import asked, batches, produce, say

NOOP: Final = NewJob(type="TEST_NOOP", payload={})
CONCURRENT: Final = 10


def store(url: str, types: tuple[str, ...] = ("TEST_NOOP",)) -> PostgresJobs:
    """As the worker makes it."""
    dsn = Dsn(url=url, application_name="bpc-bench", engine=True)
    return PostgresJobs(dsn, QueueSettings(owner="bench", types=types))


async def enqueue(url: str, tenant: str, how: str, count: int) -> None:
    """`single` and `bulk`: one store. `concurrent`: ten tasks share one; `ten stores`: one for each."""
    tenant_id = TenantId(UUID(tenant))
    tasks = 1 if how in {"single", "bulk"} else CONCURRENT
    made = [store(url) for _ in range(CONCURRENT)] if how == "ten stores" else [store(url)] * tasks

    async def one_by_one(jobs: PostgresJobs, wanted: int) -> None:
        for _ in range(wanted):
            await jobs.enqueue(tenant_id, NOOP)

    async def in_bulk(jobs: PostgresJobs, wanted: int) -> None:
        for size in batches(wanted, 1000):
            await jobs.enqueue_many(tenant_id, [NOOP] * size)

    way = in_bulk if how == "bulk" else one_by_one
    for each in made:
        await way(each, 20)
    start = time.perf_counter()
    await asyncio.gather(*(way(each, count // tasks) for each in made))
    say(seconds=time.perf_counter() - start)


async def producer(url: str, tenant: str, pipe: str, broker: str | None) -> None:
    """Insert, commit, then wake the workers."""
    tenant_id, jobs = TenantId(UUID(tenant)), store(url)
    publisher = Publisher(Broker(url=broker)) if broker is not None else None

    async def one(number: int) -> None:
        await jobs.enqueue(tenant_id, NewJob(type="TEST_MARK", payload={"number": number, "pipe": pipe}))
        if publisher is not None:
            publisher.publish()

    await produce(one)


WAYS: Final[dict[str, Callable[..., Awaitable[Any]]]] = {"enqueue": enqueue, "produce": producer}


async def main() -> None:
    wanted = asked()
    await WAYS[wanted.pop("do")](**wanted)


if __name__ == "__main__":
    asyncio.run(main())
