"""Remove finished jobs that nobody keeps any longer, with their events; dead letters and failures stay."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.store import Pruned
from bpc_worker.observability import log

_log = log.get("pruning")
_FEWEST, _MOST = 100, 5_000  # jobs of a page
_SHORT, _LONG = 0.25, 1.0  # seconds that a page takes


class Pages(Protocol):
    async def prune(self, page: int) -> Pruned | None: ...


class Pruner:
    """A full page is followed by the next as soon as the rest between them is over: pages follow the yield.

    How long that is, the store says, for all workers together. A page grows while it is quickly done, and
    becomes smaller where it is not, so that none holds its locks for long.
    """

    def __init__(
        self,
        pages: Pages,
        *,
        interval_seconds: float,
        spread: Callable[[float, float], float],
        clock: Clock = seconds_since_boot,
    ) -> None:
        self._pages = pages
        self._interval = interval_seconds
        self._spread = spread
        self._clock = clock
        self._page = 1_000

    async def run(self) -> None:
        while True:
            pause = await self._next()
            await asyncio.sleep(pause)

    async def _next(self) -> float:
        """One page; how long to wait for the next."""
        began = self._clock()
        try:
            done = await self._pages.prune(self._page)
        except JobError as error:  # what is old can wait
            self._page = max(_FEWEST, self._page // 2)
            _log.warning("prune_failed", error_code=error.code, error_message=error.message)
            return self._spread(self._interval, 0.25)
        if done is not None and done.removed_jobs:
            _log.info("jobs_pruned", count=done.removed_jobs)
        if done is None or done.at_the_end:
            return self._spread(self._interval, 0.25)
        self._adapt(self._clock() - began)
        return done.rest_seconds

    def _adapt(self, took: float) -> None:
        if took < _SHORT:
            self._page = min(_MOST, self._page * 2)
        elif took > _LONG:
            self._page = max(_FEWEST, self._page // 2)
