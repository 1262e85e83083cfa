"""The bell."""

import asyncio

from bpc_worker.wake import Wake


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
