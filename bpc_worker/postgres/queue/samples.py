"""What is seen of the queue from outside: how long it is, what runs for long, what is overdue."""

import time
from collections.abc import Mapping
from datetime import datetime

import msgspec

from bpc_worker.jobs.store import Overdue, Running, Waiting, XminHolder
from bpc_worker.postgres.arrays import array
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import all_of

_MOST = 20_000  # of one kind of a tenant: what lies beyond is not counted
_LONG_SECONDS = 0.1  # what takes no longer may be asked at any time
_SHARE = 100  # what does gets so small a part of the time


class _Holder(msgspec.Struct, frozen=True):
    kind: str
    xmin: str
    age: int
    seconds: float | None  # None: the server does not say, or not to us


class Samples:
    def __init__(
        self,
        link: Link,
        *,
        call_timeout: float,
        lease_seconds: float,
        max_queued: int = 0,
        now: datetime | None = None,
    ) -> None:
        self._link = link
        self._timeout = call_timeout
        self._lease_seconds = lease_seconds
        self._most = max(_MOST, max_queued + 1)
        self._running: list[Running] = []
        self._overdue: list[Overdue] = []
        self._not_before: dict[str, float] = {}
        self.now = now  # None: the database's clock; tests move their own
        self.clock = time.monotonic
        self._first_seen: dict[tuple[str, str], float] = {}  # kind and xmin

    async def waiting(self, *, every_seconds: float) -> list[Waiting]:
        params = {"every_seconds": every_seconds, "most": self._most}
        return all_of(await self._run("jobs/sample", params), Waiting)

    async def running(self) -> list[Running]:
        rows = await self._seldom("jobs/running", {})
        self._running = self._running if rows is None else all_of(rows, Running)
        return self._running

    async def overdue(self, factors: Mapping[str, float], *, others: float) -> list[Overdue]:
        params = {
            "types": array(factors),
            "factors": array(factors.values()),
            "factor_of_others": others,
        }
        rows = await self._seldom("jobs/overdue", params)
        if rows is None:
            return [msgspec.structs.replace(job, new=False) for job in self._overdue]
        self._overdue = all_of(rows, Overdue)
        return self._overdue

    async def xmin_holders(self) -> dict[str, XminHolder]:
        rows = all_of(await self._run("schema/xmin_holders", {}), _Holder)
        now, before = self.clock(), self._first_seen
        self._first_seen = {(row.kind, row.xmin): before.get((row.kind, row.xmin), now) for row in rows}
        found: dict[str, XminHolder] = {}
        for row in rows:
            known = found.get(row.kind, XminHolder(0.0, 0))
            seconds = now - self._first_seen[row.kind, row.xmin] if row.seconds is None else row.seconds
            found[row.kind] = XminHolder(max(known.seconds, seconds), max(known.transactions, row.age))
        return found

    async def disabled_endpoints(self) -> int:
        [row] = await self._run("webhooks/disabled", {})
        return msgspec.convert(row["disabled"], int)

    async def _seldom(self, name: str, params: Mapping[str, object]) -> list[dict[str, object]] | None:
        """None: the last answer took so long that it has to do for a while, as under a held snapshot."""
        began = time.monotonic()
        if began < self._not_before.get(name, began):
            return None
        try:
            return await self._run(name, {"lease_seconds": self._lease_seconds, **params})
        finally:
            took = time.monotonic() - began
            self._not_before[name] = began + (_SHARE * took if took > _LONG_SECONDS else 0.0)

    async def _run(self, name: str, params: Mapping[str, object]) -> list[dict[str, object]]:
        return await self._link.run(query(name), {"now": self.now, **params}, timeout=self._timeout)
