"""Tell how the queue stands, every now and then: any number of workers may, one of them counts."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.store import Overdue, QueueSamples, Running, SampleRules, Waiting
from bpc_worker.observability import log

_log = log.get("sampler")


class SamplerMetrics(Protocol):
    def waiting(self, kinds: Sequence[Waiting]) -> None: ...

    def running(self, kinds: Sequence[Running]) -> None: ...

    def overdue(self, jobs: Sequence[Overdue]) -> None: ...

    def oldest_xmin(self, seconds: float) -> None: ...


class Sampler:
    def __init__(
        self,
        samples: QueueSamples,
        metrics: SamplerMetrics,
        rules: SampleRules,
        *,
        on_database: Callable[[JobError | None], None],
        spread: Callable[[float, float], float],
    ) -> None:
        self._samples = samples
        self._metrics = metrics
        self._rules = rules
        self._on_database = on_database
        self._spread = spread
        self._deep = False
        self._unhandled: dict[tuple[str, str], bool] = {}  # queue and type: whether it was said

    async def run(self) -> None:
        while True:
            try:
                await self.sample()
            except JobError as error:
                self._on_database(error)
                _log.warning("sample_failed", error_code=error.code, error_message=error.message)
            await asyncio.sleep(self._spread(self._rules.interval_seconds, 0.1))

    async def sample(self) -> None:
        # A little less than the pause: whoever counted last time may do so again.
        kinds = await self._samples.waiting(every_seconds=0.8 * self._rules.interval_seconds)
        self._metrics.waiting(kinds)
        self._warn(sum(kind.queued for kind in kinds))
        self._warn_of_unhandled(kinds)
        self._metrics.running(await self._samples.running())
        self._metrics.oldest_xmin(await self._samples.oldest_xmin_seconds())

    async def note_overdue(self) -> None:
        """A chore of the reaper's: one event per claim that takes too long."""
        rules = self._rules
        late = await self._samples.overdue(rules.sla_factors, others=rules.sla_factor_of_others)
        self._metrics.overdue(late)
        for job in late:
            if job.new:
                _log.warning(
                    "job_overdue", job_id=str(job.job_id), job_type=job.type, queue=job.queue,
                    worker_id=job.lease_owner, duration_ms=round(job.running_seconds * 1000),
                )  # fmt: skip

    def _warn(self, depth: int) -> None:
        """Once when it becomes too deep, and once when that is over."""
        deep = 0 < self._rules.warn_depth <= depth
        if deep and not self._deep:
            _log.warning("queue_deep", count=depth)
        elif self._deep and not deep:
            _log.info("queue_depth_normal", count=depth)
        self._deep = deep

    def _warn_of_unhandled(self, kinds: Sequence[Waiting]) -> None:
        """At the second look: at the first, a worker that has just started may not have announced itself."""
        seen = {(kind.queue, kind.type): kind.queued for kind in kinds if not kind.handled}
        for (queue, job_type), count in seen.items():
            if self._unhandled.get((queue, job_type)) is False:
                _log.warning("jobs_unhandled", queue=queue, job_type=job_type, count=count)
        self._unhandled = {place: place in self._unhandled for place in seen}
