"""The engine's clock: seconds that also pass while the machine is suspended, because leases end meanwhile."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

Clock = Callable[[], float]

# Since the machine was started; only Linux has a clock that goes on while it is suspended.
seconds_since_boot: Final[Clock] = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)
