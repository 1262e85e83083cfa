"""Is the audit trail what was written? Recomputed from its rows, and compared with what was kept outside."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO, Generic, Protocol, TypeVar
from uuid import UUID

import msgspec

from bpc_worker import app
from bpc_worker.adapters.sql_files import query
from bpc_worker.adapters.whole_files import pieces
from bpc_worker.core import canonical_json, signing
from bpc_worker.core.checkpoint import (
    ChainHead,
    ChainKey,
    CheckpointError,
    CheckpointReader,
    CheckpointWriter,
    Taken,
)
from bpc_worker.core.event_hash import BrokenChain, ChainCheck, ChainedEvent, Event, Flaw, Head, event_id
from bpc_worker.core.hashing import sha256
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.owner import keys
from bpc_worker.owner.session import Owner
from bpc_worker.rows import all_of
from bpc_worker.signers import sign_receipt_hash

SHOWN_AT_MOST = 1000

_PAGE = 500


class Missing(StrEnum):
    """What is wrong with a chain as a whole; what is wrong inside it, `core.event_hash.Flaw` says."""

    NO_HEAD = "NO_HEAD"
    NO_CHAIN = "NO_CHAIN"
    DELETED = "DELETED"
    SHORTENED = "SHORTENED"
    REWRITTEN = "REWRITTEN"


class Finding(msgspec.Struct, frozen=True):
    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int  # the first that does not hold
    flaw: str
    expected: str
    found: str


@dataclass(slots=True)
class Report:
    tenant_id: UUID
    tenant: str
    chains: int = 0
    events: int = 0
    broken: int = 0
    findings: list[Finding] = field(default_factory=list)  # the first SHOWN_AT_MOST of them

    def add(self, findings: Iterable[Finding]) -> None:
        found = list(findings)
        self.broken += bool(found)
        self.findings += found[: SHOWN_AT_MOST - len(self.findings)]


@dataclass(frozen=True, slots=True)
class Kept:
    """A checkpoint that was kept; nothing in it counts before its signature was verified."""

    file: BinaryIO
    taken: Taken
    heads: int
    signature: bytes
    hash: bytes


class _Now(msgspec.Struct, frozen=True):
    now: datetime


class _OfChain(msgspec.Struct, frozen=True):
    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int
    event_hash: bytes

    @property
    def key(self) -> ChainKey:
        return self.aggregate_type, self.aggregate_id


class _End(_OfChain, frozen=True):
    """The head of a chain."""


class _Row(_OfChain, frozen=True):
    """An event, as it is stored."""

    event_id: UUID
    event_type: str
    occurred_at: datetime | None
    actor_id: str
    payload: str
    payload_hash: bytes
    prev_event_hash: bytes | None


class _Keyed(Protocol):
    @property
    def key(self) -> ChainKey: ...


Streamed = TypeVar("Streamed", bound=_Keyed)
Record = TypeVar("Record", bound=_OfChain)


async def verify(owner: Owner, against: Kept | None = None) -> Report:
    """Every chain of the tenant in one pass over one unchanging view, however many there are."""
    report = Report(owner.tenant_id, owner.tenant_name)
    async with owner.reading() as tx:
        if against is not None:
            await _check_signature(owner, tx, against)
        walk = _Walk(owner.tenant_id, tx, against)
        while (key := await walk.next_chain()) is not None:
            findings = [finding async for finding in walk.chain(key)]
            report.add(findings)
        report.chains, report.events = walk.chains, walk.events
    return report


async def write_checkpoint(owner: Owner, file: BinaryIO) -> Kept:
    """All heads of the tenant as they are now, signed with the configured key."""
    signer = app.keyring(owner.settings).signer
    async with owner.reading() as tx:
        registry = await _registry(owner, tx)
        [moment] = all_of(await tx.execute("SELECT now() AS now"), _Now)
        taken = Taken(tenant_id=owner.tenant_id, taken_at=moment.now, signing_key_id=signer.key_id)
        writer, count = CheckpointWriter(taken), 0
        file.write(writer.beginning())
        async for end in _rows(tx, "events/heads_in_order", owner.tenant_id, _End):
            file.write(writer.head(ChainHead(**msgspec.structs.asdict(end))))
            count += 1
    try:
        signature = await sign_receipt_hash(signer, registry, writer.hash(), key_id=signer.key_id)
    except signing.SignatureError as error:
        if error.fault is signing.Fault.BAD_SIGNATURE:
            raise Permanent(Code.SIGNATURE_INVALID, error.message) from error
        hint = "add it with `bpc-worker keys add`, or configure one that is ACTIVE"
        raise Permanent(Code.SIGNING_KEY_MISSING, f"{error.message}; {hint}") from error
    file.write(writer.ending(signature))
    return Kept(file, taken, count, signature, writer.hash())


def read_checkpoint(file: BinaryIO) -> Kept:
    """Whose it is and who is said to have signed it."""
    reader = CheckpointReader(pieces(file))
    count = sum(1 for _ in _well_formed(reader))
    return Kept(file, reader.taken, count, reader.signature, reader.hash)


async def _check_signature(owner: Owner, tx: Tx, kept: Kept) -> None:
    if kept.taken.tenant_id != owner.tenant_id:
        message = f"the checkpoint is of tenant {kept.taken.tenant_id}, not of {owner.tenant_name!r}"
        raise Permanent(Code.VALIDATION_ERROR, message)
    registry = await _registry(owner, tx)
    try:
        signing.verify(registry, kept.taken.signing_key_id, kept.hash, kept.signature)
    except signing.SignatureError as error:
        raise Permanent(Code.SIGNATURE_INVALID, f"the checkpoint: {error.message}") from error


async def _registry(owner: Owner, tx: Tx) -> signing.KeyRegistry:
    try:
        return await keys.registry(owner, tx)
    except signing.SignatureError as error:
        raise Permanent(Code.SIGNATURE_INVALID, f"the tenant's registry: {error.message}") from error


def _well_formed(reader: CheckpointReader) -> Iterator[ChainHead]:
    try:
        yield from reader
    except CheckpointError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"the checkpoint: {error}") from error


class _Walk:
    """Events, heads and, where there is one, a checkpoint: side by side, in the same order."""

    def __init__(self, tenant_id: UUID, tx: Tx, kept: Kept | None) -> None:
        self._tenant_id = tenant_id
        self._rows = _Stream(_rows(tx, "events/in_order", tenant_id, _Row))
        self._ends = _Stream(_rows(tx, "events/heads_in_order", tenant_id, _End))
        self._marks = _Stream(_marks(kept))
        self.chains = 0
        self.events = 0

    async def next_chain(self) -> ChainKey | None:
        keys_ahead = [await self._rows.key(), await self._ends.key(), await self._marks.key()]
        return min((key for key in keys_ahead if key is not None), default=None)

    async def chain(self, key: ChainKey) -> AsyncIterator[Finding]:
        end, mark = await self._ends.take(key), await self._marks.take(key)
        seen = await self._events(key, mark)
        self.chains += seen.last > 0
        broken = seen.broken
        if broken is None and seen.last and end is None:
            yield _finding(key, seen.last, Missing.NO_HEAD, "a head", "none")
        elif end is not None and not seen.last:
            said = f"events up to version {end.aggregate_version}"
            yield _finding(key, end.aggregate_version, Missing.NO_CHAIN, said, "none")
        elif broken is None and end is not None:
            broken = seen.check.end(Head(end.aggregate_version, end.event_hash))
        if broken is not None:
            yield _finding(key, broken.position, broken.flaw, broken.expected, broken.found)
        if mark is not None:
            for finding in _since(mark, seen):
                yield finding

    async def _events(self, key: ChainKey, mark: ChainHead | None) -> "_Seen":
        seen = _Seen()
        while (row := await self._rows.take(key)) is not None:
            self.events += 1
            seen.last = max(seen.last, row.aggregate_version)
            if mark is not None and row.aggregate_version == mark.aggregate_version:
                seen.at_mark = row.event_hash
            if seen.broken is None:
                seen.broken = _flaw(seen.check, row, self._tenant_id)
        return seen


@dataclass(slots=True)
class _Seen:
    """What the events of one chain showed."""

    check: ChainCheck = field(default_factory=ChainCheck)
    last: int = 0
    at_mark: bytes | None = None
    broken: BrokenChain | None = None


def _flaw(check: ChainCheck, row: _Row, tenant_id: UUID) -> BrokenChain | None:
    version = row.aggregate_version
    if row.occurred_at is None:
        return BrokenChain(version, Flaw.ILL_FORMED, "a time from 1970 to 9998", "another")
    event = Event(
        tenant_id=tenant_id,
        aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id,
        aggregate_version=version,
        event_type=row.event_type,
        occurred_at=row.occurred_at,
        actor_id=row.actor_id,
        payload_hash=row.payload_hash,
    )
    chained = ChainedEvent(event=event, prev_event_hash=row.prev_event_hash, event_hash=row.event_hash)
    if broken := check.add(chained):
        return broken
    if (own_id := event_id(event, row.event_hash)) != row.event_id:
        return BrokenChain(version, Flaw.WRONG_ID, str(own_id), str(row.event_id))
    if (found := _payload_hash(row.payload)) != row.payload_hash.hex():
        return BrokenChain(version, Flaw.WRONG_PAYLOAD, row.payload_hash.hex(), found)
    return None


def _payload_hash(text: str) -> str:
    """In hex; of a payload that has no canonical form, why."""
    try:
        return sha256(canonical_json.encode(json.loads(text))).hex()
    except (ValueError, RecursionError) as error:
        return str(error)


def _since(mark: ChainHead, seen: _Seen) -> Iterator[Finding]:
    """What has become of a chain since the checkpoint: it may only have grown."""
    version, expected = mark.aggregate_version, mark.event_hash.hex()
    if not seen.last:
        yield _finding(mark.key, 1, Missing.DELETED, f"version {version} as in the checkpoint", "no event")
    elif seen.last < version:
        said = f"version {version} as in the checkpoint"
        yield _finding(mark.key, seen.last + 1, Missing.SHORTENED, said, f"version {seen.last} at the end")
    elif seen.at_mark != mark.event_hash:
        found = "no such event" if seen.at_mark is None else seen.at_mark.hex()
        yield _finding(mark.key, version, Missing.REWRITTEN, f"{expected} as in the checkpoint", found)


def _finding(key: ChainKey, version: int, flaw: StrEnum, expected: str, found: str) -> Finding:
    return Finding(key[0], key[1], version, flaw.value, expected, found)


class _Stream(Generic[Streamed]):
    """Rows in order of chain, with a look at the next one."""

    def __init__(self, rows: AsyncIterator[Streamed]) -> None:
        self._rows = rows
        self._ahead: Streamed | None = None
        self._ended = False

    async def key(self) -> ChainKey | None:
        if self._ahead is None and not self._ended:
            self._ahead = await anext(self._rows, None)
            self._ended = self._ahead is None
        return None if self._ahead is None else self._ahead.key

    async def take(self, key: ChainKey) -> Streamed | None:
        """The next row, if it is of this chain."""
        if await self.key() != key:
            return None
        taken, self._ahead = self._ahead, None
        return taken


async def _rows(tx: Tx, name: str, tenant_id: UUID, record: type[Record]) -> AsyncIterator[Record]:
    """The rows of a query, page by page from a cursor on the server; the first page comes without a sort."""
    cursor = name.replace("/", "_")
    await tx.execute("SET LOCAL cursor_tuple_fraction = 0.000001")
    declare = f"DECLARE {cursor} NO SCROLL CURSOR FOR {query(name).decode()}"
    await tx.execute(declare, {"tenant_id": tenant_id})
    while page := all_of(await tx.execute(f"FETCH FORWARD {_PAGE} FROM {cursor}"), record):
        for row in page:
            yield row


async def _marks(kept: Kept | None) -> AsyncIterator[ChainHead]:
    if kept is None:
        return
    reader = CheckpointReader(pieces(kept.file))
    for head in _well_formed(reader):
        yield head
    if reader.hash != kept.hash:
        raise Permanent(Code.VALIDATION_ERROR, "the checkpoint was changed while it was being read")
