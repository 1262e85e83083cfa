"""BPC-SNAPSHOT-2: the facts that a passport is made from, in one order, under one hash."""

from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from itertools import pairwise
from uuid import UUID

from bpc_worker.core.base.canonical_json import JsonValue, decode, encode
from bpc_worker.core.base.forms import (
    FormError,
    below,
    each,
    members,
    parse_constant,
    parse_hash,
    parse_list,
    parse_salt,
    parse_text,
    parse_uuid,
    raised_as,
    read,
    salt_text,
    texts_of,
    uuid_text,
)
from bpc_worker.core.base.hashing import sha256

SNAPSHOT_VERSION = "BPC-SNAPSHOT-2"

_SEAL = object()


class SnapshotError(FormError):
    """Facts that cannot be sealed, or bytes that are not a sealed snapshot."""


@dataclass(frozen=True, slots=True)
class FactRef:
    """A fact by name and by the hash of its content."""

    fact_type: str
    fact_key: str
    payload_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSnapshot:
    """Proof that its facts were put in order and hashed; only this module makes one."""

    snapshot_id: UUID
    salt: bytes = field(repr=False)
    facts: tuple[FactRef, ...] = field(repr=False)
    canonical: bytes = field(repr=False)
    snapshot_hash: bytes
    made_by: InitVar[object]

    def __post_init__(self, made_by: object) -> None:
        if made_by is not _SEAL:
            raise TypeError("a SealedSnapshot comes from seal() or open_snapshot()")


def seal(snapshot_id: UUID, facts: Iterable[FactRef], salt: bytes) -> SealedSnapshot:
    """The snapshot over these facts, in whatever order they come.

    The salt keeps whoever has the hash from guessing a fact of which he knows the rest.
    """
    # Python compares code points, which is the order of UTF-8 bytes.
    ordered = tuple(sorted(facts, key=lambda fact: (fact.fact_type, fact.fact_key, fact.payload_hash)))
    for fact, following in pairwise(ordered):
        _refuse_twins(fact, following)
    with raised_as(SnapshotError):
        canonical = encode(_document(snapshot_id, ordered, salt))
    return SealedSnapshot(
        snapshot_id=snapshot_id,
        salt=salt,
        facts=ordered,
        canonical=canonical,
        snapshot_hash=sha256(canonical),
        made_by=_SEAL,
    )


def open_snapshot(data: bytes, expected_hash: bytes) -> SealedSnapshot:
    """The snapshot whose canonical bytes these are, after checking every part of it again."""
    if (found := sha256(data)) != expected_hash:
        raise SnapshotError("", f"hash: expected {expected_hash.hex()}, found {found.hex()}")
    with raised_as(SnapshotError):
        snapshot_id, facts, salt = _read(decode(data))
    snapshot = seal(snapshot_id, facts, salt)
    if snapshot.canonical != data:
        at = next(i for i, (was, is_) in enumerate(zip(facts, snapshot.facts, strict=True)) if was != is_)
        raise SnapshotError(f"/facts/{at}", f"out of order: expected {_name(snapshot.facts[at])} here")
    return snapshot


def _refuse_twins(fact: FactRef, following: FactRef) -> None:
    if fact == following:
        raise SnapshotError("", f"{_name(fact)} is there twice, with payload hash {fact.payload_hash.hex()}")
    if (fact.fact_type, fact.fact_key) == (following.fact_type, following.fact_key):
        hashes = f"{fact.payload_hash.hex()} and {following.payload_hash.hex()}"
        raise SnapshotError("", f"{_name(fact)} has two contents, with payload hashes {hashes}: choose one")


def _name(fact: FactRef) -> str:
    return f"fact {fact.fact_type!r} {fact.fact_key!r}"


def _document(snapshot_id: UUID, facts: Iterable[FactRef], salt: bytes) -> JsonValue:
    return {
        "salt": below("salt", salt_text, salt),
        "snapshot_version": SNAPSHOT_VERSION,
        "snapshot_id": uuid_text(snapshot_id),
        "facts": below("facts", each(_fact_members), facts),
    }


def _fact_members(fact: FactRef) -> JsonValue:
    return texts_of(
        {"fact_type": fact.fact_type, "fact_key": fact.fact_key, "payload_hash": fact.payload_hash}
    )


def _read(document: JsonValue) -> tuple[UUID, list[FactRef], bytes]:
    found = members(document, ("snapshot_version", "snapshot_id", "salt", "facts"))
    read(found, "snapshot_version", parse_constant(SNAPSHOT_VERSION))
    facts = read(found, "facts", parse_list(_fact))
    return read(found, "snapshot_id", parse_uuid), facts, read(found, "salt", parse_salt)


def _fact(value: object) -> FactRef:
    found = members(value, ("fact_type", "fact_key", "payload_hash"))
    return FactRef(
        fact_type=read(found, "fact_type", parse_text),
        fact_key=read(found, "fact_key", parse_text),
        payload_hash=read(found, "payload_hash", parse_hash),
    )
