"""Look again and again until a fact is there, or patience is over."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def poll(
    look: Callable[[], Awaitable[T]], *, until: Callable[[T], bool], seconds: float, every: float = 0.2
) -> T:
    """The first find of which `until` holds; after `seconds` the last one, whatever it is."""
    clock = asyncio.get_running_loop().time
    ends_at = clock() + seconds
    while True:
        found = await look()
        if until(found) or clock() >= ends_at:
            return found
        await asyncio.sleep(min(every, max(0.0, ends_at - clock())))
