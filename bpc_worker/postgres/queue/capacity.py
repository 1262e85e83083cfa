"""Whether the queue takes more: by what was counted last, and what this process has added since."""

import time
from collections import Counter
from datetime import datetime

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import TenantId
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import one

_FRESH_SECONDS = 1.0


class _Depth(msgspec.Struct, frozen=True):
    of_tenant: int
    in_all: int
    sampled_at: datetime


class Capacity:
    """`most` 0: it always does, and nobody is asked."""

    def __init__(self, link: Link, *, most: int, call_timeout: float) -> None:
        self._link = link
        self._most = most
        self._timeout = call_timeout
        self._read: dict[TenantId, tuple[float, _Depth]] = {}
        self._added: Counter[TenantId] = Counter()
        self._sampled_at: datetime | None = None

    async def check(self, tenant_id: TenantId, count: int) -> None:
        """QUEUE_FULL when `count` more are too many."""
        if not self._most:
            return
        depth = await self._depth(tenant_id)
        of_tenant = depth.of_tenant + self._added[tenant_id]
        in_all = depth.in_all + self._added.total()
        if in_all + count <= self._most:
            return
        raise Permanent(
            Code.QUEUE_FULL,
            f"the queue is full: {in_all} jobs wait, {of_tenant} of them of this tenant, and {count} more "
            f"would exceed jobs.max_queued = {self._most}; wait until some are done, or raise the limit",
            detail={"queued": in_all, "of_tenant": of_tenant, "max_queued": self._most},
        )

    def added(self, tenant_id: TenantId, count: int) -> None:
        if self._most:
            self._added[tenant_id] += count

    async def _depth(self, tenant_id: TenantId) -> _Depth:
        now = time.monotonic()
        read_at, depth = self._read.get(tenant_id, (0.0, None))
        if depth is not None and now - read_at < _FRESH_SECONDS:
            return depth
        rows = await self._link.run(query("jobs/depth"), {"tenant_id": tenant_id}, timeout=self._timeout)
        depth = one(rows, _Depth, "sample of the queue")
        if depth.sampled_at != self._sampled_at:  # counted anew: what was added is in it
            self._sampled_at = depth.sampled_at
            self._added.clear()
            self._read.clear()
        self._read[tenant_id] = (now, depth)
        return depth
