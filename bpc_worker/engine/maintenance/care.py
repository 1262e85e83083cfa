"""Upkeep never ends a worker: whatever it raises is logged, counted, and tried again later."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Protocol

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.engine.outage_log import warn
from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log

_log = log.get("upkeep")
_LONGEST_PAUSE = 300.0
_RESTART_SECONDS = 1.0

Work = Callable[[], Awaitable[None]]
Loop = Callable[[], Coroutine[object, object, None]]


class CareMetrics(Protocol):
    def upkeep_failed(self, task: str) -> None: ...


class Care:
    """Looks after what no job waits for. `task` is its name in the log and in the metrics."""

    def __init__(
        self,
        metrics: CareMetrics,
        *,
        spread: Callable[[float, float], float],
        clock: Clock = seconds_since_boot,
    ) -> None:
        self._metrics = metrics
        self._spread = spread
        self._clock = clock
        self._failures: Counter[str] = Counter()  # in a row

    async def attempt(self, task: str, work: Work) -> bool:
        """Whether it went well."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - whatever it is, jobs go on
            self._failed(task, error)
            return False
        del self._failures[task]
        return True

    def every(self, seconds: float, task: str, work: Work) -> Loop:
        """Do it again and again; less often while it fails."""

        async def run() -> None:
            while True:
                await self.attempt(task, work)
                await asyncio.sleep(self.pause(task, seconds))

        return run

    def endless(self, task: str, duty: Loop) -> Loop:
        """A duty that has a loop of its own, and is begun anew should it ever leave it."""

        async def run() -> None:
            while True:
                began_at = self._clock()
                await self.attempt(task, duty)
                if self._clock() - began_at > _LONGEST_PAUSE:
                    del self._failures[task]  # that was long ago
                await asyncio.sleep(self.pause(task, _RESTART_SECONDS))

        return run

    def pause(self, task: str, seconds: float) -> float:
        """Until the next attempt: so many seconds, longer and longer while it fails."""
        grown = seconds * 2 ** min(self._failures[task], 10)
        return self._spread(max(seconds, min(grown, _LONGEST_PAUSE)), 0.1)

    def _failed(self, task: str, error: Exception) -> None:
        self._failures[task] += 1
        self._metrics.upkeep_failed(task)
        if isinstance(error, JobError):
            warn(_log, "upkeep_failed", error, key=task, exc_info=error)
        else:
            _log.error("upkeep_failed", key=task, exc_info=error)
