"""One budget of a process for the large things that its jobs hold: payloads and blobs, in bytes."""

import asyncio
from collections import deque
from contextlib import suppress
from threading import Lock


class _Turn:
    """Somebody who wants bytes; `ready` is there only where he has to wait for them."""

    __slots__ = ("holding", "ready", "size")

    def __init__(self, size: int, holding: int) -> None:
        self.size = size
        self.holding = holding
        self.ready: asyncio.Future[None] | None = None

    def call(self) -> None:
        """From any thread."""
        if self.ready is not None:
            with suppress(RuntimeError):  # that loop is closed: the process is leaving
                self.ready.get_loop().call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self.ready is not None and not self.ready.done():  # else it was cancelled meanwhile
            self.ready.set_result(None)


class Held:
    """Bytes that somebody holds until he says otherwise."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: "HeldBytes", size: int) -> None:
        self._budget: HeldBytes | None = budget
        self.size = size

    def release(self) -> None:
        """A second time is nothing."""
        budget, self._budget = self._budget, None
        if budget is not None:
            budget._give_back(self.size)  # noqa: SLF001 - its other half


class HeldBytes:
    """First come, first served, from the control loop and the handlers' loop alike: any thread may call.

    Whoever waits is let in where it fits, or where nobody is left who could let go of something: all that is
    held belongs to those who wait themselves. So one that wants more than there is in all goes alone, and
    jobs that hold a little and want more never wait for one another for ever.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()  # for a moment only, never across an await
        self._turns: deque[_Turn] = deque()
        self._used = 0
        self._held_by_waiting = 0

    @property
    def used(self) -> int:
        return self._used

    @property
    def waiting(self) -> int:
        return len(self._turns)

    async def acquire(self, size: int, *, holding: int = 0) -> Held:
        """Wait for that many bytes; `holding` is what the same job has already, and keeps meanwhile."""
        turn = _Turn(size, holding)
        with self._lock:
            self._turns.append(turn)
            self._held_by_waiting += holding
            self._admit()
            if turn in self._turns:
                turn.ready = asyncio.get_running_loop().create_future()
        if turn.ready is not None:
            await self._wait(turn, turn.ready)
        return Held(self, size)

    async def _wait(self, turn: _Turn, ready: "asyncio.Future[None]") -> None:
        try:
            await ready
        except asyncio.CancelledError:
            with self._lock:
                if turn in self._turns:
                    self._turns.remove(turn)
                    self._held_by_waiting -= turn.holding
                else:  # it was let in, and does not know it yet
                    self._used -= turn.size
                self._admit()
            raise

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._used -= size
            self._admit()

    def _admit(self) -> None:
        while self._turns and self._may_enter(self._turns[0].size):
            turn = self._turns.popleft()
            self._held_by_waiting -= turn.holding
            self._used += turn.size
            turn.call()

    def _may_enter(self, size: int) -> bool:
        return self._used + size <= self._limit or self._used <= self._held_by_waiting
