"""The chain of events of one aggregate as it is stored: whether it is whole, and what it tells."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.core.audit.checkpoint import ChainKey
from bpc_worker.core.audit.event_hash import (
    BrokenChain,
    ChainCheck,
    ChainedEvent,
    Event,
    Flaw,
    Head,
    event_id,
)
from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.handler_api import Reading
from bpc_worker.rows import all_of


class OfChain(msgspec.Struct, frozen=True):
    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int
    event_hash: bytes

    @property
    def key(self) -> ChainKey:
        return self.aggregate_type, self.aggregate_id


class EventRow(OfChain, frozen=True):
    """An event, as it is stored."""

    event_id: UUID
    event_type: str
    occurred_at: datetime | None
    actor_id: str
    payload: str
    payload_hash: bytes
    prev_event_hash: bytes | None


class _EventOfChain(EventRow, frozen=True):
    head_version: int | None  # None: the chain has lost its head
    head_hash: bytes | None


@dataclass(frozen=True, slots=True)
class StoredChain:
    tenant_id: UUID
    events: Sequence[_EventOfChain]

    def flaw(self) -> str | None:
        """What is wrong with it; one without events tells nothing, and that is not wrong."""
        check = ChainCheck()
        for row in self.events:
            if broken := flaw(check, row, self.tenant_id):
                return str(broken)
        if not self.events:
            return None
        last = self.events[-1]
        if last.head_version is None or last.head_hash is None:
            return "it has no head"
        broken = check.end(Head(last.head_version, last.head_hash))
        return None if broken is None else str(broken)

    def payloads(self, event_type: str) -> list[dict[str, object]]:
        """Of the events of this type, oldest first."""
        found = (json.loads(row.payload) for row in self.events if row.event_type == event_type)
        return [payload for payload in found if isinstance(payload, dict)]


async def read_chain(
    reading: Reading, tenant_id: UUID, aggregate_type: str, aggregate_id: UUID
) -> StoredChain:
    wanted = {"tenant_id": tenant_id, "aggregate_type": aggregate_type, "aggregate_id": aggregate_id}
    return StoredChain(tenant_id, all_of(await reading.query("events/chain", wanted), _EventOfChain))


def flaw(check: ChainCheck, row: EventRow, tenant_id: UUID) -> BrokenChain | None:
    """What is wrong with the next event of a chain."""
    version = row.aggregate_version
    if row.occurred_at is None:
        return BrokenChain(version, Flaw.ILL_FORMED, "a time from 1970 to 9998", "another")
    event = Event(
        tenant_id=tenant_id,
        aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id,
        aggregate_version=version,
        event_type=row.event_type,
        occurred_at=row.occurred_at,
        actor_id=row.actor_id,
        payload_hash=row.payload_hash,
    )
    chained = ChainedEvent(event=event, prev_event_hash=row.prev_event_hash, event_hash=row.event_hash)
    if broken := check.add(chained):
        return broken
    if (own_id := event_id(event, row.event_hash)) != row.event_id:
        return BrokenChain(version, Flaw.WRONG_ID, str(own_id), str(row.event_id))
    if (found := _payload_hash(row.payload)) != row.payload_hash.hex():
        return BrokenChain(version, Flaw.WRONG_PAYLOAD, row.payload_hash.hex(), found)
    return None


def _payload_hash(text: str) -> str:
    """In hex; of a payload that has no canonical form, why."""
    try:
        return sha256(canonical_json.encode(json.loads(text))).hex()
    except (ValueError, RecursionError) as error:
        return str(error)
