"""What PostgreSQL knows about schedules: the time, their last ticks, and whose jobs they make."""

from datetime import UTC, datetime

import msgspec

from bpc_worker.jobs.model import TenantId
from bpc_worker.jobs.store import Ticks
from bpc_worker.postgres.arrays import array
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import all_of, as_uuid


class _Row(msgspec.Struct, frozen=True):
    at: datetime
    name: str | None


class ScheduleBook:
    def __init__(self, link: Link, *, call_timeout: float, now: datetime | None = None) -> None:
        self._link = link
        self._timeout = call_timeout
        self.now = now  # None: the database's clock; tests move their own

    async def read(self, names: list[str]) -> Ticks:
        rows = all_of(await self._run("schedules/read", {"now": self.now, "names": array(names)}), _Row)
        [now] = [row.at for row in rows if row.name is None]
        ticks = {row.name: row.at.astimezone(UTC) for row in rows if row.name is not None}
        return Ticks(now.astimezone(UTC), ticks)

    async def take_turn(self, name: str, tick: datetime, *, seconds: float) -> bool:
        params = {"name": name, "tick": tick, "seconds": seconds, "now": self.now}
        return bool(await self._run("schedules/take_turn", params))

    async def remember(self, name: str, tick: datetime) -> None:
        await self._run("schedules/remember", {"now": self.now, "name": name, "tick": tick})

    async def tenants(self, wanted: str | None) -> list[TenantId]:
        """The one of that id or name; all of them when none is named."""
        rows = await self._run("schedules/tenants", {"wanted": wanted})
        found = [TenantId(as_uuid(row["tenant_id"])) for row in rows]
        return found if wanted is None else found[:1]

    async def _run(self, name: str, params: dict[str, object]) -> list[dict[str, object]]:
        return await self._link.run(query(name), params, timeout=self._timeout)
