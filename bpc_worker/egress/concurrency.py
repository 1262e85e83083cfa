"""At most so many calls to one target at a time, so that a slow receiver does not hold every slot.

Whoever is unknown, or was slow the last time, has one call at a time: one that hangs costs one slot.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bpc_worker.jobs.errors import Code, Snooze

_PATIENCE = 1.0  # seconds: longer than a quick call takes, shorter than anybody notices
_LONGEST_WAIT = 1.5  # of those whose turn was to come within that
_QUICK = 3.0
_MOST_REMEMBERED = 1000
_MAX_WAITING_FOR_UNKNOWN = 3  # inside and waiting: a backlog for one that hangs must not fill the slots …
_UNKNOWN_WAIT_SECONDS = (
    0.3  # … for longer than this, in which most receivers have answered for the first time
)


class _Turnstile:
    def __init__(self) -> None:
        self.inside: dict[asyncio.Future[None], float] = {}  # since when
        self.waiting: deque[asyncio.Future[None]] = deque()
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
        self._quick: dict[str, float] = {}  # whose last call was: what one takes; the latest at the end

    @asynccontextmanager
    async def place(self, target: str) -> AsyncIterator[None]:
        """Waits if its turn comes soon; Snooze if it does not: a slot is worth more."""
        turnstile = self._by_target.setdefault(target, _Turnstile())
        turnstile.users += 1
        call: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        turnstile.waiting.append(call)
        try:
            self._admit(turnstile, target)
            if not call.done():
                await self._wait(turnstile, target, call)
            began = turnstile.inside[call]
            try:
                yield
            finally:
                self._remember(target, took=self._clock() - began)
        finally:
            if turnstile.inside.pop(call, None) is None:
                turnstile.waiting.remove(call)
            self._admit(turnstile, target)
            turnstile.users -= 1
            if not turnstile.users:
                del self._by_target[target]

    def _admit(self, turnstile: _Turnstile, target: str) -> None:
        """Whoever came first, as far as there is room."""
        most = self._most if target in self._quick else 1
        while turnstile.waiting and len(turnstile.inside) < most:
            call = turnstile.waiting.popleft()
            turnstile.inside[call] = self._clock()
            call.set_result(None)

    async def _wait(self, turnstile: _Turnstile, target: str, call: "asyncio.Future[None]") -> None:
        waited = 0.0
        while (patience := self._patience(turnstile, target, call)) > waited:
            await asyncio.wait({call}, timeout=patience - waited)
            if call.done():
                return
            waited = patience
        message = f"{len(turnstile.inside)} deliveries to this endpoint are under way and take their time"
        # The longer it has taken, the longer nobody needs to look: a second, two, four …
        raise Snooze(max(_PATIENCE, turnstile.longest(self._clock())), Code.RATE_LIMITED, message)

    def _patience(self, turnstile: _Turnstile, target: str, call: "asyncio.Future[None]") -> float:
        """For how many seconds in all it is worth waiting, by what is known now."""
        longest, usual = turnstile.longest(self._clock()), self._quick.get(target)
        if usual is None:
            patience = _UNKNOWN_WAIT_SECONDS if turnstile.users > _MAX_WAITING_FOR_UNKNOWN else _PATIENCE
            return patience if longest <= patience else 0.0
        turns = 1 + turnstile.waiting.index(call) // self._most
        return _LONGEST_WAIT if max(longest, turns * usual) <= _PATIENCE else 0.0

    def _remember(self, target: str, *, took: float) -> None:
        before = self._quick.pop(target, took)
        if took < _QUICK:
            self._quick[target] = (3 * before + took) / 4  # a single one says little
            if len(self._quick) > _MOST_REMEMBERED:
                del self._quick[next(iter(self._quick))]
