"""The snapshots of single batteries: what is told of each, sealed beside its model's facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from bpc_worker.core.passport.snapshot import (
    FactRef,
    SealedSnapshot,
    SnapshotError,
    open_snapshot,
    seal,
    seal_item,
)
from bpc_worker.domain import identity
from bpc_worker.domain.records import Fact, SnapshotBytes
from bpc_worker.handler_api import Code, Permanent, Reading, Tx
from bpc_worker.rows import all_of, as_uuid, maybe

_STATUS = "identity.status"
_HAS_PREDECESSOR = "condition.has_predecessor"


class _Known(msgspec.Struct, frozen=True):
    """What the tables say of a battery now."""

    passport_id: UUID
    identity: dict[str, object]
    operator: dict[str, object] | None
    status: str | None  # of the life that it has begun, if any
    predecessors: list[str]  # their unique identifiers

    def facts(self) -> list[Fact]:
        found = identity.copied({identity.IDENTITY: self.identity, "Operator": self.operator})
        if self.status is not None:
            found.append(identity.fact("Value", _STATUS, {"value": self.status}))
        if self.predecessors:
            found.append(identity.fact("Value", _HAS_PREDECESSOR, {"value": True}))
        found += [
            identity.fact("Predecessor", f"predecessor:{number}", {"unique_identifier": each})
            for number, each in enumerate(self.predecessors, 1)
        ]
        return found


class _OwnFact(msgspec.Struct, frozen=True):
    passport_id: UUID
    fact_type: str
    fact_key: str
    payload_hash: bytes


class _Newest(SnapshotBytes, frozen=True):
    passport_id: UUID


@dataclass(frozen=True, slots=True)
class Item:
    """A battery with all that is told of it, and its newest snapshot."""

    passport_id: UUID
    own: tuple[FactRef, ...]
    newest: SealedSnapshot | None

    def sealed(self, snapshot_id: UUID, salt: bytes, model: SealedSnapshot | None) -> SealedSnapshot:
        if model is None:
            return seal(snapshot_id, self.own, salt)
        return seal_item(snapshot_id, self.own, salt, model)

    def is_sealed(self, model: SealedSnapshot | None) -> bool:
        """Whether its newest snapshot says just this."""
        there = self.newest
        return there is not None and self.sealed(there.snapshot_id, there.salt, model) == there


@dataclass(frozen=True, slots=True)
class Items:
    """Batteries of one product."""

    items: Sequence[Item]
    model: SealedSnapshot | None
    copied: Sequence[Fact]  # those of their facts that come from tables


async def read_model(reading: Reading, tenant_id: UUID, battery_product_id: UUID) -> SealedSnapshot | None:
    """The product's newest."""
    params = {"tenant_id": tenant_id, "battery_product_id": battery_product_id}
    return _opened(maybe(await reading.query("models/newest", params), SnapshotBytes))


async def read_items(
    tx: Tx, tenant_id: UUID, battery_product_id: UUID, passport_ids: Sequence[UUID]
) -> Items:
    """As they are told of now, held until the transaction ends. NOT_FOUND for one of another product."""
    params = {
        "tenant_id": tenant_id,
        "battery_product_id": battery_product_id,
        "passport_ids": list(passport_ids),
    }
    await tx.query("items/hold", params)
    model = await read_model(tx, tenant_id, battery_product_id)
    about = [] if model is not None else await identity.facts_about_model(tx, tenant_id, battery_product_id)
    known = all_of(await tx.query("items/known", params), _Known)
    if len(known) != len(set(passport_ids)):
        raise Permanent(Code.NOT_FOUND, "no such passport of this product")
    copied = {each.passport_id: [*each.facts(), *about] for each in known}
    told = await _told(tx, params)
    newest = all_of(await tx.query("items/newest_snapshots", params), _Newest)
    opened = {each.passport_id: _opened(each) for each in newest}
    items = [
        Item(passport_id, _together(told.get(passport_id, {}), facts), opened.get(passport_id))
        for passport_id, facts in copied.items()
    ]
    return Items(
        items,
        model,
        [
            *{
                (each.fact_type, each.fact_key, each.canonical): each
                for facts in copied.values()
                for each in facts
            }.values()
        ],
    )


async def _told(tx: Tx, params: Mapping[str, object]) -> dict[UUID, dict[tuple[str, str], FactRef]]:
    """By documents, of each battery."""
    found: dict[UUID, dict[tuple[str, str], FactRef]] = {}
    for each in all_of(await tx.query("items/own_facts", params), _OwnFact):
        reference = FactRef(each.fact_type, each.fact_key, each.payload_hash)
        found.setdefault(each.passport_id, {})[each.fact_type, each.fact_key] = reference
    return found


def _together(told: Mapping[tuple[str, str], FactRef], copied: Sequence[Fact]) -> tuple[FactRef, ...]:
    """What the tables say of a life counts before what a document said earlier."""
    known = {(each.fact_type, each.fact_key): identity.reference(each) for each in copied}
    return tuple((dict(told) | known).values())


def _opened(row: SnapshotBytes | None) -> SealedSnapshot | None:
    if row is None:
        return None
    try:
        return open_snapshot(row.canonical or b"", row.snapshot_hash or b"")
    except SnapshotError as error:
        raise Permanent(Code.RECEIPT_MISMATCH, f"snapshot {row.snapshot_id}: {error}") from error


async def add_snapshots(
    tx: Tx, tenant_id: UUID, passport_ids: Sequence[UUID], model: SealedSnapshot | None
) -> dict[UUID, UUID]:
    """One for each battery, BUILDING and empty."""
    params = {
        "tenant_id": tenant_id,
        "passport_ids": list(passport_ids),
        "model_snapshot_id": None if model is None else model.snapshot_id,
    }
    rows = await tx.query("items/add_snapshots", params)
    return {as_uuid(row["passport_id"]): as_uuid(row["snapshot_id"]) for row in rows}


async def close_snapshots(tx: Tx, tenant_id: UUID, sealed: Sequence[SealedSnapshot]) -> None:
    """Their facts go in, and they are SEALED."""
    rows = [(each.snapshot_id, fact) for each in sealed for fact in each.facts]
    facts = {
        "tenant_id": tenant_id,
        "snapshot_ids": [snapshot_id for snapshot_id, _ in rows],
        "fact_types": [fact.fact_type for _, fact in rows],
        "fact_keys": [fact.fact_key for _, fact in rows],
        "payload_hashes": [fact.payload_hash for _, fact in rows],
    }
    await tx.query("items/fill_snapshots", facts)
    closed = {
        "tenant_id": tenant_id,
        "snapshot_ids": [each.snapshot_id for each in sealed],
        "canonicals": [each.canonical for each in sealed],
    }
    await tx.query("items/close_snapshots", closed)
