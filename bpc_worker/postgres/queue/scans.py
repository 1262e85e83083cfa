"""How much time may be spent on looking for places."""

import math
import time

_QUICK = 0.005  # seconds; twenty times a second that is a tenth of the time
_PER_JOB = 0.0005  # and so much more for each job that it took
_PAUSE = 9  # times as long as the last one took


class Scans:
    """While somebody keeps an old snapshot, to look for places means to read past all that ended since.

    Then it is done aside, in at most a tenth of the time, and claims go where jobs were found before.
    """

    def __init__(self) -> None:
        self.are_slow = False
        self._again_at = -math.inf

    @property
    def due(self) -> bool:
        return time.monotonic() >= self._again_at

    def took(self, seconds: float, *, claimed: int = 0) -> None:
        self.are_slow = seconds > _QUICK + claimed * _PER_JOB
        self._again_at = time.monotonic() + _PAUSE * seconds
