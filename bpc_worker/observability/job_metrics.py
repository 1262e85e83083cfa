"""What every job counts, kept as plain numbers and told to Prometheus when it asks.

Its client library takes a lock for each count, a dozen for a job; here one thread counts and tells.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client import Histogram
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

_KIND = ("queue", "type")
_WAIT_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_DURATION_BOUNDS = tuple(bound for bound in Histogram.DEFAULT_BUCKETS if bound != float("inf"))
_MOST_KINDS = 2500  # whose names are known by heart

Labels = tuple[str, str]


class Seconds:
    """A histogram."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.sum += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """How many were not longer than each bound."""
        names = [*map(str, self._bounds), "+Inf"]
        so_far = 0
        found: list[tuple[str, float]] = []
        for name, count in zip(names, self._counts, strict=True):
            so_far += count
            found.append((name, float(so_far)))
        return found


class _OfOneKind:
    __slots__ = ("acquired", "completed", "duration", "wait")

    def __init__(self) -> None:
        self.acquired = 0
        self.completed: Counter[str] = Counter()
        self.wait = Seconds(_WAIT_BOUNDS)
        self.duration = Seconds(_DURATION_BOUNDS)


class JobMetrics(Collector):
    def __init__(self, labels: Callable[[str, str], Labels]) -> None:
        self._labels = labels
        self._found: dict[Labels, _OfOneKind] = {}
        self._by_heart: dict[Labels, _OfOneKind] = {}

    def acquired(self, queue: str, job_type: str, *, waited: float) -> None:
        kind = self._by_heart.get((queue, job_type)) or self._kind(queue, job_type)
        kind.acquired += 1
        kind.wait.observe(waited if waited > 0 else 0.0)

    def settled(self, queue: str, job_type: str, *, status: str, seconds: float) -> None:
        kind = self._by_heart.get((queue, job_type)) or self._kind(queue, job_type)
        kind.completed[status] += 1
        kind.duration.observe(seconds)

    def _kind(self, queue: str, job_type: str) -> _OfOneKind:
        kind = self._found.setdefault(self._labels(queue, job_type), _OfOneKind())
        if len(self._by_heart) < _MOST_KINDS:
            self._by_heart[queue, job_type] = kind
        return kind

    def collect(self) -> Iterator[Metric]:
        acquired = CounterMetricFamily("bpc_jobs_acquired", "Jobs claimed", labels=_KIND)
        completed = CounterMetricFamily("bpc_jobs_completed", "Attempts settled", labels=(*_KIND, "status"))
        wait = HistogramMetricFamily("bpc_job_wait_seconds", "Due to claimed", labels=_KIND)
        duration = HistogramMetricFamily("bpc_job_duration_seconds", "Claim to settled", labels=_KIND)
        for labels, kind in self._found.items():
            acquired.add_metric(labels, kind.acquired)
            wait.add_metric(labels, kind.wait.buckets(), kind.wait.sum)
            for status, count in kind.completed.items():  # one that never occurs has no sample
                completed.add_metric((*labels, status), count)
            if kind.completed:
                duration.add_metric(labels, kind.duration.buckets(), kind.duration.sum)
        yield from (acquired, completed, wait, duration)
