"""Tell how the queue stands, every now and then: any number of workers may, one of them counts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from bpc_worker.jobs.store import Overdue, QueueSamples, Running, SampleRules, Waiting, XminHolder
from bpc_worker.observability import log

_log = log.get("sampler")


class SamplerMetrics(Protocol):
    """None: nobody knows, which is another thing than none."""

    def waiting(self, kinds: Sequence[Waiting] | None) -> None: ...

    def running(self, kinds: Sequence[Running] | None) -> None: ...

    def overdue(self, jobs: Sequence[Overdue] | None) -> None: ...

    def xmin_holders(self, holders: Mapping[str, XminHolder] | None) -> None: ...

    def disabled_endpoints(self, count: int | None) -> None: ...


@contextmanager
def _or_unknown(tell: Callable[[None], None]) -> Iterator[None]:
    """What was known before is old: where a count fails, it is not told again."""
    try:
        yield
    except Exception:
        tell(None)
        raise


class Sampler:
    def __init__(self, samples: QueueSamples, metrics: SamplerMetrics, rules: SampleRules) -> None:
        self._samples = samples
        self._metrics = metrics
        self._rules = rules
        self._deep = False
        self._unhandled: dict[tuple[str, str], bool] = {}  # queue and type: whether it was said

    async def count_waiting(self) -> None:
        with _or_unknown(self._metrics.waiting):
            # A little less than the pause: whoever counted last time may do so again.
            kinds = await self._samples.waiting(every_seconds=0.8 * self._rules.interval_seconds)
            self._metrics.waiting(kinds)
        self._warn(sum(kind.queued for kind in kinds))
        self._warn_of_unhandled(kinds)

    async def look_at_running(self) -> None:
        with _or_unknown(self._metrics.running):
            self._metrics.running(await self._samples.running())

    async def look_for_xmin(self) -> None:
        with _or_unknown(self._metrics.xmin_holders):
            self._metrics.xmin_holders(await self._samples.xmin_holders())

    async def look_for_disabled_endpoints(self) -> None:
        with _or_unknown(self._metrics.disabled_endpoints):
            self._metrics.disabled_endpoints(await self._samples.disabled_endpoints())

    async def note_overdue(self) -> None:
        """One event per claim that takes too long."""
        rules = self._rules
        with _or_unknown(self._metrics.overdue):
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
