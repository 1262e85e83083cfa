"""Bring back what dead workers left: every worker does, and any number may."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.engine.health import Health
from bpc_worker.engine.outage_log import warn
from bpc_worker.jobs.errors import JobError, Retryable, Unavailable
from bpc_worker.jobs.model import Status
from bpc_worker.jobs.store import JobStore, Reaped
from bpc_worker.observability import log
from bpc_worker.waiting.retries import Retries

_log = log.get("reaper")
_PASS_SECONDS = 0.2
_PAGE_PAUSE = 0.05
_GO_ON_SECONDS = 1.0  # after a pass that its clock has ended
_ACTIONS = {
    Status.QUEUED: "requeued",
    Status.DEAD_LETTER: "dead_lettered",
    Status.CANCELLED: "cancelled",
}


class ReaperMetrics(Protocol):
    def reaped(self, queue: str, job_type: str, *, action: str) -> None: ...

    def scanned(self, seconds: float) -> None: ...


class Reaper:
    def __init__(
        self,
        store: JobStore,
        health: Health,
        metrics: ReaperMetrics,
        *,
        interval_seconds: float,
        spread: Callable[[float, float], float],
        clock: Clock = seconds_since_boot,
    ) -> None:
        self._store = store
        self._health = health
        self._metrics = metrics
        self._interval = interval_seconds
        self._spread = spread
        self._clock = clock
        self._time_was_up = False  # and there may be more

    async def run(self) -> None:
        """Through outages too: what had ended before is owed nothing, and to ask costs one statement."""
        while True:
            await self._try_pass()
            rest = _GO_ON_SECONDS if self._time_was_up else self._interval
            await asyncio.sleep(self._spread(rest, 0.25))

    async def _try_pass(self) -> None:
        started = self._clock()
        try:
            await self.sweep()
        except JobError as error:
            self._health.note_database(error)
            warn(_log, "reaper_failed", error)
        else:
            self._metrics.scanned(self._clock() - started)

    async def sweep(self) -> int:
        """One pass: pages until nothing is left or the time is up; how many jobs were moved."""
        moved, self._time_was_up = 0, False
        ends_at = self._clock() + _PASS_SECONDS
        while page := await self._page():
            moved += len(page)
            for job in page:
                self._report(job)
            if self._clock() >= ends_at:
                self._time_was_up = True
                break
            await asyncio.sleep(self._spread(_PAGE_PAUSE, 0.5))
        return moved

    async def _page(self) -> list[Reaped]:
        page = await _RETRIES.run(self._store.reap, ended_for=self._health.spared_seconds)
        self._health.note_database(None)
        return page

    def _report(self, job: Reaped) -> None:
        action = _ACTIONS.get(job.status, "other")
        self._metrics.reaped(job.queue, job.type, action=action)
        _log.warning(
            "lease_reaped", job_id=str(job.job_id), job_type=job.type, queue=job.queue,
            attempt=job.attempt, status=job.status.value, worker_id=job.lease_owner,
        )  # fmt: skip


def _transient(error: BaseException) -> bool:
    """An outage is not waited for here: after one, the holders come first."""
    return isinstance(error, Retryable) and not isinstance(error, Unavailable)


_RETRIES = Retries(when=_transient, first_pause=0.1, longest_pause=1.0, tries=3)
