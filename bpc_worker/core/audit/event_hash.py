"""BPC-EVENT-1: events chained by hash, one chain per aggregate, so that a change of the past shows."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from bpc_worker.core.base.canonical_json import JsonValue, encode
from bpc_worker.core.base.forms import FormError, below, hash_text, raised_as, texts_of, timestamp
from bpc_worker.core.base.hashing import sha256

_Aggregate: TypeAlias = tuple[UUID, str, UUID]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION_AND_VARIANT = 0xF000_C000_0000_0000_0000
_VERSION_7 = 0x7000_8000_0000_0000_0000


class EventError(FormError):
    """An event that has no place in a chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    tenant_id: UUID
    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int
    event_type: str
    occurred_at: datetime
    actor_id: str
    payload_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainedEvent:
    """An event as it is stored: with the hash before it and its own."""

    event: Event
    prev_event_hash: bytes | None
    event_hash: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ends, kept apart from it."""

    aggregate_version: int
    event_hash: bytes


class Flaw(StrEnum):
    OTHER_CHAIN = "OTHER_CHAIN"
    GAP = "GAP"
    WRONG_VERSION = "WRONG_VERSION"
    WRONG_PREV = "WRONG_PREV"
    ILL_FORMED = "ILL_FORMED"
    WRONG_HASH = "WRONG_HASH"
    BACK_IN_TIME = "BACK_IN_TIME"
    WRONG_PAYLOAD = "WRONG_PAYLOAD"
    WRONG_ID = "WRONG_ID"
    LOST_TAIL = "LOST_TAIL"
    WRONG_HEAD = "WRONG_HEAD"


@dataclass(frozen=True, slots=True)
class BrokenChain:
    """The first position, counted from 1, at which a chain does not hold, and why."""

    position: int
    flaw: Flaw
    expected: str
    found: str

    def __str__(self) -> str:
        return f"event {self.position}: {self.flaw}: expected {self.expected}, found {self.found}"


@raised_as(EventError)
def event_bytes(event: Event, prev: bytes | None) -> bytes:
    """The canonical bytes of an event that follows the one with hash `prev`; the first follows none."""
    version = event.aggregate_version
    if version < 1:
        raise EventError("/aggregate_version", f"expected 1 or more, found {version}")
    if (version == 1) != (prev is None):
        expected = "null" if version == 1 else "a hash"
        raise EventError(
            "/prev_event_hash", f"expected {expected} for version {version}, found {_shown(prev)}"
        )
    return encode(_members(event, prev))


def event_hash(event: Event, prev: bytes | None) -> bytes:
    return sha256(event_bytes(event, prev))


def event_id(event: Event, own_hash: bytes) -> UUID:
    """A UUID of version 7 (RFC 9562) from the event's time and hash: in order of time, nobody's to choose."""
    milliseconds = (event.occurred_at - _EPOCH) // timedelta(milliseconds=1)
    number = int.from_bytes(milliseconds.to_bytes(6, "big") + own_hash[6:16], "big")
    return UUID(int=number & ~_VERSION_AND_VARIANT | _VERSION_7)


class ChainCheck:
    """The chain of one aggregate, event by event, so that a long one need not be held."""

    def __init__(self) -> None:
        self._position = 0
        self._prev: ChainedEvent | None = None
        self._aggregate: _Aggregate | None = None

    def add(self, found: ChainedEvent) -> BrokenChain | None:
        """What is wrong with the next event; after that, nothing more can be said of the chain."""
        self._position += 1
        self._aggregate = self._aggregate or _aggregate(found.event)
        broken = _break_at(self._position, found, self._prev, self._aggregate)
        self._prev = found
        return broken

    def end(self, head: Head) -> BrokenChain | None:
        """What is wrong with the end of the chain."""
        return _break_at_the_end(self._position, _hash_of(self._prev), head)


def verify_chain(events: Iterable[ChainedEvent], head: Head | None = None) -> BrokenChain | None:
    """Where the chain of one aggregate is broken first, or None; only with a head is a lost tail seen."""
    chain = ChainCheck()
    for found in events:
        if broken := chain.add(found):
            return broken
    return chain.end(head) if head else None


def _break_at(
    position: int, found: ChainedEvent, before: ChainedEvent | None, aggregate: _Aggregate
) -> BrokenChain | None:
    event, prev = found.event, _hash_of(before)
    if (other := _aggregate(event)) != aggregate:
        return BrokenChain(position, Flaw.OTHER_CHAIN, _named(aggregate), _named(other))
    if (version := event.aggregate_version) != position:
        flaw = Flaw.GAP if version > position else Flaw.WRONG_VERSION
        return BrokenChain(position, flaw, f"version {position}", f"version {version}")
    if found.prev_event_hash != prev:
        return BrokenChain(position, Flaw.WRONG_PREV, _shown(prev), _shown(found.prev_event_hash))
    try:
        expected = event_hash(event, prev)
    except EventError as error:
        return BrokenChain(position, Flaw.ILL_FORMED, "a well-formed event", str(error))
    if found.event_hash != expected:
        return BrokenChain(position, Flaw.WRONG_HASH, expected.hex(), found.event_hash.hex())
    if before is not None and event.occurred_at < before.event.occurred_at:
        earliest = f"{timestamp(before.event.occurred_at)} or later"
        return BrokenChain(position, Flaw.BACK_IN_TIME, earliest, timestamp(event.occurred_at))
    return None


def _break_at_the_end(position: int, last: bytes | None, head: Head) -> BrokenChain | None:
    if head.aggregate_version > position:
        lost = f"version {head.aggregate_version} at the end"
        return BrokenChain(
            position + 1, Flaw.LOST_TAIL, lost, f"version {position}" if position else "no event"
        )
    if head.aggregate_version < position:
        beyond = head.aggregate_version + 1
        return BrokenChain(
            beyond, Flaw.WRONG_HEAD, f"the head at version {position}", f"version {beyond - 1}"
        )
    if head.event_hash != last:
        return BrokenChain(
            position, Flaw.WRONG_HEAD, f"the head with hash {_shown(last)}", _shown(head.event_hash)
        )
    return None


def _hash_of(event: ChainedEvent | None) -> bytes | None:
    return None if event is None else event.event_hash


def _aggregate(event: Event) -> _Aggregate:
    return event.tenant_id, event.aggregate_type, event.aggregate_id


def _named(aggregate: _Aggregate) -> str:
    tenant_id, aggregate_type, aggregate_id = aggregate
    return f"{aggregate_type} {aggregate_id} of tenant {tenant_id}"


def _members(event: Event, prev: bytes | None) -> dict[str, JsonValue]:
    texts = texts_of(
        {
            "tenant_id": event.tenant_id,
            "aggregate_type": event.aggregate_type,
            "aggregate_id": event.aggregate_id,
            "event_type": event.event_type,
            "occurred_at": event.occurred_at,
            "actor_id": event.actor_id,
            "payload_hash": event.payload_hash,
        }
    )
    link = None if prev is None else below("prev_event_hash", hash_text, prev)
    return texts | {"aggregate_version": event.aggregate_version, "prev_event_hash": link}


def _shown(prev: bytes | None) -> str:
    return "null" if prev is None else prev.hex()
