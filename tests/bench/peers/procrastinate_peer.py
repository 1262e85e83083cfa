"""procrastinate as its documentation runs it: its own schema, the psycopg connector with its pool."""

import asyncio
import time
from collections.abc import Callable, Coroutine

from procrastinate import App, PsycopgConnector
from wire import Marks, asked, batches, produce, say

TASK = "noop"


def application(url: str, connections: int) -> App:
    app = App(connector=PsycopgConnector(conninfo=url, min_size=connections, max_size=connections))
    app.task(name=TASK)(nothing)
    return app


async def nothing(number: int) -> None:
    pass


async def install(url: str) -> None:
    async with application(url, 1).open_async() as app:
        await app.schema_manager.apply_schema_async()
    say(installed=True)


async def fill(url: str, count: int) -> None:
    async with application(url, 1).open_async() as app:
        for size in batches(count, 1000):
            await app.tasks[TASK].batch_defer_async(*({"number": 0} for _ in range(size)))
    say(filled=count)


async def work(url: str, concurrency: int, connections: int, marks: str | None) -> None:
    app = application(url, connections)
    if marks is not None:
        mark = Marks(marks)

        @app.task(name="mark")
        async def marking(number: int) -> None:
            mark.began(number)

    async with app.open_async():
        say(ready=True)
        await app.run_worker_async(concurrency=concurrency)


async def enqueue(url: str, how: str, count: int) -> None:
    tasks = 10 if how == "concurrent" else 1
    async with application(url, tasks).open_async() as app:
        task = app.tasks[TASK]

        async def one_by_one(jobs: int) -> None:
            for _ in range(jobs):
                await task.defer_async(number=0)

        async def in_bulk(jobs: int) -> None:
            for size in batches(jobs, 1000):
                await task.batch_defer_async(*({"number": 0} for _ in range(size)))

        way = in_bulk if how == "bulk" else one_by_one
        await way(20)
        start = time.perf_counter()
        await asyncio.gather(*(way(count // tasks) for _ in range(tasks)))
        say(seconds=time.perf_counter() - start)


async def producer(url: str) -> None:
    async with application(url, 1).open_async() as app:
        defer = app.configure_task("mark").defer_async
        await produce(lambda number: defer(number=number))


WAYS: dict[str, Callable[..., Coroutine[object, object, None]]] = {
    "install": install,
    "fill": fill,
    "work": work,
    "enqueue": enqueue,
    "produce": producer,
}


def main() -> None:
    wanted = asked()
    asyncio.run(WAYS[wanted.pop("do")](**wanted))


if __name__ == "__main__":
    import procrastinate_peer  # an App does not like to be made in the main module

    procrastinate_peer.main()
