"""What a process with doors tells Prometheus. Labels are doors, routes and classes of statuses: bounded."""

from collections.abc import Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bpc_worker.observability.listener import Listening
from bpc_worker.web.layer.streams import Streams

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 1, 3, 10)


class WebMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        labels = ("door", "route", "status")
        self._requests = Counter("bpc_http_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "bpc_http_request_duration_seconds",
            "From the head of a request to its answer.",
            ("door", "route"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._open = Gauge("bpc_http_connections", "Open connections.", ("door",), registry=registry)
        self._streams = Gauge("bpc_http_streams", "Live pages that are open.", registry=registry)

    def answered(self, door: str, route: str, status: int, seconds: float) -> None:
        known = self._known.get((door, route, status // 100))
        if known is None:  # so many at most as routes have classes
            counted = self._requests.labels(door, route, f"{status // 100}xx")
            known = self._known[door, route, status // 100] = counted, self._seconds.labels(door, route)
        known[0].inc()
        known[1].observe(seconds)

    def watch(self, listening: Mapping[str, Listening], streams: Streams) -> None:
        """Who is to be asked for what is open."""
        for name, each in listening.items():
            self._open.labels(name).set_function(partial(_opened, each))
        self._streams.set_function(lambda: len(streams))

    def text(self) -> bytes:
        return generate_latest(self._registry)


def _opened(listening: Listening) -> float:
    return listening.open
