"""The loop: it looks, takes, rests, and stops without losing what is on its way."""

import asyncio
from datetime import timedelta

import pytest

from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.jobs.store import Look
from bpc_worker.testing import NOON
from tests.unit.engine.support import Room, steps


async def test_it_runs_what_is_due_until_nothing_is_left() -> None:
    room = Room(slots=2)
    await room.enqueue("TEST_NOOP", 7)
    await asyncio.wait_for(room.runner.run_until_empty(asyncio.Event()), 10)

    assert room.statuses() == ["SUCCEEDED"] * 7
    assert len(set(room.ended)) == 7


async def test_until_empty_waits_for_what_runs() -> None:
    room = Room(slots=1)
    await room.enqueue("TEST_WAIT", 2)
    running = asyncio.create_task(room.runner.run_until_empty(asyncio.Event()))
    await room.settled()
    assert not running.done()
    room.let_go.set()
    await asyncio.wait_for(running, 10)

    assert room.statuses() == ["SUCCEEDED"] * 2


async def test_until_empty_ends_when_it_is_told_to() -> None:
    room, stop = Room(), asyncio.Event()
    stop.set()
    await asyncio.wait_for(room.runner.run_until_empty(stop), 10)

    assert room.store.looks == []


async def test_a_bell_is_a_look_and_jobs_begin() -> None:
    room, stop = Room(), asyncio.Event()
    running = asyncio.create_task(room.runner.run(stop))
    await room.settled()
    await room.enqueue("TEST_NOOP", 1)
    room.wake.ring("notify")
    while not room.ended:
        await asyncio.sleep(0)
    await _stopped(room, stop, running)

    assert room.statuses() == ["SUCCEEDED"]
    assert "woken notify" in room.metrics.told


async def test_a_claim_that_was_on_its_way_when_the_stop_came_still_begins_its_jobs() -> None:
    room, stop = Room(slots=2), asyncio.Event()
    await room.enqueue("TEST_WAIT", 2)
    room.store.go_on.clear()
    running = asyncio.create_task(room.runner.run(stop))
    await steps(5)
    stop.set()
    room.health.draining = True
    room.wake.ring("stop")
    room.store.go_on.set()
    await asyncio.wait_for(running, 10)

    assert room.jobs.busy == 2


async def test_the_next_due_job_wakes_it() -> None:
    room, stop = Room(), asyncio.Event()
    await room.enqueue("TEST_NOOP", scheduled_at=NOON + timedelta(milliseconds=1))
    running = asyncio.create_task(room.runner.run(stop))
    await steps(20)
    room.clock.advance(1)
    async with asyncio.timeout(10):
        while "woken due" not in room.metrics.told:
            await asyncio.sleep(0)
    await _stopped(room, stop, running)


async def test_a_bell_that_rings_for_nothing_is_answered_with_a_pause() -> None:
    room, stop = Room(), asyncio.Event()
    running = asyncio.create_task(room.runner.run(stop))
    for _ in range(50):
        room.wake.ring("amqp")
        await steps(5)
    looks = len(room.store.looks)
    await _stopped(room, stop, running)

    assert looks < 10


async def test_until_empty_tries_again_when_the_database_was_away() -> None:
    from bpc_worker.jobs.errors import Code, Unavailable

    room = Room()
    room.store.troubles = [Unavailable(Code.DB_UNAVAILABLE, "gone")]
    await room.enqueue("TEST_NOOP", 1)
    running = asyncio.create_task(room.runner.run_until_empty(asyncio.Event()))
    await steps(10)
    room.wake.ring("poll")
    await asyncio.wait_for(running, 10)

    assert room.statuses() == ["SUCCEEDED"]


async def test_until_empty_waits_for_jobs_that_others_have_locked() -> None:
    room, claim = Room(), None
    await room.enqueue("TEST_NOOP", 1)
    claim = room.store.claim
    answers = [Look(more=True)] * 5

    async def locked_at_first(**asked: object) -> Look:
        return answers.pop() if answers else await claim(**asked)  # type: ignore[arg-type]

    room.store.claim = locked_at_first  # type: ignore[method-assign]
    await asyncio.wait_for(room.runner.run_until_empty(asyncio.Event()), 10)

    assert room.statuses() == ["SUCCEEDED"]


async def test_ends_that_travelled_with_a_claim_are_confirmed() -> None:
    room = Room(slots=2)
    await room.enqueue("TEST_NOOP", 40)
    stop = asyncio.Event()
    running = asyncio.create_task(room.runner.run(stop))
    async with asyncio.timeout(10):
        while "QUEUED" in room.statuses() or room.jobs.busy:
            await asyncio.sleep(0)
    await _stopped(room, stop, running)

    assert room.statuses() == ["SUCCEEDED"] * 40
    assert any(ends for _, _, ends in room.store.looks)


async def _stopped(room: Room, stop: asyncio.Event, running: "asyncio.Task[None]") -> None:
    room.health.draining = True
    stop.set()
    room.wake.ring("stop")
    await asyncio.wait_for(running, 10)
    await room.settled()


@pytest.mark.virtual_time
async def test_a_loud_bell_does_not_make_it_ask_a_database_that_is_away() -> None:
    room, stop = Room(), asyncio.Event()
    room.store.troubles = [Unavailable(Code.DB_UNAVAILABLE, "away")] * 100_000
    running = asyncio.create_task(room.runner.run(stop))
    for _ in range(2_000):
        room.wake.ring("amqp")
        await asyncio.sleep(0.01)
    looks = len(room.store.looks)
    await _stopped(room, stop, running)

    assert looks <= 20  # in twenty seconds


@pytest.mark.virtual_time
async def test_who_came_too_late_by_a_few_bells_waits_a_moment_at_the_next() -> None:
    room, stop = Room(), asyncio.Event()
    running = asyncio.create_task(room.runner.run(stop))
    await asyncio.sleep(0.001)
    seconds = []
    for _ in range(12):
        await asyncio.sleep(0.2)
        looks, rung_at = len(room.store.looks), asyncio.get_running_loop().time()
        room.wake.ring("notify")
        while len(room.store.looks) == looks:
            await asyncio.sleep(0.0005)
        seconds.append(asyncio.get_running_loop().time() - rung_at)
    await _stopped(room, stop, running)

    assert seconds[0] < 0.001
    assert 0.005 < seconds[-1] < 0.1
