"""The rate limits of job types, as a claim needs them: tokens for what is due, and back what was not used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from bpc_worker.jobs.store import Look, Tokens
from bpc_worker.postgres.arrays import array
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import all_of, one


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeLimit:
    per_second: float
    burst: float


class _Taken(msgspec.Struct, frozen=True):
    type: str
    taken: int
    waiting: int
    wait_seconds: float


class _Due(msgspec.Struct, frozen=True):
    due: bool
    next_due_in: float | None


class TypeLimits:
    """`types` are all that this worker handles, limited or not; `suspects`: of these only suspects."""

    def __init__(
        self,
        link: Link,
        limits: Mapping[str, TypeLimit],
        *,
        types: Sequence[str],
        queues: Sequence[str],
        call_timeout: float,
        suspects: bool = False,
        now: datetime | None = None,
    ) -> None:
        self._link = link
        self._limits = limits
        self._types, self._queues = array(types), array(queues)
        self._suspects = suspects
        self._timeout = call_timeout
        self.now = now  # None: the database's clock; tests move their own

    async def empty_look(self) -> Look | None:
        params = {"now": self.now, "types": self._types, "queues": self._queues, "suspects": self._suspects}
        found = one(await self._link.run(query("limits/due"), params, timeout=self._timeout), _Due, "queue")
        return None if found.due else Look(next_due_in=found.next_due_in)

    async def take(self, wanted: Mapping[str, int]) -> dict[str, Tokens]:
        limits = [self._limits[job_type] for job_type in wanted]
        params = {
            "now": self.now,
            "types": array(wanted),
            "wanted": array(wanted.values()),
            "per_second": array(limit.per_second for limit in limits),
            "burst": array(limit.burst for limit in limits),
            "queues": self._queues,
            "suspects": self._suspects,
        }
        rows = await self._link.run(query("limits/take_for_due"), params, timeout=self._timeout)
        return {
            row.type: Tokens(row.taken, row.wait_seconds if row.waiting > row.taken else None)
            for row in all_of(rows, _Taken)
        }

    async def give_back(self, unused: Mapping[str, int]) -> None:
        params = {"types": array(unused), "unused": array(unused.values())}
        await self._link.run(query("limits/give_back"), params, timeout=self._timeout)

    def close(self) -> None:
        self._link.drop()
