"""How much time may be spent on looking for places."""

import math
import time

LONG = 0.025  # seconds
_PER_JOB = 0.0005  # and so much more for each job that it took
_PAUSE = 9  # times as long as the last one took
_IN_A_ROW = 3  # one alone may be the machine's fault


class Scans:
    """While somebody keeps an old snapshot, to look for places means to read past all that ended since.

    Then it is done aside, in at most a tenth of the time, and claims go where jobs were found before.
    """

    def __init__(self) -> None:
        self.long_ones = 0  # in a row
        self._again_at = -math.inf
        self.are_slow = False

    @property
    def due_in(self) -> float:
        return max(0.0, self._again_at - time.monotonic())

    def took(self, seconds: float, *, claimed: int = 0) -> None:
        self.long_ones = self.long_ones + 1 if seconds > LONG + claimed * _PER_JOB else 0
        self.are_slow = self.long_ones >= _IN_A_ROW
        self._again_at = time.monotonic() + _PAUSE * seconds
