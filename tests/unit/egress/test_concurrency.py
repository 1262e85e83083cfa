"""At most so many at a time: quick ones are waited for, slow ones cost nobody else a slot."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from bpc_worker.egress.concurrency import Turnstiles
from bpc_worker.handler_api import Snooze


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_whoever_comes_while_it_is_full_waits_for_the_next_place() -> None:
    turnstiles, order = Turnstiles(1, clock=Clock()), []

    async def call(name: str) -> None:
        async with turnstiles.place("a"):
            order.append(f"{name} in")
            await asyncio.sleep(0)
            order.append(f"{name} out")

    await asyncio.gather(call("first"), call("second"), call("third"))

    assert order == ["first in", "first out", "second in", "second out", "third in", "third out"]
    assert turnstiles._by_target == {}  # nobody is there, so nothing is remembered


async def test_targets_do_not_stand_in_each_others_way() -> None:
    turnstiles = Turnstiles(1, clock=Clock())
    async with turnstiles.place("a"), turnstiles.place("b"):
        assert set(turnstiles._by_target) == {"a", "b"}


async def test_when_those_inside_are_slow_nobody_waits() -> None:
    clock = Clock()
    turnstiles = Turnstiles(2, clock=clock)
    async with turnstiles.place("a"):  # quick, so there may be two
        pass
    async with AsyncExitStack() as inside:
        await inside.enter_async_context(turnstiles.place("a"))
        await inside.enter_async_context(turnstiles.place("a"))
        clock.now = 1.5
        with pytest.raises(Snooze) as snooze:
            await inside.enter_async_context(turnstiles.place("a"))
        assert (snooze.value.code, snooze.value.seconds) == ("RATE_LIMITED", 1.5)
        await inside.enter_async_context(turnstiles.place("b"))
    async with turnstiles.place("a"):
        pass


async def test_whoever_gives_up_takes_no_place() -> None:
    turnstiles = Turnstiles(1, clock=Clock())
    entered = asyncio.Event()

    async def wait() -> None:
        async with turnstiles.place("a"):
            entered.set()

    async with turnstiles.place("a"):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
    async with turnstiles.place("a"):
        assert not entered.is_set()


async def test_patience_ends_when_quick_ones_turn_out_to_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpc_worker.egress.concurrency._PATIENCE", 0.01)
    turnstiles = Turnstiles(1, clock=Clock())
    async with turnstiles.place("a"):
        with pytest.raises(Snooze):
            async with turnstiles.place("a"):
                raise AssertionError("there was no place")


async def room(turnstiles: Turnstiles, target: str) -> int:
    """How many get in at once, one of those who wait for nobody."""
    async with AsyncExitStack() as inside:
        for number in range(10):
            try:
                await inside.enter_async_context(turnstiles.place(target))
            except Snooze:
                return number
    return 10


async def test_a_stranger_has_one_call_until_it_was_quick_and_again_after_a_slow_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bpc_worker.egress.concurrency._PATIENCE", 0.01)
    monkeypatch.setattr("bpc_worker.egress.concurrency._LONGEST_WAIT", 0.01)
    clock = Clock()
    turnstiles = Turnstiles(4, clock=clock)

    assert [await room(turnstiles, "a"), await room(turnstiles, "a")] == [1, 4]
    async with turnstiles.place("a"):
        clock.now += 30
    assert [await room(turnstiles, "a"), await room(turnstiles, "a")] == [1, 4]


async def test_only_so_many_are_remembered() -> None:
    turnstiles = Turnstiles(4, clock=Clock())
    for number in range(1500):
        async with turnstiles.place(str(number)):
            pass

    assert len(turnstiles._quick) == 1000
    assert "1499" in turnstiles._quick


def crowd(turnstiles: Turnstiles, answer: asyncio.Event) -> list["asyncio.Task[None]"]:
    async def call() -> None:
        async with turnstiles.place("a"):
            await answer.wait()

    return [asyncio.create_task(call()) for _ in range(10)]


async def test_a_crowd_before_a_stranger_waits_for_its_first_answer() -> None:
    turnstiles, answer = Turnstiles(4, clock=Clock()), asyncio.Event()
    calls = crowd(turnstiles, answer)
    await asyncio.sleep(0)
    assert len(turnstiles._by_target["a"].inside) == 1
    answer.set()

    assert await asyncio.gather(*calls) == [None] * 10


async def test_of_a_crowd_before_one_that_does_not_answer_most_are_sent_away_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bpc_worker.egress.concurrency._UNKNOWN_WAIT_SECONDS", 0.01)
    turnstiles, answer = Turnstiles(4, clock=Clock()), asyncio.Event()
    calls = crowd(turnstiles, answer)
    sent_away = {*calls[3:]}
    await asyncio.wait(sent_away)
    answer.set()
    ends = await asyncio.gather(*calls, return_exceptions=True)

    assert [isinstance(end, Snooze) for end in ends] == [False] * 3 + [True] * 7


async def test_a_crowd_does_not_wait_for_a_call_that_hangs() -> None:
    clock, answer = Clock(), asyncio.Event()
    answer.set()
    turnstiles = Turnstiles(4, clock=clock)
    async with turnstiles.place("a"):
        clock.now = 0.5
        calls = crowd(turnstiles, answer)
        await asyncio.sleep(0)
        assert [call.done() for call in calls] == [False] * 2 + [True] * 8
    ends = await asyncio.gather(*calls, return_exceptions=True)

    assert [isinstance(end, Snooze) for end in ends] == [False] * 2 + [True] * 8


async def test_whoever_is_cancelled_while_being_let_in_leaves_the_place_to_the_next() -> None:
    turnstiles = Turnstiles(1, clock=Clock())
    async with AsyncExitStack() as first:
        await first.enter_async_context(turnstiles.place("a"))
        answer = asyncio.Event()
        answer.set()
        calls = crowd(turnstiles, answer)[:2]
        await asyncio.sleep(0)
        await first.aclose()
        calls[0].cancel()  # its turn has come, and it does not know yet
        await asyncio.wait(calls)

    assert (calls[0].cancelled(), calls[1].exception()) == (True, None)


async def test_whoever_would_have_to_wait_for_long_is_sent_away_at_once() -> None:
    clock, answer = Clock(), asyncio.Event()
    turnstiles = Turnstiles(2, clock=clock)
    async with turnstiles.place("a"):
        clock.now += 0.5  # that is what a call takes here
    calls = crowd(turnstiles, answer)
    await asyncio.sleep(0)

    # Two are inside, two are next, and two will be in a second.
    assert [call.done() for call in calls] == [False] * 6 + [True] * 4
    answer.set()
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(end, Snooze) for end in ends] == [False] * 6 + [True] * 4


async def test_a_crowd_that_got_its_answer_waits_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpc_worker.egress.concurrency._UNKNOWN_WAIT_SECONDS", 0.05)
    turnstiles, first, rest = Turnstiles(2, clock=Clock()), asyncio.Event(), asyncio.Event()

    async def call(answer: asyncio.Event) -> None:
        async with turnstiles.place("a"):
            await answer.wait()

    calls = [asyncio.create_task(call(first))] + [asyncio.create_task(call(rest)) for _ in range(9)]
    await asyncio.sleep(0)
    first.set()
    await calls[0]
    done, _ = await asyncio.wait(calls[1:], timeout=0.1)  # longer than anybody is curious
    assert not done
    rest.set()

    assert await asyncio.gather(*calls) == [None] * 10
