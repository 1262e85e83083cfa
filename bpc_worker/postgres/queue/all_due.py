"""When to try to take all that is due at once, and who begins then. No IO."""

from collections.abc import Iterable
from uuid import UUID

from bpc_worker.jobs.model import Claim
from bpc_worker.postgres.queue.probes import Turn

FEW = 100  # jobs that are queued, by whomever and for whenever; so many are read in no time
# Seconds, for a try: where a transaction keeps them alive, it reads everybody's finished jobs too.
LONG = 0.005
_LONGEST_PAUSE = 64


class Tries:
    """A try saves time where little is queued, and costs a trip where much is.

    After every one in a row that did not pay twice as many occasions are passed over: where much is queued
    for long, it comes to one try in 65 claims.
    """

    def __init__(self) -> None:
        self._pause = 0
        self._left = 0

    def next(self) -> bool:
        """Whether to try this time."""
        if self._left == 0:
            return True
        self._left -= 1
        return False

    def tell(self, *, paid: bool) -> None:
        self._pause = 0 if paid else min(max(1, 2 * self._pause), _LONGEST_PAUSE)
        self._left = self._pause


def in_turn(claims: Iterable[Claim], turn: Turn | None, ring_at: UUID) -> list[Claim]:
    """In the order of claim.sql: the one whose turn it is, then by priority and time."""
    ranked = sorted(claims, key=lambda claim: (claim.priority, claim.scheduled_at, claim.job_id))
    if turn is None or len(ranked) <= 1:
        return ranked
    if turn == "oldest":
        first = min(ranked, key=lambda claim: (claim.scheduled_at, claim.job_id))
    else:  # the next tenant after the last, round and round
        first = min(ranked, key=lambda claim: (claim.tenant_id <= ring_at, claim.tenant_id))
    return [first, *(claim for claim in ranked if claim is not first)]
