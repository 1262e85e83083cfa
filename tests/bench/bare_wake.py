"""The least that waking up costs: INSERT, a bell (NOTIFY or AMQP), one claim. No leases, no guards."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final
from uuid import UUID

import aio_pika
import psycopg
from psycopg.types.json import Jsonb

from tests.bench.peers.wire import Marks, asked, produce, say
from tests.support.bare_consumer import CLAIM, JOB_TYPE

EXCHANGE: Final = "bare-bench"
INSERT: Final = "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, %s, %s)"
SETTLE: Final = (
    "UPDATE jobs SET status = 'SUCCEEDED', finished_at = now(), lease_owner = NULL, lease_expires_at = NULL"
    " WHERE job_id = %s"
)


async def notified(url: str) -> AsyncIterator[object]:
    """On a connection of its own: psycopg holds a connection's lock while it listens."""
    connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
    await connection.execute("LISTEN bpc_jobs")
    say(ready=True)
    async for bell in connection.notifies():
        yield bell


async def published(broker: str) -> AsyncIterator[object]:
    channel = await (await aio_pika.connect(broker)).channel()
    await channel.set_qos(prefetch_count=100)
    await channel.declare_exchange(EXCHANGE, "topic")
    queue = await channel.declare_queue(exclusive=True)
    await queue.bind(EXCHANGE, "jobs.trigger")
    rung = asyncio.Event()

    async def heard(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        await message.ack()
        rung.set()

    await queue.consume(heard)
    say(ready=True)
    while True:
        await rung.wait()
        rung.clear()
        yield None


async def work(url: str, broker: str | None, marks: str) -> None:
    mark = Marks(marks)
    database = await psycopg.AsyncConnection.connect(url, autocommit=True)
    async for _ in notified(url) if broker is None else published(broker):
        cursor = await database.execute(CLAIM)
        for job_id, payload in await cursor.fetchall():
            mark.began(payload["number"])
            await database.execute(SETTLE, [job_id])


async def producer(url: str, tenant: str, broker: str | None) -> None:
    database = await psycopg.AsyncConnection.connect(url, autocommit=True)
    exchange = None
    if broker is not None:
        await database.execute("SET bpc.quiet = 'on'")  # no second bell
        channel = await (await aio_pika.connect(broker)).channel(publisher_confirms=False)
        exchange = await channel.declare_exchange(EXCHANGE, "topic")

    async def one(number: int) -> None:
        await database.execute(INSERT, [UUID(tenant), JOB_TYPE, Jsonb({"number": number})])
        if exchange is not None:
            await exchange.publish(aio_pika.Message(b"{}"), "jobs.trigger", mandatory=False)

    await produce(one)


WAYS: Final[dict[str, Callable[..., Awaitable[Any]]]] = {"work": work, "produce": producer}


async def main() -> None:
    wanted = asked()
    await WAYS[wanted.pop("do")](**wanted)


if __name__ == "__main__":
    asyncio.run(main())
