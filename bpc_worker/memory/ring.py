"""Whose turn it is in the ring of tenants; and who is one too many."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from bpc_worker.jobs.model import TenantId
from bpc_worker.jobs.store import Caps
from bpc_worker.memory.rows import Row


class Ring:
    """A visit gives a tenant as many jobs as its weight says, then it is the next one's turn."""

    def __init__(self, weights: Mapping[TenantId, int], start: UUID) -> None:
        self._weights = weights  # of all tenants that are known
        self._at = start
        self._unserved = 0  # jobs that the last visit had left

    def next(self, due: Sequence[Row], share: int) -> list[Row]:
        """Up to `share` of them, which are in order."""
        waiting = {tenant: [row for row in due if row.tenant_id == tenant] for tenant in self._weights}
        if len(waiting) < 2:  # noqa: PLR2004 - alone, a tenant has all the turns there are
            return []
        taken: list[Row] = []
        while len(taken) < share and any(waiting.values()):
            if self._unserved <= 0 or self._at not in waiting:
                self._at = min((each for each in waiting if each > self._at), default=min(waiting))
                self._unserved = self._weights[TenantId(self._at)]
            visit = waiting[TenantId(self._at)][: min(self._unserved, share - len(taken))]
            del waiting[TenantId(self._at)][: len(visit)]
            taken += visit
            self._unserved = self._unserved - len(visit) if len(taken) == share else 0
        return taken


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
