"""The handlers' event loop keeps nothing of a job that has ended."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator

import pytest

from bpc_worker.engine.handler_thread import HandlerThread, ThreadMailbox


@pytest.fixture
async def handlers() -> AsyncIterator[HandlerThread]:
    loop = HandlerThread()
    loop.start()
    yield loop
    loop.stop()


async def _with_a_task_of_its_own() -> str:
    return await asyncio.create_task(asyncio.sleep(0, "done"))


async def test_what_a_job_began_belongs_to_it_and_is_forgotten_with_it(handlers: HandlerThread) -> None:
    left = []
    for _ in range(20):
        running = handlers.run(_with_a_task_of_its_own())
        await running.ended.future
        assert running.result() == "done"
        left.append(weakref.ref(running))
    del running
    gc.collect()

    assert [ref() for ref in left] == [None] * 20


async def test_a_cancelled_job_is_forgotten_too(handlers: HandlerThread) -> None:
    running = handlers.run(asyncio.sleep(60))
    running.cancel()
    await running.ended.future
    left = weakref.ref(running)
    assert running.result() is None
    del running
    gc.collect()

    assert left() is None


async def test_a_call_that_raises_does_not_hold_up_those_behind_it() -> None:
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(lambda *_: None)
    mailbox = ThreadMailbox(loop)

    def fail() -> None:
        raise RuntimeError

    mailbox.put(fail)
    mailbox.put(heard.set)
    mailbox.wake()
    async with asyncio.timeout(5):
        await heard.wait()
