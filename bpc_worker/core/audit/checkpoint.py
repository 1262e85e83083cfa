"""BPC-CHECKPOINT-3: the tree over all events of a tenant and where each chain ended in it, signed.

A tenant may have millions of chains, so heads are written one by one, and nothing holds them all; what is
signed has their hash. Without the list it is as good a checkpoint, and shows nobody's ids.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from bpc_worker.core.base.canonical_json import JsonValue, encode
from bpc_worker.core.base.forms import (
    FormError,
    members,
    parse_constant,
    parse_count,
    parse_hash,
    parse_signature,
    parse_text,
    parse_timestamp,
    parse_uuid,
    raised_as,
    read,
    signature_text,
    texts_of,
)
from bpc_worker.core.base.hashing import sha256

CHECKPOINT_VERSION = "BPC-CHECKPOINT-3"

ChainKey: TypeAlias = tuple[str, UUID]

HEAD = re.compile(
    rb'\{"aggregate_id":"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})","aggregate_type":"([a-z][a-z_]{1,62})",'
    rb'"aggregate_version":([1-9][0-9]{0,9}),"event_hash":"([0-9a-f]{64})"\}'
)
_BEGINNING = b'{"checkpoint_version":"%s","heads":' % CHECKPOINT_VERSION.encode()
_SIGNED = (
    "checkpoint_version", "heads_count", "heads_sha256", "signing_key_id", "taken_at", "tenant_id",
    "tree_root", "tree_size",
)  # fmt: skip


class CheckpointError(FormError):
    """Heads that make no checkpoint, or bytes that are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHead:
    """Where one chain ended."""

    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int
    event_hash: bytes

    @property
    def key(self) -> ChainKey:
        """What heads are in order of: the type's bytes, then the id's."""
        return self.aggregate_type, self.aggregate_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Whose checkpoint it is, when it was taken, and who signs it."""

    tenant_id: UUID
    taken_at: datetime
    signing_key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """All events of the tenant that were leaves then."""

    size: int
    root: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is signed."""

    taken: Taken
    tree: Tree
    heads_count: int
    heads_sha256: bytes

    def document(self) -> bytes:
        return encode(self._members())

    def hash(self) -> bytes:
        return sha256(self.document())

    def signed(self, signature: bytes) -> dict[str, JsonValue]:
        """The members of a checkpoint that does not list its heads."""
        with raised_as(CheckpointError):
            return self._members() | {"signature": signature_text(signature)}

    def _members(self) -> dict[str, JsonValue]:
        with raised_as(CheckpointError):
            texts = texts_of(
                {
                    "checkpoint_version": CHECKPOINT_VERSION,
                    "heads_sha256": self.heads_sha256,
                    "signing_key_id": self.taken.signing_key_id,
                    "taken_at": self.taken.taken_at,
                    "tenant_id": self.taken.tenant_id,
                    "tree_root": self.tree.root,
                }
            )
        return texts | {"heads_count": self.heads_count, "tree_size": self.tree.size}


def parse_signed(value: object) -> tuple[Statement, bytes]:
    """The statement and its signature, of a checkpoint without its list of heads."""
    with raised_as(CheckpointError):
        found = members(value, (*_SIGNED, "signature"))
        read(found, "checkpoint_version", parse_constant(CHECKPOINT_VERSION))
        statement = Statement(
            taken=Taken(
                tenant_id=read(found, "tenant_id", parse_uuid),
                taken_at=read(found, "taken_at", parse_timestamp),
                signing_key_id=read(found, "signing_key_id", parse_text),
            ),
            tree=Tree(size=read(found, "tree_size", parse_count), root=read(found, "tree_root", parse_hash)),
            heads_count=read(found, "heads_count", parse_count),
            heads_sha256=read(found, "heads_sha256", parse_hash),
        )
        return statement, read(found, "signature", parse_signature)


class CheckpointWriter:
    """The bytes of a checkpoint, part by part: `beginning`, `head` for each in order, `ending`."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._heads = hashlib.sha256(b"[")
        self._before: ChainKey | None = None
        self.count = 0

    def beginning(self) -> bytes:
        return _BEGINNING + b"["

    def head(self, head: ChainHead) -> bytes:
        check_order(self._before, head)
        data = _head_bytes(head)
        if not HEAD.fullmatch(data):
            raise CheckpointError("/heads", f"not a head: {data!r}")
        data = b"," + data if self.count else data
        self._before = head.key
        self._heads.update(data)
        self.count += 1
        return data

    def statement(self, tree: Tree) -> Statement:
        """What is to be signed, once all heads are there."""
        heads = self._heads.copy()
        heads.update(b"]")
        return Statement(taken=self._taken, tree=tree, heads_count=self.count, heads_sha256=heads.digest())

    def ending(self, tree: Tree, signature: bytes) -> bytes:
        rest = self.statement(tree).signed(signature)
        del rest["checkpoint_version"]  # it stands at the beginning
        return b"]," + encode(rest)[1:]


def check_order(before: ChainKey | None, head: ChainHead) -> None:
    if before is not None and head.key <= before:
        raise CheckpointError("/heads", f"{head.aggregate_type} {head.aggregate_id} is twice or out of order")


def _head_bytes(head: ChainHead) -> bytes:
    with raised_as(CheckpointError):
        texts = texts_of(
            {
                "aggregate_type": head.aggregate_type,
                "aggregate_id": head.aggregate_id,
                "event_hash": head.event_hash,
            }
        )
        return encode(texts | {"aggregate_version": head.aggregate_version})
