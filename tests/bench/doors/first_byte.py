"""From a request to the first byte of its answer, over a connection that is there."""

import http.client
import time
from collections.abc import Iterable, Mapping
from statistics import median

from tests.support.serving import Serving


def milliseconds(
    doors: Serving, door: str, addresses: Iterable[str], headers: Mapping[str, str]
) -> list[float]:
    """Of each, in order; every one must be a 200."""
    connection = http.client.HTTPConnection("127.0.0.1", doors.door_port(door), timeout=60)
    connection.connect()
    found = []
    for address in addresses:
        began_at = time.perf_counter()
        connection.request("GET", address, headers=dict(headers))
        answer = connection.getresponse()
        answer.read(1)
        found.append((time.perf_counter() - began_at) * 1000)
        answer.read()
        assert answer.status == 200, f"{answer.status} {address}"
    connection.close()
    return found


def summary(found: list[float]) -> str:
    ordered = sorted(found)
    p95 = ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]
    return f"p50 {median(ordered):7.1f} ms   p95 {p95:7.1f} ms   worst {ordered[-1]:7.1f} ms"
