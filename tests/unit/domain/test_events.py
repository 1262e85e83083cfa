"""Events in the audit trail: chained by hash, in an order that two transactions share."""

import json
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from bpc_worker.core.audit.event_hash import Event, event_hash
from bpc_worker.core.base.hashing import sha256
from bpc_worker.domain import events
from bpc_worker.domain.events import Happened, record
from bpc_worker.testing import FakeTx, an_id

TENANT = an_id(1)
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
SALT = bytes(range(16))
PAYLOAD = f'{{"a":"x","b":1,"salt":"{SALT.hex()}"}}'


@pytest.fixture(autouse=True)
def a_known_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "salt", lambda: SALT)


def happened(aggregate_id: UUID, aggregate_type: str = "document") -> Happened:
    return Happened(
        event_type="DOCUMENT_VALIDATED",
        aggregate_type=aggregate_type,
        aggregate_id=aggregate_id,
        payload={"b": 1, "a": "x"},
    )


def ends(*, version: int | None = None, digest: bytes | None = None, now: datetime = NOON) -> FakeTx:
    end = {"now": now, "aggregate_version": version, "event_hash": digest}
    return FakeTx({"events/lock_head": [end]})


def as_event(version: int) -> Event:
    return Event(
        tenant_id=TENANT,
        aggregate_type="document",
        aggregate_id=an_id(2),
        aggregate_version=version,
        event_type="DOCUMENT_VALIDATED",
        occurred_at=NOON,
        actor_id="job:1",
        payload_hash=sha256(PAYLOAD.encode()),
    )


async def test_the_first_event_of_a_chain_follows_none() -> None:
    tx = ends()
    await record(tx, happened(an_id(2)), tenant_id=TENANT, actor_id="job:1")
    written = tx.params("events/append")

    assert written["aggregate_version"] == 1
    assert written["prev_event_hash"] is None
    assert written["payload"] == PAYLOAD
    assert written["event_hash"] == event_hash(as_event(1), None)
    assert (written["tenant_id"], written["actor_id"]) == (TENANT, "job:1")


async def test_a_later_event_names_the_hash_before_it() -> None:
    before = sha256(b"before")
    tx = ends(version=4, digest=before)
    await record(tx, happened(an_id(2)), tenant_id=TENANT, actor_id="job:1")
    written = tx.params("events/append")

    assert written["aggregate_version"] == 5
    assert written["prev_event_hash"] == before
    assert written["event_hash"] == event_hash(as_event(5), before)


async def test_the_time_is_the_databases_and_in_utc() -> None:
    tx = ends(now=NOON.astimezone(timezone(timedelta(hours=2))))
    await record(tx, happened(an_id(2)), tenant_id=TENANT, actor_id="job:1")
    written = tx.params("events/append")

    assert str(written["occurred_at"]) == "2026-11-16 12:00:00+00:00"
    assert written["event_hash"] == event_hash(as_event(1), None)


async def test_an_event_of_a_passport_says_which_battery_it_is_of() -> None:
    battery = {"serial": "417", "unique_identifier": "https://id.example/p/1", "product": "EV78"}
    end = {"now": NOON, "aggregate_version": None, "event_hash": None, "battery": battery}
    tx = FakeTx({"events/lock_head": [end]})
    await record(tx, happened(an_id(2), "passport"), tenant_id=TENANT, actor_id="job:1")

    assert json.loads(str(tx.params("events/append")["payload"])) == battery | json.loads(PAYLOAD)


async def test_chains_are_taken_in_order_whoever_names_them() -> None:
    tx = ends()
    told = [happened(an_id(9), "rules"), happened(an_id(3)), happened(an_id(2)), happened(an_id(1), "rules")]
    await record(tx, *told, tenant_id=TENANT, actor_id="job:1")
    locked = [
        (params["aggregate_type"], params["aggregate_id"])
        for name, params in tx.asked
        if name == "events/lock_head"
    ]

    assert locked == [
        ("document", an_id(2)), ("document", an_id(3)), ("rules", an_id(1)), ("rules", an_id(9)),
    ]  # fmt: skip


async def test_nothing_happened_is_nothing_written() -> None:
    tx = ends()
    await record(tx, tenant_id=TENANT, actor_id="job:1")

    assert tx.asked == []
