"""The floor that the worker's wake-up is measured against: consume, claim, nothing else."""

import asyncio
import sys
import time

import aio_pika
import psycopg
from aio_pika.abc import AbstractIncomingMessage

EXCHANGE, ROUTING_KEY, JOB_TYPE = "bare", "jobs.trigger", "BARE_NOOP"
CLAIM = """
UPDATE jobs
SET status = 'RUNNING', attempts = attempts + 1, lease_owner = 'bare', lease_token = gen_random_uuid(),
    lease_expires_at = now() + interval '60 s', last_heartbeat_at = now(), started_at = now()
WHERE job_id = ANY (ARRAY(
  SELECT job_id FROM jobs
  WHERE status = 'QUEUED' AND scheduled_at <= now() AND type = 'BARE_NOOP' AND queue = 'default'
  ORDER BY priority, scheduled_at LIMIT 10 FOR UPDATE SKIP LOCKED))
RETURNING job_id, payload
"""
SETTLE = """
UPDATE jobs
SET status = 'SUCCEEDED', finished_at = now(), lease_owner = NULL, lease_expires_at = NULL,
    result = jsonb_build_object('started_ns', %s::bigint)
WHERE job_id = %s
"""


async def main(amqp_url: str, database_url: str) -> None:
    database = await psycopg.AsyncConnection.connect(database_url, autocommit=True)
    connection = await aio_pika.connect(amqp_url)
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=100)
    await channel.declare_exchange(EXCHANGE, "topic")
    queue = await channel.declare_queue(exclusive=True)
    await queue.bind(EXCHANGE, ROUTING_KEY)

    async def heard(message: AbstractIncomingMessage) -> None:
        await message.ack()
        cursor = await database.execute(CLAIM)
        rows = await cursor.fetchall()
        started_ns = time.monotonic_ns()
        for job_id, _ in rows:
            await database.execute(SETTLE, [started_ns, job_id])

    await queue.consume(heard)
    print("listening", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
