"""What happened: the events of one chain, or the newest of a tenant."""

from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of


class ListedEvent(msgspec.Struct, frozen=True):
    event_id: UUID
    occurred_at: datetime
    event_type: str
    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int
    actor_id: str
    payload: object
    payload_hash: bytes
    prev_event_hash: bytes | None
    event_hash: bytes


async def list_events(pipeline: PipelineSession, aggregate_id: UUID | None, limit: int) -> list[ListedEvent]:
    """The newest, oldest first."""
    async with pipeline.reading() as tx:
        if aggregate_id is None:
            rows = await tx.query("events/newest", {"tenant_id": pipeline.tenant_id, "limit": limit})
        else:
            wanted = {"tenant_id": pipeline.tenant_id, "aggregate_id": aggregate_id, "limit": limit}
            rows = await tx.query("events/of_aggregate", wanted)
    return all_of(rows[::-1], ListedEvent)
