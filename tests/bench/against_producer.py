"""Any program that queues jobs: INSERT, commit and, with a broker, a message to wake the workers."""

import asyncio
from uuid import UUID

import aio_pika
import psycopg
from psycopg.types.json import Jsonb

from tests.bench.peers.wire import asked, produce

INSERT = "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'TEST_MARK', %s)"


async def producer(url: str, tenant: str, pipe: str, broker: str | None) -> None:
    database = await psycopg.AsyncConnection.connect(url, autocommit=True)
    exchange = None
    if broker is not None:
        await database.execute("SET bpc.quiet = 'on'")  # no second bell
        channel = await (await aio_pika.connect(broker)).channel(publisher_confirms=False)
        exchange = await channel.get_exchange("bpc")

    async def one(number: int) -> None:
        await database.execute(INSERT, [UUID(tenant), Jsonb({"number": number, "pipe": pipe})])
        if exchange is not None:
            await exchange.publish(aio_pika.Message(b"{}"), "jobs.trigger", mandatory=False)

    await produce(one)


if __name__ == "__main__":
    wanted = asked()
    wanted.pop("do")
    asyncio.run(producer(**wanted))
