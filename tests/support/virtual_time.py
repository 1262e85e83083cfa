"""An event loop whose time passes when everybody waits: an hour of waiting takes no time at all.

What would go to a thread runs in place, so that nothing is under way that the loop does not know of. Where
nobody will ever go on, the test fails instead of hanging.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import datetime, timedelta
from typing import TypeVar, TypeVarTuple

from bpc_worker.testing import NOON

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_MOST_STEPS = 10_000


class DeadlockError(AssertionError):
    """Everybody waits, and nobody for a certain time."""


class _Jumping(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)  # a signal that the test has sent to itself
        if not ready and timeout is None:
            raise DeadlockError
        if not ready and timeout is not None:
            self.passed += max(0.0, timeout)
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.passed

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        del executor
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever awaits it gets it
            done.set_exception(error)
        return done

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none."""


class VirtualClock:
    """Of the running loop: seconds as the engine counts them, and `now` for the store in memory."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._asleep = 0.0

    def __call__(self) -> float:
        return 1000 + self._loop.time() + self._asleep

    @property
    def now(self) -> datetime:
        return NOON + timedelta(seconds=self() - 1000)

    def suspend(self, seconds: float) -> None:
        """The machine sleeps: its clock goes on, and no timer does."""
        self._asleep += seconds


async def steps(count: int = 20) -> None:
    """Let everybody go on who can, without any time passing."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(fact: Callable[[], bool]) -> None:
    """Let time pass until it is true."""
    for _ in range(_MOST_STEPS):
        if fact():
            return
        await asyncio.sleep(0.01)
    raise DeadlockError
