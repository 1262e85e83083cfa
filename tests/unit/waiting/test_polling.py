"""Looks follow each other until one is enough, or the time is over."""

from collections.abc import Awaitable, Callable
from itertools import count

from bpc_worker.waiting.polling import poll


def looks() -> Callable[[], Awaitable[int]]:
    number = count(1)

    async def look() -> int:
        return next(number)

    return look


async def test_the_first_find_that_is_enough_ends_it() -> None:
    assert await poll(looks(), until=lambda found: found == 3, seconds=60, every=0.0) == 3


async def test_after_its_time_the_last_find_comes_back() -> None:
    assert await poll(looks(), until=lambda _: False, seconds=0) == 1


async def test_the_last_look_comes_when_the_time_is_over_and_not_a_pause_later() -> None:
    assert await poll(looks(), until=lambda _: False, seconds=0.01, every=3600) == 2
