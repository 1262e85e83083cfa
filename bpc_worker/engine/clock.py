"""The engine's clock: seconds that also pass while the machine is suspended, because leases end meanwhile."""

import time
from collections.abc import Callable

Clock = Callable[[], float]


def seconds_since_boot() -> float:
    return time.clock_gettime(_CLOCK)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # the former is Linux's alone
