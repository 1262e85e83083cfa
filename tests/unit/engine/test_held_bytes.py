"""The budget of bytes: in turn, never for ever, and given back whatever happens."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from bpc_worker.engine.handler_thread import HandlerThread
from bpc_worker.engine.held_bytes import Held, HeldBytes


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_fits_is_had_at_once_and_counted() -> None:
    held = HeldBytes(100)
    first, second = await held.acquire(60), await held.acquire(40)

    assert (held.used, held.waiting) == (100, 0)
    first.release()
    assert held.used == 40
    second.release()
    assert held.used == 0


async def test_to_release_twice_gives_back_once() -> None:
    held = HeldBytes(100)
    first, _second = await held.acquire(30), await held.acquire(50)
    first.release()
    first.release()

    assert held.used == 50


async def test_who_comes_first_is_first_though_a_later_one_would_fit() -> None:
    held = HeldBytes(100)
    inside = await held.acquire(80)
    large, small = asyncio.create_task(held.acquire(50)), asyncio.create_task(held.acquire(10))
    await _settle()
    assert (large.done(), small.done(), held.waiting) == (False, False, 2)

    inside.release()
    await _settle()
    assert (large.done(), small.done(), held.used) == (True, True, 60)


async def test_one_that_is_larger_than_the_whole_goes_alone() -> None:
    held = HeldBytes(100)
    inside = await held.acquire(1)
    huge, behind = asyncio.create_task(held.acquire(500)), asyncio.create_task(held.acquire(1))
    await _settle()
    assert not huge.done()

    inside.release()
    await _settle()
    assert (huge.done(), behind.done(), held.used) == (True, False, 500)

    (await huge).release()
    await _settle()
    assert (behind.done(), held.used) == (True, 1)


async def test_who_is_cancelled_while_waiting_leaves_the_place_to_the_next() -> None:
    held = HeldBytes(100)
    inside = await held.acquire(80)
    large, small = asyncio.create_task(held.acquire(50)), asyncio.create_task(held.acquire(10))
    await _settle()
    large.cancel()
    await _settle()

    assert (small.done(), held.used, held.waiting) == (True, 90, 0)
    inside.release()
    (await small).release()
    assert held.used == 0


async def test_who_is_cancelled_when_just_let_in_gives_it_back() -> None:
    held = HeldBytes(100)
    inside = await held.acquire(80)
    waiting = asyncio.create_task(held.acquire(50))
    await _settle()
    inside.release()  # it is let in, and has not run yet
    waiting.cancel()
    await _settle()

    assert waiting.cancelled()
    assert held.used == 0


async def test_jobs_that_hold_some_and_want_more_do_not_wait_for_one_another_for_ever() -> None:
    held = HeldBytes(100)
    first, second = await held.acquire(50), await held.acquire(50)
    more = asyncio.create_task(held.acquire(30, holding=50))
    await _settle()
    assert not more.done()  # the second one may still let go

    and_more = asyncio.create_task(held.acquire(30, holding=50))
    await _settle()
    assert (more.done(), and_more.done()) == (True, False)

    first.release()
    (await more).release()
    await _settle()
    assert and_more.done()
    second.release()
    (await and_more).release()
    assert (held.used, held.waiting) == (0, 0)


@pytest.fixture
async def handlers() -> AsyncIterator[HandlerThread]:
    thread = HandlerThread()
    thread.start()
    yield thread
    thread.stop()


async def test_two_threads_share_one_budget(handlers: HandlerThread) -> None:
    """Each with a loop of its own; what one gives back wakes the other, and nothing is lost on the way."""
    held, most = HeldBytes(1000), 0

    async def use(seed: int) -> None:
        nonlocal most
        dice = random.Random(seed)
        for _ in range(200):
            lease = await held.acquire(dice.randint(1, 400))
            most = max(most, held.used)
            if dice.random() < 0.5:
                await asyncio.sleep(0)
            lease.release()

    async def ten(base: int) -> None:
        await asyncio.gather(*(use(base + number) for number in range(10)))

    async with asyncio.timeout(30):
        there = handlers.run(ten(100))
        await ten(0)
        await there.ended.future
    there.result()

    assert (held.used, held.waiting) == (0, 0)
    assert 0 < most <= 1000


async def test_whoever_waits_in_the_other_thread_is_woken(handlers: HandlerThread) -> None:
    held = HeldBytes(100)
    inside = await held.acquire(100)
    there: asyncio.Event = asyncio.Event()
    here = asyncio.get_running_loop()

    async def want() -> Held:
        here.call_soon_threadsafe(there.set)
        return await held.acquire(70)

    waiting = handlers.run(want())
    async with asyncio.timeout(10):
        await there.wait()
        inside.release()
        await waiting.ended.future

    assert held.used == 70
