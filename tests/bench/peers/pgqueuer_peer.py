"""pgqueuer as its documentation runs it: its own schema, uvloop, asyncpg or psycopg."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg
import psycopg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver, Driver, PsycopgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from wire import Marks, asked, batches, produce, say

ENTRYPOINT = "noop"


@asynccontextmanager
async def driver(kind: str, url: str, *, connections: int = 1) -> AsyncIterator[Driver]:
    if kind == "psycopg":
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            yield PsycopgDriver(connection)
    elif kind == "asyncpg":
        found = await asyncpg.connect(url)
        yield AsyncpgDriver(found)
        await found.close()
    else:
        async with asyncpg.create_pool(url, min_size=connections, max_size=connections) as pool:
            yield AsyncpgPoolDriver(pool)


async def install(url: str) -> None:
    async with driver("asyncpg", url) as found:
        await Queries(found).install()
    say(installed=True)


async def fill(url: str, count: int) -> None:
    async with driver("asyncpg", url) as found:
        queries = Queries(found)
        for size in batches(count, 10_000):
            await queries.enqueue([ENTRYPOINT] * size, [b"0"] * size, [0] * size)
    say(filled=count)


async def work(url: str, kind: str, batch: int, marks: str | None) -> None:
    mark = Marks(marks) if marks is not None else None
    async with driver(kind, url, connections=5) as found:
        queue = PgQueuer(found)

        @queue.entrypoint(ENTRYPOINT)
        async def noop(job: Job) -> None:
            if mark is not None and job.payload is not None:
                mark.began(int(job.payload))

        say(ready=True)
        await queue.run(batch_size=batch)


async def enqueue(url: str, kind: str, how: str, count: int) -> None:
    async with AsyncExitStack() as opened:
        tasks = 10 if how == "concurrent" else 1
        if how == "concurrent" and kind == "psycopg":  # it has no pool: a connection for every task
            found = [await opened.enter_async_context(driver(kind, url)) for _ in range(tasks)]
        else:
            chosen = "pool" if how == "concurrent" else kind
            found = [await opened.enter_async_context(driver(chosen, url, connections=tasks))] * tasks

        async def one_by_one(queries: Queries, jobs: int) -> None:
            for _ in range(jobs):
                await queries.enqueue(ENTRYPOINT, b"0", 0)

        async def in_bulk(queries: Queries, jobs: int) -> None:
            for size in batches(jobs, 1000):
                await queries.enqueue([ENTRYPOINT] * size, [b"0"] * size, [0] * size)

        way = in_bulk if how == "bulk" else one_by_one
        await way(Queries(found[0]), 20)
        start = time.perf_counter()
        await asyncio.gather(*(way(Queries(each), count // tasks) for each in found))
        say(seconds=time.perf_counter() - start)


async def producer(url: str, kind: str) -> None:
    async with driver(kind, url) as found:
        queries = Queries(found)
        await produce(lambda number: queries.enqueue(ENTRYPOINT, str(number).encode(), 0))


WAYS: dict[str, Callable[..., Coroutine[object, object, None]]] = {
    "install": install,
    "fill": fill,
    "work": work,
    "enqueue": enqueue,
    "produce": producer,
}

if __name__ == "__main__":
    wanted = asked()
    uvloop.run(WAYS[wanted.pop("do")](**wanted))
