"""The least that queueing a job costs: a plain INSERT, and a COPY of rows that were made beforehand."""

import asyncio
import time
from uuid import UUID

import psycopg

from bpc_worker.core.spec_hash import spec_hash
from bpc_worker.ids import uuid7
from tests.bench.peers.wire import asked, batches, say

INSERT = "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'TEST_NOOP', '{}') RETURNING job_id"
COPY = "COPY jobs (job_id, tenant_id, type, queue, priority, payload, max_attempts, spec_hash) FROM STDIN"
CONCURRENT = 10


async def inserts(url: str, tenant: UUID, tasks: int, count: int) -> float:
    """Whoever inserts rings: the trigger's NOTIFY is part of a plain INSERT."""
    made = [await psycopg.AsyncConnection.connect(url, autocommit=True) for _ in range(tasks)]

    async def some(connection: psycopg.AsyncConnection, wanted: int) -> None:
        for _ in range(wanted):
            cursor = await connection.execute(INSERT, [tenant])
            await cursor.fetchone()

    for each in made:
        await some(each, 20)
    start = time.perf_counter()
    await asyncio.gather(*(some(each, count // tasks) for each in made))
    seconds = time.perf_counter() - start
    for each in made:
        await each.close()
    return seconds


def copies(url: str, tenant: UUID, count: int) -> float:
    """Only the COPY is timed: its bytes are ready."""
    hashed = (spec_hash("TEST_NOOP", {}) or b"").hex()
    parts = [
        "".join(
            f"{uuid7()}\t{tenant}\tTEST_NOOP\tdefault\t2\t{{}}\t5\t\\\\x{hashed}\n" for _ in range(size)
        ).encode()
        for size in [20, *batches(count, 1000)]
    ]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET bpc.quiet = 'on'")  # as our own sessions: one bell for many
        _copy(connection, parts[0])
        start = time.perf_counter()
        for part in parts[1:]:
            _copy(connection, part)
        return time.perf_counter() - start


def _copy(connection: psycopg.Connection, rows: bytes) -> None:
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        copy.write(rows)


def main() -> None:
    wanted = asked()
    url, tenant, count = wanted["url"], UUID(wanted["tenant"]), wanted["count"]
    match wanted["how"]:
        case "bulk":
            say(seconds=copies(url, tenant, count))
        case how:
            tasks = 1 if how == "single" else CONCURRENT
            say(seconds=asyncio.run(inserts(url, tenant, tasks, count)))


if __name__ == "__main__":
    main()
