from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.audit.event_hash import (
    BrokenChain,
    ChainCheck,
    ChainedEvent,
    Event,
    EventError,
    Flaw,
    Head,
    event_bytes,
    event_hash,
    event_id,
    verify_chain,
)
from bpc_worker.core.base.forms import parse_hash, parse_timestamp, parse_uuid
from bpc_worker.core.base.hashing import sha256
from tests.vectors import load

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)


def an_event(version: int = 1, **changed: Any) -> Event:
    members: dict[str, Any] = {
        "tenant_id": UUID(int=1),
        "aggregate_type": "PassportVersion",
        "aggregate_id": UUID(int=2),
        "aggregate_version": version,
        "event_type": "PASSPORT_SIGNED",
        "occurred_at": NOON + timedelta(seconds=version),
        "actor_id": "worker:1",
        "payload_hash": sha256(str(version).encode()),
    }
    return Event(**members | changed)


def chained(events: list[Event]) -> list[ChainedEvent]:
    chain: list[ChainedEvent] = []
    for event in events:
        prev = chain[-1].event_hash if chain else None
        chain.append(ChainedEvent(event=event, prev_event_hash=prev, event_hash=event_hash(event, prev)))
    return chain


def a_chain(length: int) -> list[ChainedEvent]:
    return chained([an_event(version) for version in range(1, length + 1)])


def head_of(chain: list[ChainedEvent]) -> Head:
    return Head(len(chain), chain[-1].event_hash)


def from_vector(members: dict[str, Any]) -> tuple[Event, bytes | None]:
    event = Event(
        tenant_id=parse_uuid(members["tenant_id"]),
        aggregate_type=members["aggregate_type"],
        aggregate_id=parse_uuid(members["aggregate_id"]),
        aggregate_version=members["aggregate_version"],
        event_type=members["event_type"],
        occurred_at=parse_timestamp(members["occurred_at"]),
        actor_id=members["actor_id"],
        payload_hash=parse_hash(members["payload_hash"]),
    )
    prev = members["prev_event_hash"]
    return event, prev and parse_hash(prev)


def test_golden_vectors_give_their_bytes_and_hashes() -> None:
    for vector in load("event/chain")["events"]:
        event, prev = from_vector(vector["input"])

        assert event_bytes(event, prev).decode() == vector["expected"]["canonical"]
        assert event_hash(event, prev).hex() == vector["expected"]["sha256"]


def test_the_golden_chain_holds() -> None:
    vectors = load("event/chain")["events"]
    chain = [
        ChainedEvent(event=event, prev_event_hash=prev, event_hash=parse_hash(vector["expected"]["sha256"]))
        for vector in vectors
        for event, prev in [from_vector(vector["input"])]
    ]

    assert verify_chain(chain, head_of(chain)) is None


@given(st.integers(1, 6))
def test_a_chain_holds_with_and_without_its_head(length: int) -> None:
    chain = a_chain(length)

    assert verify_chain(chain) is None
    assert verify_chain(iter(chain), head_of(chain)) is None


def test_no_events_are_a_chain_without_head() -> None:
    assert verify_chain([]) is None


def test_the_zone_of_the_moment_does_not_change_the_hash() -> None:
    elsewhere = an_event().occurred_at.astimezone(timezone(timedelta(hours=-5)))

    assert event_hash(an_event(occurred_at=elsewhere), None) == event_hash(an_event(), None)


CHANGES: list[dict[str, Any]] = [
    {"tenant_id": UUID(int=9)},
    {"aggregate_type": "Passport"},
    {"aggregate_id": UUID(int=9)},
    {"event_type": "PASSPORT_REVOKED"},
    {"occurred_at": NOON},
    {"actor_id": "worker:2"},
    {"payload_hash": bytes(32)},
]


@pytest.mark.parametrize("changed", CHANGES, ids=lambda changed: next(iter(changed)))
def test_each_member_is_part_of_the_hash(changed: dict[str, Any]) -> None:
    assert event_hash(an_event(**changed), None) != event_hash(an_event(), None)


def test_the_hash_before_and_the_version_are_part_of_the_hash() -> None:
    hashes = {event_hash(an_event(version), prev) for version in (2, 3) for prev in (bytes(32), sha256(b""))}

    assert len(hashes) == 4


@pytest.mark.parametrize("changed", CHANGES[3:], ids=lambda changed: next(iter(changed)))
@pytest.mark.parametrize("position", [1, 2, 3])
def test_a_changed_event_is_named(position: int, changed: dict[str, Any]) -> None:
    chain = a_chain(3)
    at = position - 1
    chain[at] = replace(chain[at], event=replace(chain[at].event, **changed))

    broken = verify_chain(chain)

    assert broken
    assert (broken.position, broken.flaw) == (position, Flaw.WRONG_HASH)
    assert broken.found == chain[at].event_hash.hex()


def test_time_that_runs_backwards_is_named() -> None:
    chain = chained(
        [an_event(1), an_event(2, occurred_at=NOON + timedelta(seconds=1)), an_event(3, occurred_at=NOON)]
    )

    assert verify_chain(chain) == BrokenChain(
        3, Flaw.BACK_IN_TIME, "2027-03-01T12:00:01.000000Z or later", "2027-03-01T12:00:00.000000Z"
    )


def test_an_event_that_was_changed_together_with_its_hash_breaks_the_next() -> None:
    """Only a change of the whole rest would hide it, and then the head differs."""
    chain = a_chain(3)
    changed = an_event(2, actor_id="somebody else")
    chain[1] = replace(chain[1], event=changed, event_hash=event_hash(changed, chain[0].event_hash))
    rewritten = chained([an_event(1), changed, an_event(3)])

    assert verify_chain(chain) == BrokenChain(
        3, Flaw.WRONG_PREV, chain[1].event_hash.hex(), a_chain(2)[1].event_hash.hex()
    )
    assert verify_chain(rewritten) is None
    assert verify_chain(rewritten, head_of(a_chain(3))) == BrokenChain(
        3,
        Flaw.WRONG_HEAD,
        f"the head with hash {rewritten[2].event_hash.hex()}",
        a_chain(3)[2].event_hash.hex(),
    )


Breaking = Callable[[list[ChainedEvent]], list[ChainedEvent]]


@pytest.mark.parametrize(
    ("breaking", "expected"),
    [
        (lambda chain: chain[1:], BrokenChain(1, Flaw.GAP, "version 1", "version 2")),
        (lambda chain: [*chain[:1], *chain[2:]], BrokenChain(2, Flaw.GAP, "version 2", "version 3")),
        (lambda chain: [*chain[:2], chain[1]], BrokenChain(3, Flaw.WRONG_VERSION, "version 3", "version 2")),
        (lambda chain: [chain[0], chain[2], chain[1]], BrokenChain(2, Flaw.GAP, "version 2", "version 3")),
    ],
)
def test_missing_repeated_and_swapped_events_are_named(breaking: Breaking, expected: BrokenChain) -> None:
    assert verify_chain(breaking(a_chain(3))) == expected


@pytest.mark.parametrize("version", [0, -1])
def test_versions_start_at_one(version: int) -> None:
    with pytest.raises(EventError, match=f"^/aggregate_version: expected 1 or more, found {version}$"):
        event_hash(an_event(version), None)


def test_a_first_event_with_a_hash_before_it_is_named() -> None:
    [first] = a_chain(1)

    assert verify_chain([replace(first, prev_event_hash=bytes(32))]) == BrokenChain(
        1, Flaw.WRONG_PREV, "null", "00" * 32
    )


def test_a_later_event_without_a_hash_before_it_is_named() -> None:
    first, second = a_chain(2)

    assert verify_chain([first, replace(second, prev_event_hash=None)]) == BrokenChain(
        2, Flaw.WRONG_PREV, first.event_hash.hex(), "null"
    )


@pytest.mark.parametrize("changed", CHANGES[:3], ids=lambda changed: next(iter(changed)))
def test_an_event_of_another_aggregate_is_named(changed: dict[str, Any]) -> None:
    chain = chained([an_event(1), an_event(2, **changed)])

    broken = verify_chain(chain)

    assert broken
    assert (broken.position, broken.flaw) == (2, Flaw.OTHER_CHAIN)
    assert broken.expected == f"PassportVersion {UUID(int=2)} of tenant {UUID(int=1)}"


def test_an_ill_formed_event_is_named() -> None:
    [first] = a_chain(1)
    naive = replace(first.event, occurred_at=NOON.replace(tzinfo=None))

    broken = verify_chain([replace(first, event=naive)])

    assert broken
    assert str(broken) == (
        "event 1: ILL_FORMED: expected a well-formed event, "
        "found /occurred_at: expected a time stamp with a time zone, found 2027-03-01T12:00:00"
    )


def test_a_lost_tail_shows_against_the_head() -> None:
    chain = a_chain(3)

    assert verify_chain(chain[:2], head_of(chain)) == BrokenChain(
        3, Flaw.LOST_TAIL, "version 3 at the end", "version 2"
    )
    assert verify_chain([], head_of(chain)) == BrokenChain(
        1, Flaw.LOST_TAIL, "version 3 at the end", "no event"
    )


def test_events_beyond_the_head_show() -> None:
    chain = a_chain(3)

    assert verify_chain(chain, head_of(chain[:1])) == BrokenChain(
        2, Flaw.WRONG_HEAD, "the head at version 3", "version 1"
    )


@pytest.mark.parametrize(
    ("event", "prev", "message"),
    [
        (an_event(1), bytes(32), "^/prev_event_hash: expected null for version 1, found 0000"),
        (an_event(2), None, "^/prev_event_hash: expected a hash for version 2, found null$"),
        (an_event(2), bytes(31), "^/prev_event_hash: expected a hash of 32 bytes, found 31 bytes$"),
        (an_event(1, actor_id=""), None, "^/actor_id: expected a text that is not empty, found ''$"),
        (an_event(1, event_type="\0"), None, "^/event_type: NUL$"),
        (an_event(1, payload_hash=b""), None, "^/payload_hash: expected a hash of 32 bytes"),
        (an_event(2, aggregate_version=2**53), bytes(32), "^/aggregate_version: integers reach from"),
    ],
)
def test_an_event_without_a_place_in_a_chain_has_no_hash(
    event: Event, prev: bytes | None, message: str
) -> None:
    with pytest.raises(EventError, match=message):
        event_hash(event, prev)


def test_golden_vectors_give_their_ids() -> None:
    for vector in load("event/chain")["events"]:
        event, prev = from_vector(vector["input"])

        assert str(event_id(event, event_hash(event, prev))) == vector["expected"]["event_id"]


@given(st.datetimes(datetime(1970, 1, 1), datetime(9998, 12, 31)), st.binary(min_size=32, max_size=32))  # noqa: DTZ001 - made aware below
def test_an_id_is_of_version_7_and_begins_with_the_time(moment: datetime, own_hash: bytes) -> None:
    occurred_at = moment.replace(tzinfo=UTC)
    made = event_id(an_event(occurred_at=occurred_at), own_hash)

    assert (made.version, made.variant) == (7, RFC_4122)
    assert made.int >> 80 == (occurred_at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def test_a_chain_is_checked_event_by_event() -> None:
    chain = ChainCheck()
    events = a_chain(3)

    assert [chain.add(each) for each in events] == [None] * 3
    assert chain.end(head_of(events)) is None
    assert chain.end(Head(4, events[-1].event_hash)) is not None
