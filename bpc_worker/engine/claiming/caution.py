"""When claims fail: who asks for less, and for how long."""

import math

from bpc_worker.engine.clock import Clock

_FAILURES_TO_CARE = 2
_REMEMBERED = 60.0
_SHORTEST = 1.0


class Caution:
    """One row can make every claim fail that touches it. After two failures in a row the next claim asks for
    one job and as little of it as can be, until one is answered. Where that is followed by failures again,
    one job at a time remains the rule for a while, twice as long each time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.failures = 0  # in a row
        self._began_at = -math.inf
        self._lasts = 0.0

    @property
    def careful(self) -> bool:
        return self.failures >= _FAILURES_TO_CARE or self._clock() - self._began_at < self._lasts

    def failed(self) -> None:
        self.failures += 1
        if self.failures != _FAILURES_TO_CARE:
            return
        now = self._clock()
        again = now - self._began_at - self._lasts < _REMEMBERED
        self._lasts = min(_REMEMBERED, max(_SHORTEST, 2 * self._lasts)) if again else 0.0
        self._began_at = now

    def answered(self) -> None:
        self.failures = 0
