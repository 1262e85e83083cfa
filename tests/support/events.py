"""Events as `record` would append them, to be changed before they are."""

import asyncio
from collections.abc import Mapping
from typing import TypeAlias
from uuid import UUID

import psycopg

from bpc_worker.core.audit.event_hash import Event, event_hash
from bpc_worker.core.base.hashing import sha256
from bpc_worker.domain.events import Happened, record
from bpc_worker.postgres.sql_files import query
from bpc_worker.testing import FakeTx

Connection: TypeAlias = psycopg.Connection[dict[str, object]]
_EVENT = (
    "tenant_id", "aggregate_type", "aggregate_id", "aggregate_version", "event_type", "occurred_at",
    "actor_id", "payload_hash",
)  # fmt: skip


def next_event(
    connection: Connection, tenant_id: str, chain: UUID, actor_id: str, payload: Mapping[str, object]
) -> dict[str, object]:
    """The parameters of events/append for what comes next in a chain, whose end is held from now on."""
    aggregate = {"aggregate_type": "passport", "aggregate_id": chain}
    end = connection.execute(query("events/lock_head"), aggregate).fetchall()
    tx = FakeTx({"events/lock_head": end})
    happened = Happened(
        event_type="PASSPORT_SIGNED", aggregate_type="passport", aggregate_id=chain, payload=payload
    )
    asyncio.run(record(tx, happened, tenant_id=UUID(tenant_id), actor_id=actor_id))
    return dict(tx.params("events/append"))


def append(connection: Connection, event: Mapping[str, object]) -> None:
    connection.execute(query("events/append"), event)


def resealed(event: dict[str, object], **changes: object) -> dict[str, object]:
    """With some columns changed, and with the hash that it has then."""
    changed = event | changes
    if "payload" in changes:
        changed["payload_hash"] = sha256(str(changes["payload"]).encode())
    hashed = Event(**{name: changed[name] for name in _EVENT})  # type: ignore[arg-type]
    return changed | {"event_hash": event_hash(hashed, changed["prev_event_hash"])}  # type: ignore[arg-type]
