"""BPC-INCLUSION-1 and BPC-CONSISTENCY-1: what a signed tree holds, and that a later one still holds it.

Both carry the signed statements of their checkpoints: a stranger needs nothing else but the issuer's key.
Whoever kept a checkpoint himself compares it with them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from bpc_worker.core.audit.checkpoint import Statement, parse_signed
from bpc_worker.core.audit.event_hash import Event, event_bytes, event_id
from bpc_worker.core.base.canonical_json import JsonValue, decode, encode
from bpc_worker.core.base.forms import (
    FormError,
    each,
    hash_text,
    members,
    parse_count,
    parse_hash,
    parse_list,
    parse_text,
    parse_timestamp,
    parse_uuid,
    raised_as,
    read,
    shown,
)
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.merkle import MerkleError, leaf_hash, verify_consistency, verify_inclusion
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import KeyRegistry, SignatureError, verify

INCLUSION_VERSION = "BPC-INCLUSION-1"
CONSISTENCY_VERSION = "BPC-CONSISTENCY-1"

_EVENT = (
    "tenant_id", "aggregate_type", "aggregate_id", "aggregate_version", "event_type", "occurred_at",
    "actor_id", "payload_hash", "prev_event_hash",
)  # fmt: skip


class ProofError(FormError):
    """Bytes that are no proof, or a proof that does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The statement of a checkpoint and its signature."""

    statement: Statement
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Inclusion:
    """The event is leaf `leaf_index` of the tree of the checkpoint."""

    checkpoint: Signed
    event: Event
    prev_event_hash: bytes | None
    leaf_index: int
    path: Sequence[bytes]

    @property
    def event_hash(self) -> bytes:
        return sha256(event_bytes(self.event, self.prev_event_hash))

    @property
    def event_id(self) -> UUID:
        return event_id(self.event, self.event_hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """The tree of the new checkpoint begins with all leaves of the old one's."""

    old: Signed
    new: Signed
    path: Sequence[bytes]


Proof: TypeAlias = Inclusion | Consistency


def proof_bytes(proof: Proof) -> bytes:
    with raised_as(ProofError):
        if isinstance(proof, Inclusion):
            return encode(
                {
                    "proof_version": INCLUSION_VERSION,
                    "checkpoint": _signed(proof.checkpoint),
                    "event": decode(event_bytes(proof.event, proof.prev_event_hash)),
                    "leaf_index": proof.leaf_index,
                    "path": each(hash_text)(proof.path),
                }
            )
        return encode(
            {
                "proof_version": CONSISTENCY_VERSION,
                "old": _signed(proof.old),
                "new": _signed(proof.new),
                "path": each(hash_text)(proof.path),
            }
        )


def parse_proof(data: bytes) -> Proof:
    with raised_as(ProofError):
        found = decode(data)
        version = found.get("proof_version") if isinstance(found, dict) else None
        if version == INCLUSION_VERSION:
            return _inclusion(found)
        if version == CONSISTENCY_VERSION:
            return _consistency(found)
        reason = f"expected {INCLUSION_VERSION!r} or {CONSISTENCY_VERSION!r}, found {shown(version)}"
        raise ProofError("/proof_version", reason)


def verify_proof(proof: Proof, registry: KeyRegistry) -> None:
    """Signatures by keys of the registry, of one tenant, and a path that leads to the signed roots."""
    match proof:
        case Inclusion():
            statement = _verified("/checkpoint", proof.checkpoint, registry)
            if proof.event.tenant_id != statement.taken.tenant_id:
                raise ProofError("/event/tenant_id", "it is not the tenant of the checkpoint")
            with _path_holds():
                leaf = leaf_hash(proof.event_hash)
                tree = statement.tree
                verify_inclusion(leaf, proof.leaf_index, tree.size, proof.path, tree.root)
        case Consistency():
            old = _verified("/old", proof.old, registry)
            new = _verified("/new", proof.new, registry)
            if old.taken.tenant_id != new.taken.tenant_id:
                raise ProofError("/new/tenant_id", "the checkpoints are of two tenants")
            with _path_holds():
                verify_consistency(old.tree.size, new.tree.size, old.tree.root, new.tree.root, proof.path)


def _signed(checkpoint: Signed) -> dict[str, JsonValue]:
    return checkpoint.statement.signed(checkpoint.signature)


def _parse_signed(value: object) -> Signed:
    statement, signature = parse_signed(value)
    return Signed(statement=statement, signature=signature)


def _inclusion(value: object) -> Inclusion:
    found = members(value, ("proof_version", "checkpoint", "event", "leaf_index", "path"))
    event, prev = read(found, "event", _parse_event)
    return Inclusion(
        checkpoint=read(found, "checkpoint", _parse_signed),
        event=event,
        prev_event_hash=prev,
        leaf_index=read(found, "leaf_index", parse_count),
        path=read(found, "path", parse_list(parse_hash)),
    )


def _consistency(value: object) -> Consistency:
    found = members(value, ("proof_version", "old", "new", "path"))
    return Consistency(
        old=read(found, "old", _parse_signed),
        new=read(found, "new", _parse_signed),
        path=read(found, "path", parse_list(parse_hash)),
    )


def _parse_event(value: object) -> tuple[Event, bytes | None]:
    found = members(value, _EVENT)
    event = Event(
        tenant_id=read(found, "tenant_id", parse_uuid),
        aggregate_type=read(found, "aggregate_type", parse_text),
        aggregate_id=read(found, "aggregate_id", parse_uuid),
        aggregate_version=read(found, "aggregate_version", parse_count),
        event_type=read(found, "event_type", parse_text),
        occurred_at=read(found, "occurred_at", parse_timestamp),
        actor_id=read(found, "actor_id", parse_text),
        payload_hash=read(found, "payload_hash", parse_hash),
    )
    link = found["prev_event_hash"]
    prev = None if link is None else read(found, "prev_event_hash", parse_hash)
    event_bytes(event, prev)  # the first follows none, and no other does
    return event, prev


def _verified(place: str, checkpoint: Signed, registry: KeyRegistry) -> Statement:
    statement = checkpoint.statement
    try:
        key_id = statement.taken.signing_key_id
        verify(registry, key_id, Kind.CHECKPOINT, statement.document(), checkpoint.signature)
    except SignatureError as error:
        raise ProofError(f"{place}/signature", error.message) from None
    return statement


@contextmanager
def _path_holds() -> Iterator[None]:
    try:
        yield
    except MerkleError as error:
        raise ProofError("/path", str(error)) from None
