"""Outages of the database as far as leases are concerned that may have ended in them."""

from collections import deque
from typing import NamedTuple

_APART = 1.0  # second; what follows sooner is the same outage
EVER = 10 * 365 * 86_400.0  # seconds


class _Outage(NamedTuple):
    began: float  # the last answer before it
    ended: float


class Outages:
    """After an outage, whoever held a lease that ended meanwhile has one lease to settle his job.

    That concerns no lease that had ended before, nor, once that time is over, any other: a line that breaks
    every minute puts a reap off, and does not stop it.
    """

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._owed: deque[_Outage] = deque()  # in their order, those whose holders still have time

    def add(self, *, began: float, ended: float) -> None:
        if self._owed and began - self._owed[-1].ended < _APART:
            began = self._owed.pop().began
        self._owed.append(_Outage(began, ended))

    def first_began(self, now: float) -> float:
        """Leases that ended before this moment are owed nothing; the present where no outage matters."""
        while self._owed and now - self._owed[0].ended >= self._lease_seconds:
            self._owed.popleft()
        return self._owed[0].began if self._owed else now
