"""Who begins a claim: every fourth the next tenant, every eighth the oldest job; and who is one too many."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bpc_worker.jobs.model import TenantId
from bpc_worker.jobs.store import Caps
from bpc_worker.memory.heaps import rank
from bpc_worker.memory.rows import Row

_RING_EVERY = 4
_OLDEST_EVERY = 8


@dataclass
class Turns:
    """How many claims there were, and whose turn it was last."""

    claims: int = 0
    ring_at: TenantId | None = None

    def next(self, due: Iterable[Row]) -> Row | None:
        """Who begins this claim although others come before it."""
        self.claims += 1
        if self.claims % _RING_EVERY == 0:
            return self._next_of_ring(list(due))
        if self.claims % _OLDEST_EVERY == 1:
            return min(due, key=lambda row: (row.scheduled_at, row.sequence), default=None)
        return None

    def _next_of_ring(self, due: Sequence[Row]) -> Row | None:
        tenants = sorted({row.tenant_id for row in due})
        if not tenants:
            return None
        later = (tenant for tenant in tenants if self.ring_at is not None and tenant > self.ring_at)
        self.ring_at = next(later, tenants[0])
        return min((row for row in due if row.tenant_id == self.ring_at), key=rank)


class SharedCaps:
    """How many a claim may still take of the types of each cap."""

    def __init__(self, caps: Caps) -> None:
        self._left = dict(caps)
        self._pot = {job_type: types for types in caps for job_type in types}
        self.empty = frozenset(job_type for job_type, types in self._pot.items() if caps[types] <= 0)

    def take(self, row: Row) -> bool:
        """Whether there was room for it."""
        pot = self._pot.get(row.type)
        if pot is None:
            return True
        self._left[pot] -= 1
        return self._left[pot] >= 0
