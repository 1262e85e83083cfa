"""What happened: the events of one chain, or the newest of a tenant."""

from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.pipeline.session import PipelineSession


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
    name = "events/newest" if aggregate_id is None else "events/of_aggregate"
    found = await pipeline.rows(name, ListedEvent, aggregate_id=aggregate_id, limit=limit)
    return found[::-1]
