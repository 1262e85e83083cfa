"""Append events to the audit trail, inside the transaction of what they tell about."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from bpc_worker.core.audit.event_hash import Event, event_hash
from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.handler_api import JobInfo, Tx
from bpc_worker.ids import salt
from bpc_worker.rows import all_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Something that happened to an aggregate; the payload names what it rests on, never content.

    Events leave the house: a hash in them has a salt in what it hashes, or is of rules or a public key.
    """

    event_type: str
    aggregate_type: str
    aggregate_id: UUID
    payload: Mapping[str, object]


class _End(msgspec.Struct, frozen=True):
    now: datetime
    aggregate_version: int | None
    event_hash: bytes | None
    battery: dict[str, str] | None = None  # of a passport: serial, unique identifier, product


def of_job(job: JobInfo) -> str:
    """The actor's name of what a job does."""
    return f"job:{job.job_id}"


async def record(tx: Tx, *happened: Happened, tenant_id: UUID, actor_id: str) -> None:
    """In order of aggregate, so that two transactions never wait for each other.

    The database takes `actor_id` as the login's own name, or from a worker as that of a job.
    """
    for each in sorted(happened, key=lambda it: (it.aggregate_type, it.aggregate_id)):
        await _append(tx, each, tenant_id, actor_id)


async def tell(tx: Tx, job: JobInfo, *happened: Happened) -> None:
    """What a job did."""
    await record(tx, *happened, tenant_id=job.tenant_id, actor_id=of_job(job))


async def _append(tx: Tx, happened: Happened, tenant_id: UUID, actor_id: str) -> None:
    aggregate = {"aggregate_type": happened.aggregate_type, "aggregate_id": happened.aggregate_id}
    [end] = all_of(await tx.query("events/lock_head", aggregate), _End)
    payload = canonical_json.encode({**(end.battery or {}), **happened.payload, "salt": salt().hex()})
    event = Event(
        tenant_id=tenant_id,
        aggregate_type=happened.aggregate_type,
        aggregate_id=happened.aggregate_id,
        aggregate_version=(end.aggregate_version or 0) + 1,
        event_type=happened.event_type,
        occurred_at=end.now.astimezone(UTC),
        actor_id=actor_id,
        payload_hash=sha256(payload),
    )
    await tx.query(
        "events/append",
        aggregate
        | {
            "tenant_id": tenant_id,
            "aggregate_version": event.aggregate_version,
            "event_type": event.event_type,
            "occurred_at": event.occurred_at,
            "actor_id": actor_id,
            "payload": payload.decode(),
            "payload_hash": event.payload_hash,
            "prev_event_hash": end.event_hash,
            "event_hash": event_hash(event, end.event_hash),
        },
    )
