"""At most so many calls to one target at a time, so that a slow receiver does not hold every slot.

Whoever is unknown, or was slow the last time, has one call at a time: one that hangs costs one slot.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bpc_worker.jobs.errors import Code, Snooze

_PATIENCE = 1.0  # seconds: longer than a quick call takes, shorter than anybody notices
_QUICK = 3.0
_MOST_REMEMBERED = 1000
_MOST_FOR_A_STRANGER = 3  # inside and waiting: a backlog for one that hangs must not fill the slots


class _Turnstile:
    def __init__(self) -> None:
        self.inside: dict[object, float] = {}  # since when
        self.left = asyncio.Condition()
        self.users = 0

    def longest(self, now: float) -> float:
        """How long the slowest call has been under way."""
        return now - min(self.inside.values(), default=now)


class Turnstiles:
    """Of every target one, for as long as somebody is there; used from the handlers' loop alone."""

    def __init__(self, most: int, *, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._by_target: dict[str, _Turnstile] = {}
        self._quick: dict[str, None] = {}  # whose last call was; the latest at the end

    @asynccontextmanager
    async def place(self, target: str) -> AsyncIterator[None]:
        """Waits its turn while the calls inside are quick; Snooze when they are not: a slot is worth more."""
        turnstile = self._by_target.setdefault(target, _Turnstile())
        turnstile.users += 1
        try:
            await self._wait_for_room(turnstile, target)
            call, began = object(), self._clock()
            turnstile.inside[call] = began
            try:
                yield
            finally:
                del turnstile.inside[call]
                self._remember(target, quick=self._clock() - began < _QUICK)
                async with turnstile.left:
                    turnstile.left.notify_all()
        finally:
            turnstile.users -= 1
            if not turnstile.users:
                del self._by_target[target]

    async def _wait_for_room(self, turnstile: _Turnstile, target: str) -> None:
        def has_room() -> bool:
            return len(turnstile.inside) < (self._most if target in self._quick else 1)

        if has_room():
            return
        crowded = target not in self._quick and turnstile.users > _MOST_FOR_A_STRANGER
        if not crowded and turnstile.longest(self._clock()) <= _PATIENCE:
            try:
                async with asyncio.timeout(_PATIENCE), turnstile.left:
                    await turnstile.left.wait_for(has_room)
            except TimeoutError:
                pass
            else:
                return
        message = f"{len(turnstile.inside)} deliveries to this endpoint are under way and take their time"
        # The longer it has taken, the longer nobody needs to look: a second, two, four …
        raise Snooze(max(_PATIENCE, turnstile.longest(self._clock())), Code.RATE_LIMITED, message)

    def _remember(self, target: str, *, quick: bool) -> None:
        self._quick.pop(target, None)
        if quick:
            self._quick[target] = None
            if len(self._quick) > _MOST_REMEMBERED:
                del self._quick[next(iter(self._quick))]
