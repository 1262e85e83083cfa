"""One gate for all connections of a process: how many are made a second, and who has to wait.

What a duty opens first is free, and so is what it has closed in good order. What has to be replaced is
replaced at two a second, some at once after a while without any. While nobody knows whether the server is
there, one tries and the others wait.
"""

import asyncio
import threading
import time
from bisect import insort
from collections.abc import Callable
from enum import IntEnum
from itertools import count
from typing import Final, NamedTuple

MOST_UNANSWERED: Final = 2
_PER_SECOND = 2.0
_AT_ONCE = 8.0  # so that leases do not end while one connection after the other is replaced
_AFTER_A_FAILURE = 1.0  # second
_LOOK_AGAIN = 0.02

_numbers = count(1)


class Rank(IntEnum):
    """Who is let in first: leases must not end for want of a connection, and then jobs are to start."""

    LEASES = 0
    CLAIMS = 1
    OTHERS = 2


Backend = int | str  # by the number of its process, or behind a pooler by the name that its transaction has


class Allowance:
    """A duty's connections: `size` of them at most, and one more while the server owes it an answer.

    A statement that we gave up may be carried out all the same: a commit that waits for its standby heeds
    neither a limit nor the end of its client. So no connection is made while two of them are unanswered.
    """

    def __init__(self, *, size: int = 1, rank: Rank = Rank.OTHERS) -> None:
        self.rank = rank
        self.size = size
        self.unopened = size  # connections that need not wait for their turn
        self.unanswered: set[Backend] = set()

    @property
    def is_stuck(self) -> bool:
        return len(self.unanswered) >= MOST_UNANSWERED


class _Ticket(NamedTuple):
    rank: Rank
    number: int


class Gate:
    """For both threads of a worker."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._line: list[_Ticket] = []
        self._tokens = _AT_ONCE
        self._counted_at = clock()
        self._shut_until = self._counted_at
        self._is_there = False  # the server, by the last that was heard
        self._asker: Allowance | None = None  # of those that are stuck, the one that asks whether it still is

    async def turn(self, allowance: Allowance) -> None:
        """Until a connection may be made; `made`, `failed` or `left` must follow."""
        ticket = _Ticket(allowance.rank, next(_numbers))
        with self._lock:
            insort(self._line, ticket)
        try:
            while (pause := self._pause(ticket, allowance)) > 0:  # noqa: ASYNC110 - the other thread has a say
                await asyncio.sleep(pause)
        finally:
            with self._lock:
                self._line.remove(ticket)

    def _pause(self, ticket: _Ticket, allowance: Allowance) -> float:
        with self._lock:
            now = self._clock()
            self._tokens = min(_AT_ONCE, self._tokens + (now - self._counted_at) * _PER_SECOND)
            self._counted_at = now
            if self._line[0] is not ticket or (allowance.is_stuck and self._asker is not None):
                return _LOOK_AGAIN
            if now < self._shut_until:
                return min(_LOOK_AGAIN, self._shut_until - now)
            if not allowance.unopened and self._tokens < 1:
                return (1 - self._tokens) / _PER_SECOND
            self._let_in(allowance, now)
            return 0.0

    def _let_in(self, allowance: Allowance, now: float) -> None:
        if allowance.unopened:
            allowance.unopened -= 1
        else:
            self._tokens -= 1
        if not self._is_there:
            self._shut_until = now + 1 / _PER_SECOND
        if allowance.is_stuck:
            self._asker = allowance

    def made(self, allowance: Allowance) -> None:
        """The server is there: those that wait need not wait for that any more."""
        with self._lock:
            self._is_there, self._shut_until = True, self._clock()
            self._has_asked(allowance)

    def failed(self, allowance: Allowance) -> None:
        with self._lock:
            self._is_there, self._shut_until = False, self._clock() + _AFTER_A_FAILURE
            self._has_asked(allowance)
            _give_back(allowance)

    def left(self, allowance: Allowance) -> None:
        """Whoever was let in has gone before he knew."""
        with self._lock:
            self._has_asked(allowance)
            _give_back(allowance)

    def lost(self) -> None:
        """A connection that was there is not any more; perhaps nobody is."""
        with self._lock:
            self._is_there = False

    def closed(self, allowance: Allowance) -> None:
        """In good order."""
        with self._lock:
            _give_back(allowance)

    def _has_asked(self, allowance: Allowance) -> None:
        if self._asker is allowance:
            self._asker = None


def _give_back(allowance: Allowance) -> None:
    allowance.unopened = min(allowance.size, allowance.unopened + 1)


GATE: Final = Gate()  # of this process
