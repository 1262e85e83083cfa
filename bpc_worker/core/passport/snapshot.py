"""BPC-SNAPSHOT-2: the facts that a passport is made from, in one order, under one hash."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import pairwise
from uuid import UUID

from bpc_worker.core.base.canonical_json import JsonValue, decode, encode
from bpc_worker.core.base.forms import (
    FormError,
    below,
    each,
    hash_text,
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
_NAMED_AT_MOST = 5


class SnapshotError(FormError):
    """Facts that cannot be sealed, or bytes that are not a sealed snapshot."""


@dataclass(frozen=True, slots=True)
class FactRef:
    """A fact by name and by the hash of its content."""

    fact_type: str
    fact_key: str
    payload_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """The sealed snapshot of a model, whose facts are those of each of its batteries too.

    With the salt, whoever has the facts can seal it again, and needs nothing else to check the hash.
    """

    snapshot_id: UUID
    salt: bytes = field(repr=False)
    snapshot_hash: bytes
    without: tuple[FactRef, ...] = ()  # what the battery's own facts replace


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSnapshot:
    """Proof that its facts were put in order and hashed; only this module makes one."""

    snapshot_id: UUID
    salt: bytes = field(repr=False)
    facts: tuple[FactRef, ...] = field(repr=False)  # its own; those of its model beside them
    model: ModelRef | None
    canonical: bytes = field(repr=False)
    snapshot_hash: bytes
    made_by: InitVar[object]

    def __post_init__(self, made_by: object) -> None:
        if made_by is not _SEAL:
            raise TypeError("a SealedSnapshot comes from seal() or open_snapshot()")


def seal(
    snapshot_id: UUID, facts: Iterable[FactRef], salt: bytes, model: ModelRef | None = None
) -> SealedSnapshot:
    """The snapshot over these facts, in whatever order they come, beside those of a model.

    The salt keeps whoever has the hash from guessing a fact of which he knows the rest.
    """
    ordered = _ordered(facts)
    with raised_as(SnapshotError):
        canonical = encode(_document(snapshot_id, ordered, salt, model))
    return SealedSnapshot(
        snapshot_id=snapshot_id,
        salt=salt,
        facts=ordered,
        model=model,
        canonical=canonical,
        snapshot_hash=sha256(canonical),
        made_by=_SEAL,
    )


def seal_item(
    snapshot_id: UUID, own: Iterable[FactRef], salt: bytes, model: SealedSnapshot
) -> SealedSnapshot:
    """The snapshot of one battery: its model's facts, but for those of which it has its own."""
    if model.model is not None:
        raise SnapshotError("/model", "this is the snapshot of a battery, not of a model")
    told, mine = set(model.facts), tuple(own)
    replaced = {_pair(fact) for fact in mine if fact not in told}
    reference = ModelRef(
        snapshot_id=model.snapshot_id,
        salt=model.salt,
        snapshot_hash=model.snapshot_hash,
        without=tuple(fact for fact in model.facts if _pair(fact) in replaced),
    )
    return seal(snapshot_id, (fact for fact in mine if fact not in told), salt, reference)


def open_snapshot(data: bytes, expected_hash: bytes) -> SealedSnapshot:
    """The snapshot whose canonical bytes these are, after checking every part of it again."""
    if (found := sha256(data)) != expected_hash:
        raise SnapshotError("", f"hash: expected {expected_hash.hex()}, found {found.hex()}")
    with raised_as(SnapshotError):
        snapshot_id, facts, salt, model = _read(decode(data))
    snapshot = seal(snapshot_id, facts, salt, model)
    if snapshot.canonical != data:
        raise _out_of_order(facts, snapshot.facts) or SnapshotError("/model/without", "out of order")
    return snapshot


def check_facts(snapshot: SealedSnapshot, facts: Iterable[FactRef]) -> None:
    """SnapshotError unless these are all facts that were sealed, its own and its model's, each once."""
    own, given = Counter(snapshot.facts), Counter(facts)
    lacking, others = own - given, given - own
    if differing := lacking if snapshot.model is not None else lacking + others:
        named = sorted({_short(fact) for fact in differing})
        raise SnapshotError("", f"the facts are not the snapshot's: {', '.join(named[:_NAMED_AT_MOST])}")
    if snapshot.model is not None:
        _check_model(snapshot.model, own, [*others.elements()])


def _check_model(model: ModelRef, own: Iterable[FactRef], inherited: Sequence[FactRef]) -> None:
    """Nobody has their list: sealed again, they and what was replaced give the hash of the model."""
    mine = set(map(_pair, own))
    left_out = set(map(_pair, model.without))
    if left_out - mine or mine.intersection(map(_pair, inherited)):
        raise SnapshotError(
            "/model/without", "it names the facts that the battery's own replace, and no others"
        )
    found = seal(model.snapshot_id, [*inherited, *model.without], model.salt)
    if found.snapshot_hash != model.snapshot_hash:
        raise SnapshotError("/model", "the facts are not those of the model and of this battery")


def _out_of_order(was: Iterable[FactRef], ordered: Iterable[FactRef]) -> SnapshotError | None:
    for at, (found, expected) in enumerate(zip(was, ordered, strict=True)):
        if found != expected:
            return SnapshotError(f"/facts/{at}", f"out of order: expected {_name(expected)} here")
    return None


def _ordered(facts: Iterable[FactRef]) -> tuple[FactRef, ...]:
    # Python compares code points, which is the order of UTF-8 bytes.
    ordered = tuple(sorted(facts, key=lambda fact: (fact.fact_type, fact.fact_key, fact.payload_hash)))
    for fact, following in pairwise(ordered):
        _refuse_twins(fact, following)
    return ordered


def _refuse_twins(fact: FactRef, following: FactRef) -> None:
    if fact == following:
        raise SnapshotError("", f"{_name(fact)} is there twice, with payload hash {fact.payload_hash.hex()}")
    if _pair(fact) == _pair(following):
        hashes = f"{fact.payload_hash.hex()} and {following.payload_hash.hex()}"
        raise SnapshotError("", f"{_name(fact)} has two contents, with payload hashes {hashes}: choose one")


def _name(fact: FactRef) -> str:
    return f"fact {fact.fact_type!r} {fact.fact_key!r}"


def _pair(fact: FactRef) -> tuple[str, str]:
    return fact.fact_type, fact.fact_key


def _short(fact: FactRef) -> str:
    return f"{fact.fact_type} {fact.fact_key}"


def _document(snapshot_id: UUID, facts: Iterable[FactRef], salt: bytes, model: ModelRef | None) -> JsonValue:
    document: dict[str, JsonValue] = {
        "salt": below("salt", salt_text, salt),
        "snapshot_version": SNAPSHOT_VERSION,
        "snapshot_id": uuid_text(snapshot_id),
        "facts": below("facts", each(_fact_members), facts),
    }
    return document if model is None else document | {"model": below("model", _model_members, model)}


def _model_members(model: ModelRef) -> JsonValue:
    return {
        "salt": below("salt", salt_text, model.salt),
        "snapshot_id": uuid_text(model.snapshot_id),
        "snapshot_hash": below("snapshot_hash", hash_text, model.snapshot_hash),
        "without": below("without", each(_fact_members), _ordered(model.without)),
    }


def _fact_members(fact: FactRef) -> JsonValue:
    return texts_of(
        {"fact_type": fact.fact_type, "fact_key": fact.fact_key, "payload_hash": fact.payload_hash}
    )


def _read(document: JsonValue) -> tuple[UUID, list[FactRef], bytes, ModelRef | None]:
    names = ("snapshot_version", "snapshot_id", "salt", "facts")
    of_item = isinstance(document, dict) and "model" in document
    found = members(document, (*names, "model") if of_item else names)
    read(found, "snapshot_version", parse_constant(SNAPSHOT_VERSION))
    facts = read(found, "facts", parse_list(_fact))
    model = read(found, "model", _model) if of_item else None
    return read(found, "snapshot_id", parse_uuid), facts, read(found, "salt", parse_salt), model


def _model(value: object) -> ModelRef:
    found = members(value, ("snapshot_id", "salt", "snapshot_hash", "without"))
    return ModelRef(
        snapshot_id=read(found, "snapshot_id", parse_uuid),
        salt=read(found, "salt", parse_salt),
        snapshot_hash=read(found, "snapshot_hash", parse_hash),
        without=tuple(read(found, "without", parse_list(_fact))),
    )


def _fact(value: object) -> FactRef:
    found = members(value, ("fact_type", "fact_key", "payload_hash"))
    return FactRef(
        fact_type=read(found, "fact_type", parse_text),
        fact_key=read(found, "fact_key", parse_text),
        payload_hash=read(found, "payload_hash", parse_hash),
    )
