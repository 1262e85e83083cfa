"""Tables of others with our lease columns: what dead workers left there is brought back, too."""

import re
from datetime import datetime

import msgspec
from psycopg import sql

from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Code, Permanent, SchemaMismatch
from bpc_worker.jobs.store import Left
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import composed, query
from bpc_worker.rows import all_of

_PAGE = 100
_NEEDED = (
    "status", "attempts", "max_attempts",
    "lease_owner", "lease_expires_at", "last_heartbeat_at", "scheduled_at",
)  # fmt: skip
# What else a table may have, and what it becomes: the token shuts out the old holder.
_CLEARED = {
    "lease_token": "NULL",
    "fail_code": "'LEASE_EXPIRED'",
    "fail_reason": "'lease expired'",
    "finished_at": "CASE WHEN expired.verdict = 'QUEUED' THEN NULL ELSE clock.now END",
}


class _Column(msgspec.Struct, frozen=True):
    name: str
    type: str


class FurtherTable:
    """One of them. Its name is one that PostgreSQL knows as a table with these columns."""

    def __init__(
        self, link: Link, name: str, *, backoff: Backoff, call_timeout: float, now: datetime | None = None
    ) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name) or name == "jobs":
            raise ValueError(f"{name!r} is no plain name of a further table")
        self.name = name
        self._link = link
        self._backoff = backoff
        self._timeout = call_timeout
        self._statement: sql.Composed | None = None
        self.now = now  # None: the database's clock; tests move their own

    async def reap(self, *, ended_for: float = 0.0) -> list[Left]:
        """One page. Permanent: it is no such table, or this login may not change it."""
        if self._statement is None:
            self._statement = self._compose(await self._columns())
        [pulse] = await self._link.run(query("schema/pulse"), timeout=self._timeout)
        params = {
            "now": self.now,
            "asked_at": self.now or pulse["now"],
            "within_seconds": self._timeout,
            "ended_for": ended_for,
            "page": _PAGE,
            "backoff_base": self._backoff.base,
            "backoff_max": self._backoff.cap,
            "table_name": self.name,
        }
        try:
            rows = await self._link.run(self._statement, params, timeout=self._timeout)
        except SchemaMismatch as error:  # of their table, not of ours: claiming goes on
            self._statement = None
            raise Permanent(Code.CONFIG_MISSING, f"reaper.tables: {self.name}: {error.message}") from error
        return all_of(rows, Left)

    async def _columns(self) -> dict[str, str]:
        rows = await self._link.run(query("tables/columns"), {"name": self.name}, timeout=self._timeout)
        return {column.name: column.type for column in all_of(rows, _Column)}

    def _compose(self, columns: dict[str, str]) -> sql.Composed:
        lacks = [name for name in _NEEDED if name not in columns]
        if lacks:
            what = f"lacks {', '.join(lacks)}" if columns else "is no table in the schema public"
            raise Permanent(Code.CONFIG_MISSING, f"reaper.tables: {self.name} {what}; `bpc-worker doctor`")
        more = sql.Composed(
            sql.SQL(", {} = " + becomes).format(sql.Identifier(name))  # type: ignore[arg-type]  # of the table above
            for name, becomes in _CLEARED.items()
            if name in columns
        )
        has_id = columns.get("job_id") == "uuid"
        return sql.SQL(composed("reap_table")).format(
            table=sql.Identifier("public", self.name),
            more=more,
            job_id=sql.SQL("job.job_id" if has_id else "NULL::uuid"),
        )
