"""A stored chain of events: whole, or not, and what it tells."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from bpc_worker.core.audit.event_hash import Event, event_hash, event_id
from bpc_worker.core.base.hashing import sha256
from bpc_worker.domain.event_chain import StoredChain, read_chain
from bpc_worker.testing import A_TENANT, FakeTx, an_id

FIRST = Event(
    tenant_id=A_TENANT,
    aggregate_type="rules",
    aggregate_id=an_id(1),
    aggregate_version=1,
    event_type="RULES_VALIDATED",
    occurred_at=datetime(2028, 1, 1, tzinfo=UTC),
    actor_id="job:1",
    payload_hash=sha256(b"{}"),
)
SAID = b'{"dsl_sha256":"abc"}'
SECOND = replace(FIRST, aggregate_version=2, event_type="RULES_PUBLISHED", payload_hash=sha256(SAID))


def rows() -> list[dict[str, object]]:
    first = event_hash(FIRST, None)
    second = event_hash(SECOND, first)
    head = {"head_version": 2, "head_hash": second}
    return [
        _row(FIRST, None, first, b"{}") | head,
        _row(SECOND, first, second, SAID) | head,
    ]


def _row(event: Event, prev: bytes | None, own: bytes, payload: bytes) -> dict[str, object]:
    names = (
        "aggregate_type", "aggregate_id", "aggregate_version", "event_type", "occurred_at", "actor_id",
        "payload_hash",
    )  # fmt: skip
    said = {"payload": payload.decode(), "prev_event_hash": prev, "event_hash": own}
    return {name: getattr(event, name) for name in names} | said | {"event_id": event_id(event, own)}


async def chain(*stored: dict[str, object]) -> StoredChain:
    return await read_chain(FakeTx({"events/chain": stored}), A_TENANT, "rules", an_id(1))


async def test_a_whole_chain_has_no_flaw_and_tells_what_its_events_say() -> None:
    found = await chain(*rows())

    assert found.flaw() is None
    assert found.payloads("RULES_PUBLISHED") == [{"dsl_sha256": "abc"}]
    assert found.payloads("RULES_RETIRED") == []


async def test_a_chain_without_events_tells_nothing() -> None:
    found = await chain()

    assert (found.flaw(), found.payloads("RULES_PUBLISHED")) == (None, [])


@pytest.mark.parametrize(
    ("changed", "flaw"),
    [
        ({"actor_id": "user:other"}, "WRONG_HASH"),
        ({"payload": '{"dsl_sha256": "other"}'}, "WRONG_PAYLOAD"),
        ({"payload": "{"}, "WRONG_PAYLOAD"),
        ({"event_id": UUID(int=1)}, "WRONG_ID"),
        ({"occurred_at": None}, "ILL_FORMED"),
        ({"aggregate_version": 3}, "GAP"),
        ({"head_version": 3}, "LOST_TAIL"),
        ({"head_hash": bytes(32)}, "WRONG_HEAD"),
        ({"head_version": None, "head_hash": None}, "no head"),
    ],
)
async def test_a_changed_event_or_head_is_seen(changed: dict[str, object], flaw: str) -> None:
    first, second = rows()

    assert flaw in str((await chain(first, second | changed)).flaw())


async def test_a_payload_that_is_no_object_tells_nothing() -> None:
    first, second = rows()
    found = await chain(first, second | {"payload": "[]"})

    assert found.payloads("RULES_PUBLISHED") == []
