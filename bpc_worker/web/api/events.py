"""What happened, for those who cannot receive webhooks: a long list that only grows at its end."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Any
from uuid import UUID

import msgspec

from bpc_worker.jobs.model import TenantId
from bpc_worker.pipeline.audit.leaves import number_events
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.cursors import PageQuery, cursor
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

_LIST = "events"
_NUMBER_SECONDS = 1.0  # at most so often for a tenant, however many ask


class EventLine(msgspec.Struct, frozen=True, kw_only=True):
    """`payload` is the canonical JSON that `event_hash` rests on; it names things and has no content."""

    event_id: UUID
    occurred_at: datetime
    event_type: str
    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int
    actor_id: str
    event_hash: str
    payload: Any


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """`next` is there on the last page, too: ask with it again later."""

    items: list[EventLine]
    next: str | None


class _Row(msgspec.Struct, frozen=True):
    leaf_index: int
    event_id: UUID
    occurred_at: datetime
    event_type: str
    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int
    actor_id: str
    payload_text: str
    event_hash: bytes


@dataclass(frozen=True, slots=True)
class Events:
    """In the order of the audit trail's leaves: by their times one that commits late would be missed."""

    api: Api
    numbered_at: dict[TenantId, float]

    def routes(self) -> list[ApiRoute]:
        return [
            ApiRoute("GET", "/v1/events", self.listed, needs("read"), query=PageQuery, answers=EventPage,
                     says="What happened, in an order that never changes.", about="Events"),
        ]  # fmt: skip

    async def listed(self, request: Request) -> Answer:
        query = request.asked(PageQuery)
        after = query.behind(_LIST, int)
        behind = -1 if after is None else after
        found = await self.api.read(request, partial(_read, after=behind, limit=query.limit))
        if len(found) < query.limit and await self._number(request):
            found = await self.api.read(request, partial(_read, after=behind, limit=query.limit))
        last = found[-1].leaf_index if found else after
        word = None if last is None else cursor(_LIST, last)
        return Data({"items": [_line(each) for each in found], "next": word})

    async def _number(self, request: Request) -> bool:
        """Those that have no place yet get one, behind all others; whether somebody has just looked."""
        tenant = request.identity.tenant_id
        now = monotonic()
        if tenant is None or now - self.numbered_at.get(tenant, -_NUMBER_SECONDS) < _NUMBER_SECONDS:
            return False
        self.numbered_at[tenant] = now
        async with self.api.pipeline(request) as pipeline:
            await number_events(pipeline)
        return True


async def _read(pipeline: PipelineSession, *, after: int, limit: int) -> list[_Row]:
    async with pipeline.reading() as tx:
        params: dict[str, object] = {"tenant_id": pipeline.tenant_id, "after": after, "limit": limit}
        return all_of(await tx.query("api/events", params), _Row)


def _line(row: _Row) -> EventLine:
    return EventLine(
        event_id=row.event_id,
        occurred_at=row.occurred_at.astimezone(UTC),
        event_type=row.event_type,
        aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id,
        aggregate_version=row.aggregate_version,
        actor_id=row.actor_id,
        event_hash=row.event_hash.hex(),
        payload=msgspec.Raw(row.payload_text.encode()),
    )
