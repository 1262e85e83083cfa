"""Reads BPC-CHECKPOINT-3, with or without its heads."""

import hashlib
from collections.abc import Iterable, Iterator
from uuid import UUID

from bpc_worker.core.audit.checkpoint import (
    CHECKPOINT_VERSION,
    HEAD,
    ChainHead,
    ChainKey,
    CheckpointError,
    Statement,
    check_order,
    parse_signed,
)
from bpc_worker.core.base.canonical_json import decode
from bpc_worker.core.base.forms import raised_as

_BEGINNING = b'{"checkpoint_version":"%s",' % CHECKPOINT_VERSION.encode()
_HEADS = b'"heads":['
_LONGEST_HEAD = 512
_LONGEST_ENDING = 4096


class CheckpointReader:
    """Iterates over the heads in these bytes; what the members below say is there after the last one.

    Nothing of it counts before the signature over the statement was verified.
    """

    statement: Statement
    signature: bytes
    listed = True  # whether it has its list of heads

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._buffer = b""
        self._offset = 0  # of the buffer in the whole
        self._list = hashlib.sha256()  # what is signed has the hash of the list
        self._count = 0

    def __iter__(self) -> Iterator[ChainHead]:
        self._take(_BEGINNING)
        self.listed = self._sees(_HEADS)
        if self.listed:
            self._take(_HEADS)
            self._list = hashlib.sha256(b"[")
            yield from self._heads()
        self._end()

    def _heads(self) -> Iterator[ChainHead]:
        before: ChainKey | None = None
        while not (before is None and self._sees(b"]")):
            head = self._head()
            check_order(before, head)
            yield head
            before = head.key
            self._count += 1
            if self._sees(b"]"):
                break
            self._take(b",")
        self._take(b"]")

    def _head(self) -> ChainHead:
        self._fill(_LONGEST_HEAD)
        found = HEAD.match(self._buffer)
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
        heads = self._list.digest()
        if self.listed:
            self._take(b",")
        with raised_as(CheckpointError):
            statement, self.signature = parse_signed(decode(_BEGINNING + self._rest()))
        if self.listed and statement.heads_count != self._count:
            found = f"expected {statement.heads_count} heads, found {self._count}"
            raise CheckpointError("/heads_count", found)
        if self.listed and statement.heads_sha256 != heads:
            found = f"expected {statement.heads_sha256.hex()}, found {heads.hex()}"
            raise CheckpointError("/heads_sha256", found)
        self.statement = statement

    def _rest(self) -> bytes:
        self._fill(_LONGEST_ENDING + 1)
        if len(self._buffer) > _LONGEST_ENDING:
            raise self._unexpected(f"at most {_LONGEST_ENDING} bytes after the heads")
        return self._buffer

    def _sees(self, expected: bytes) -> bool:
        self._fill(len(expected))
        return self._buffer.startswith(expected)

    def _take(self, expected: bytes) -> None:
        if not self._sees(expected):
            raise self._unexpected(expected.decode())
        self._list.update(expected)
        self._buffer = self._buffer[len(expected) :]
        self._offset += len(expected)

    def _fill(self, size: int) -> None:
        """At least so many bytes, or all that there are."""
        while len(self._buffer) < size and (chunk := next(self._chunks, b"")):
            self._buffer += chunk

    def _unexpected(self, expected: str) -> CheckpointError:
        shown = self._buffer[:60].decode("ascii", "backslashreplace")
        return CheckpointError("", f"byte {self._offset}: expected {expected}, found {shown!r}")
