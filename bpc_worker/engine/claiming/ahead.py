"""Jobs that are claimed before there is a slot for them."""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from bpc_worker.engine.claiming.slots import Slots
from bpc_worker.engine.clock import Clock
from bpc_worker.jobs.model import Claim

_LONGEST_JOB = 0.05  # however slow the database is: who waits for slower ones, waits for long
_PATIENCE = 0.1


class Claimed(NamedTuple):
    claim: Claim
    sent_at: float  # when it was asked for


class ClaimsAhead:
    """While jobs are over sooner than a claim is answered, the next claim need not wait for their slots.

    Some jobs take longer than those before them: then those that came early wait here, and not for long.
    """

    def __init__(self, slots: Slots, clock: Clock) -> None:
        self._slots = slots
        self._clock = clock
        self._waiting: deque[Claimed] = deque()
        self._began_at = -math.inf

    def expected_free_slots(self, sent_at: float) -> int:
        """How many should be free when the next claim is answered, judged by the one that was sent then.

        To be asked when that one is answered, and before its jobs have taken slots.
        """
        now = self._clock()
        # Those that began last had the time of one claim, or a little more where it waited for them.
        in_time = now - self._began_at < min(2 * (now - sent_at), _LONGEST_JOB)
        return self._slots.count if in_time and self._slots.in_use == 0 else 0

    def start_now(self, new: Sequence[Claimed]) -> list[Claimed]:
        """Those of new claims that begin now; the others wait."""
        in_slots = [each for each in new if not self._slots.is_io_bound(each.claim.type)]
        if in_slots:
            self._began_at = self._clock()
        oversubscribed = self._slots.oversubscribed
        if oversubscribed <= 0:
            return list(new)
        late = in_slots[-oversubscribed:]
        self._waiting.extend(late)
        those = {id(each) for each in late}  # to compare them takes its time
        return [each for each in new if id(each) not in those]

    def start_waiting(self) -> list[Claimed]:
        """Those that need not wait any longer."""
        starting = []
        while self._waiting and self._slots.oversubscribed < len(self._waiting):
            starting.append(self._waiting.popleft())
        return starting

    def expire(self, *, at_once: bool = False) -> list[Claim]:
        """Those that have waited for too long: others may have a slot for them."""
        if not at_once and self._clock() - self._began_at < _PATIENCE:
            return []
        leaving = [each.claim for each in self._waiting]
        self._waiting.clear()
        for claim in leaving:
            self._slots.leave(claim.type)
        return leaving
