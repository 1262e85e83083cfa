"""What a page reads: of all tenants, or of the one that whoever asks may see."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from bpc_worker.rows import value
from bpc_worker.web.database.reading import Reading
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class View:
    reading: Reading
    tenant_id: UUID | None  # None: all of them
    now: datetime  # by the database

    async def rows(self, name: str, record: type[T], **params: object) -> list[T]:
        return await self.reading.rows(f"dashboard/{name}", record, **params)

    async def of_jobs(self, name: str, record: type[T], **params: object) -> list[T]:
        """Rows of jobs and events, which are another query where only a tenant's own may be seen."""
        own = "" if self.tenant_id is None else "own_"
        return await self.rows(f"{own}{name}", record, **params)


@asynccontextmanager
async def viewing(parts: Parts, request: Request) -> AsyncIterator[View]:
    """One unchanging view."""
    who = request.identity
    async with parts.database.reader(who) as reading:
        now = value(await reading.query("dashboard/clock", {}), datetime)
        yield View(reading, who.tenant_id, now)
