"""Chains of events by the million: hashed by hand as docs/formats.md says, copied in without a trigger."""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg

from tests.support.database import Database

_BEGAN = datetime(2027, 3, 1, tzinfo=UTC)
_SALT = "5a" * 16
_EVENTS = (
    "COPY events (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_type, occurred_at,"
    " actor_id, payload_text, payload_hash, prev_event_hash, event_hash) FROM STDIN"
)
_HEADS = (
    "COPY event_heads (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_hash, occurred_at)"
    " FROM STDIN"
)


def add_events(db: Database, tenant_id: str, *, chains: int, length: int, first_chain: int = 1) -> None:
    """So many new chains of passports, each so long."""
    heads: list[tuple[object, ...]] = []
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")  # the heads come below, all at once
        with connection.transaction(), connection.cursor() as cursor:
            with cursor.copy(_EVENTS) as copy:
                for number in range(first_chain, first_chain + chains):
                    for row in _chain(tenant_id, str(UUID(int=number)), length):
                        copy.write_row(row)
                    heads.append((tenant_id, "passport", str(UUID(int=number)), length, row[-1], row[5]))
            _copy_heads(cursor, heads)
        connection.execute("ANALYZE events")
        connection.execute("ANALYZE event_heads")


def _copy_heads(cursor: psycopg.Cursor[dict[str, object]], heads: list[tuple[object, ...]]) -> None:
    with cursor.copy(_HEADS) as copy:
        for head in heads:
            copy.write_row(head)


def _chain(tenant_id: str, chain: str, length: int) -> Iterator[tuple[object, ...]]:
    prev: bytes | None = None
    for version in range(1, length + 1):
        payload = json.dumps(
            {"number": version, "salt": _SALT, "text": "ä"}, ensure_ascii=False, separators=(",", ":")
        )
        payload_hash = hashlib.sha256(payload.encode()).digest()
        moment = _BEGAN + timedelta(milliseconds=version)
        event = {
            "actor_id": "job:test",
            "aggregate_id": chain,
            "aggregate_type": "passport",
            "aggregate_version": version,
            "event_type": "PASSPORT_EXPORTED",
            "occurred_at": f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z",
            "payload_hash": payload_hash.hex(),
            "prev_event_hash": None if prev is None else prev.hex(),
            "tenant_id": tenant_id,
        }
        digest = hashlib.sha256(json.dumps(event, separators=(",", ":")).encode()).digest()
        yield (
            tenant_id, "passport", chain, version, "PASSPORT_EXPORTED", moment, "job:test",
            payload, payload_hash, prev, digest,
        )  # fmt: skip
        prev = digest
