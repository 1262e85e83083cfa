"""At most so many calls to one target at a time, so that one slow receiver does not hold every slot."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bpc_worker.jobs.errors import Code, Snooze

_PATIENCE = 1.0  # seconds: longer than a quick call takes, shorter than anybody notices


class _Turnstile:
    def __init__(self, most: int) -> None:
        self.turns = asyncio.Semaphore(most)
        self.inside: dict[object, float] = {}  # since when
        self.users = 0

    def is_slow(self, now: float) -> bool:
        return bool(self.inside) and now - min(self.inside.values()) > _PATIENCE


class Turnstiles:
    """Of every target one, for as long as somebody is there; used from the handlers' loop alone."""

    def __init__(self, most: int, *, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._by_target: dict[str, _Turnstile] = {}

    @asynccontextmanager
    async def place(self, target: str) -> AsyncIterator[None]:
        """Waits its turn while the calls inside are quick; Snooze when they are not: a slot is worth more."""
        turnstile = self._by_target.setdefault(target, _Turnstile(self._most))
        turnstile.users += 1
        try:
            await self._enter(turnstile)
            call = object()
            turnstile.inside[call] = self._clock()
            try:
                yield
            finally:
                del turnstile.inside[call]
                turnstile.turns.release()
        finally:
            turnstile.users -= 1
            if not turnstile.users:
                del self._by_target[target]

    async def _enter(self, turnstile: _Turnstile) -> None:
        if not turnstile.turns.locked():
            await turnstile.turns.acquire()
            return
        if not turnstile.is_slow(self._clock()):
            try:
                async with asyncio.timeout(_PATIENCE):
                    await turnstile.turns.acquire()
            except TimeoutError:
                pass
            else:
                return
        message = f"{self._most} deliveries to this endpoint are under way and take their time"
        raise Snooze(_PATIENCE, Code.RATE_LIMITED, message)
