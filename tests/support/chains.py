"""Every chain of events in a database, checked with the core alone."""

from itertools import groupby

from bpc_worker.core.audit.event_hash import ChainedEvent, Event, Head, verify_chain
from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from tests.support.database import Database

_CHAIN = ("tenant_id", "aggregate_type", "aggregate_id")
_EVENT = (*_CHAIN, "aggregate_version", "event_type", "occurred_at", "actor_id", "payload_hash")


def check_chains(db: Database) -> int:
    """How many there are; the first that is broken is an AssertionError."""
    rows = db.run("SELECT * FROM events ORDER BY tenant_id, aggregate_type, aggregate_id, aggregate_version")
    heads = {tuple(row[name] for name in _CHAIN): row for row in db.run("SELECT * FROM event_heads")}
    for key, found in groupby(rows, key=lambda row: tuple(row[name] for name in _CHAIN)):
        head = heads.pop(key)
        events = [_chained(row) for row in found]
        broken = verify_chain(events, Head(head["aggregate_version"], head["event_hash"]))  # type: ignore[arg-type]
        assert broken is None, f"{key}: {broken}"
    assert heads == {}, "heads without a chain"
    return len({tuple(row[name] for name in _CHAIN) for row in rows})


def _chained(row: dict[str, object]) -> ChainedEvent:
    text = canonical_json.encode(row["payload"])
    assert (text.decode(), sha256(text)) == (row["payload_text"], row["payload_hash"])
    event = Event(**{name: row[name] for name in _EVENT})  # type: ignore[arg-type]
    return ChainedEvent(
        event=event,
        prev_event_hash=row["prev_event_hash"],  # type: ignore[arg-type]
        event_hash=row["event_hash"],  # type: ignore[arg-type]
    )
