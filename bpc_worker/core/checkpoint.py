"""BPC-CHECKPOINT-1: where all chains of a tenant ended at one moment, signed, to be kept elsewhere.

A tenant may have millions of chains, so heads are written and read one by one, and nothing holds them all.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from bpc_worker.core.canonical_json import decode, encode
from bpc_worker.core.forms import (
    FormError,
    members,
    parse_signature,
    parse_text,
    parse_timestamp,
    parse_uuid,
    raised_as,
    read,
    signature_text,
    texts_of,
)

CHECKPOINT_VERSION = "BPC-CHECKPOINT-1"

ChainKey: TypeAlias = tuple[str, UUID]

_BEGINNING = b'{"checkpoint_version":"%s","heads":[' % CHECKPOINT_VERSION.encode()
_HEAD = re.compile(
    rb'\{"aggregate_id":"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})","aggregate_type":"([a-z][a-z_]{1,62})",'
    rb'"aggregate_version":([1-9][0-9]{0,9}),"event_hash":"([0-9a-f]{64})"\}'
)
_LONGEST_HEAD = 512
_LONGEST_ENDING = 4096


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


class CheckpointWriter:
    """The bytes of a checkpoint, part by part: `beginning`, `head` for each in order, `ending`."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._hash = hashlib.sha256()
        self._before: ChainKey | None = None

    def beginning(self) -> bytes:
        return self._hashed(_BEGINNING)

    def head(self, head: ChainHead) -> bytes:
        _check_order(self._before, head)
        data = _head_bytes(head)
        if not _HEAD.fullmatch(data):
            raise CheckpointError("/heads", f"not a head: {data!r}")
        comma = b"," if self._before is not None else b""
        self._before = head.key
        return self._hashed(comma + data)

    def hash(self) -> bytes:
        """What is signed, once all heads are there."""
        whole = self._hash.copy()
        whole.update(b"]," + _ending(self._taken))
        return whole.digest()

    def ending(self, signature: bytes) -> bytes:
        with raised_as(CheckpointError):
            signed = encode({"signature": signature_text(signature)})
        return b"]," + signed[1:-1] + b"," + _ending(self._taken)

    def _hashed(self, data: bytes) -> bytes:
        self._hash.update(data)
        return data


class CheckpointReader:
    """Iterates over the heads in these bytes; `taken`, `signature` and `hash` are there after the last one.

    Nothing of it counts before the signature over the hash was verified.
    """

    taken: Taken
    signature: bytes
    hash: bytes

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._buffer = b""
        self._offset = 0  # of the buffer in the whole
        self._hash = hashlib.sha256()

    def __iter__(self) -> Iterator[ChainHead]:
        self._take(_BEGINNING)
        before: ChainKey | None = None
        while not (before is None and self._sees(b"]")):
            head = self._head()
            _check_order(before, head)
            yield head
            before = head.key
            if self._sees(b"]"):
                break
            self._take(b",")
        self._end()

    def _head(self) -> ChainHead:
        self._fill(_LONGEST_HEAD)
        found = _HEAD.match(self._buffer)
        if found is None:
            raise self._unexpected("a head")
        self._take(found[0])
        return ChainHead(
            aggregate_id=UUID(found[1].decode()),
            aggregate_type=found[2].decode(),
            aggregate_version=int(found[3]),
            event_hash=bytes.fromhex(found[4].decode()),
        )

    def _end(self) -> None:
        self._take(b"],")
        self._fill(_LONGEST_ENDING + 1)
        if len(self._buffer) > _LONGEST_ENDING:
            raise self._unexpected(f"at most {_LONGEST_ENDING} bytes after the heads")
        with raised_as(CheckpointError):
            names = ("signature", "signing_key_id", "taken_at", "tenant_id")
            found = members(decode(b"{" + self._buffer), names)
            self.signature = read(found, "signature", parse_signature)
            self.taken = Taken(
                tenant_id=read(found, "tenant_id", parse_uuid),
                taken_at=read(found, "taken_at", parse_timestamp),
                signing_key_id=read(found, "signing_key_id", parse_text),
            )
        self._hash.update(_ending(self.taken))
        self.hash = self._hash.digest()

    def _sees(self, expected: bytes) -> bool:
        self._fill(len(expected))
        return self._buffer.startswith(expected)

    def _take(self, expected: bytes) -> None:
        if not self._sees(expected):
            raise self._unexpected(expected.decode())
        self._hash.update(expected)
        self._buffer = self._buffer[len(expected) :]
        self._offset += len(expected)

    def _fill(self, size: int) -> None:
        """At least so many bytes, or all that there are."""
        while len(self._buffer) < size and (chunk := next(self._chunks, b"")):
            self._buffer += chunk

    def _unexpected(self, expected: str) -> CheckpointError:
        shown = self._buffer[:60].decode("ascii", "backslashreplace")
        return CheckpointError("", f"byte {self._offset}: expected {expected}, found {shown!r}")


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


def _ending(taken: Taken) -> bytes:
    """From the key id on; the signature, which is not part of what is signed, stands in front of it."""
    with raised_as(CheckpointError):
        texts = texts_of(
            {
                "signing_key_id": taken.signing_key_id,
                "taken_at": taken.taken_at,
                "tenant_id": taken.tenant_id,
            }
        )
        return encode(texts)[1:]


def _check_order(before: ChainKey | None, head: ChainHead) -> None:
    if before is not None and head.key <= before:
        raise CheckpointError("/heads", f"{head.aggregate_type} {head.aggregate_id} is twice or out of order")
