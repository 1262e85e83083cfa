"""A server whose clock jumps ahead, as a failover may make it: every lease seems to have ended."""

import time
from collections.abc import Callable
from datetime import datetime

_TOLERATED = 2.0  # seconds: an answer that took its time, a clock that is being corrected


class ServerClock:
    def __init__(self, lease_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._ahead: float | None = None  # of ours, when it was last asked
        self._jump = 0.0
        self._until = 0.0

    def jumped(self, now: datetime) -> float:
        """By how many seconds it went ahead within the last lease: leases from before look older by that."""
        ours = self._clock()
        if ours >= self._until:
            self._jump = 0.0
        ahead = now.timestamp() - ours
        if self._ahead is not None and ahead - self._ahead > _TOLERATED:
            self._jump += ahead - self._ahead
            self._until = ours + self._lease_seconds
        self._ahead = ahead
        return self._jump
