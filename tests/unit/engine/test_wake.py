"""The bell."""

import asyncio

from bpc_worker.engine.wake import Wake

AMQP = frozenset({"amqp"})


async def test_many_rings_are_one_wake_up_and_say_who_rang() -> None:
    wake = Wake()
    for _ in range(1000):
        wake.ring("amqp")
    wake.ring("slot")

    assert await wake.wait(at_most=60) == {"amqp", "slot"}
    assert await wake.wait(at_most=0) == frozenset()


async def test_a_ring_between_two_waits_is_kept() -> None:
    wake = Wake()
    await wake.wait(at_most=0)
    wake.ring("amqp")

    assert await wake.wait(at_most=60) == {"amqp"}


async def test_a_ring_ends_a_wait_that_has_begun() -> None:
    wake = Wake()
    waiting = asyncio.create_task(wake.wait(at_most=60))
    await asyncio.sleep(0)
    wake.ring("amqp")

    assert await waiting == {"amqp"}


async def test_who_is_ignored_does_not_end_a_pause_and_is_heard_afterwards() -> None:
    wake = Wake()
    wake.ring("amqp")
    pausing = asyncio.create_task(wake.pause(0.02, ignoring=AMQP))
    await asyncio.sleep(0)
    wake.ring("amqp")
    await asyncio.sleep(0)

    assert not pausing.done()
    await pausing
    assert await wake.wait(at_most=0) == {"amqp"}


async def test_anybody_else_ends_a_pause_at_once() -> None:
    wake = Wake()
    pausing = asyncio.create_task(wake.pause(60, ignoring=AMQP))
    await asyncio.sleep(0)
    wake.ring("amqp")
    wake.ring("slot")
    async with asyncio.timeout(5):
        await pausing

    assert await wake.wait(at_most=60) == {"amqp", "slot"}


async def test_a_ring_before_a_pause_keeps_it_from_beginning() -> None:
    wake = Wake()
    wake.ring("stop")
    async with asyncio.timeout(5):
        await wake.pause(60, ignoring=AMQP)

    assert await wake.wait(at_most=60) == {"stop"}


async def test_after_a_pause_nobody_is_ignored() -> None:
    wake = Wake()
    await wake.pause(0, ignoring=AMQP)
    waiting = asyncio.create_task(wake.wait(at_most=60))
    await asyncio.sleep(0)
    wake.ring("amqp")

    assert await waiting == {"amqp"}
