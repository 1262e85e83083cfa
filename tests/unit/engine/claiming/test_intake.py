"""How much a worker asks for, what it does with the answer, and what it gives back."""

import asyncio
import math
from collections.abc import Mapping

import pytest

from bpc_worker.engine.claiming.rate_limits import RateLimits
from bpc_worker.jobs.errors import Code, Permanent, Unavailable
from bpc_worker.jobs.store import Look, Tokens
from tests.unit.engine.support import POLL, Room, steps

AWAY = Unavailable(Code.DB_UNAVAILABLE, "gone")
REFUSED = Permanent(Code.VALIDATION_ERROR, "one of the ends cannot be stored")


class Buckets:
    """A TokenStore with so many tokens for TEST_NOOP."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.empty: Look | None = None
        self.returned: list[Mapping[str, int]] = []

    async def empty_look(self) -> Look | None:
        return self.empty

    async def take(self, wanted: Mapping[str, int]) -> dict[str, Tokens]:
        taken = min(self.tokens, wanted["TEST_NOOP"])
        self.tokens -= taken
        return {"TEST_NOOP": Tokens(taken, 7.0 if taken < wanted["TEST_NOOP"] else None)}

    async def give_back(self, unused: Mapping[str, int]) -> None:
        self.returned.append(unused)

    def close(self) -> None: ...


async def test_no_more_is_claimed_than_there_are_slots() -> None:
    room = Room(slots=2)
    await room.enqueue("TEST_WAIT", 3)

    assert await room.take() == 2
    assert await room.take() == 0
    assert [limit for limit, _, _ in room.store.looks] == [2]


async def test_a_slot_that_gets_free_is_told() -> None:
    room = Room(slots=1)
    await room.enqueue("TEST_WAIT", 2)
    await room.take()
    room.let_go.set()
    await steps(10)

    assert await room.wake.wait(at_most=0) == {"slot"}
    assert await room.take() == 1


async def test_jobs_in_children_get_no_more_slots_than_children_can_use() -> None:
    room = Room(slots=8, useful=2)
    await room.enqueue("TEST_CHILD", 8)

    assert await room.take() == 2
    assert await room.take() == 0


async def test_jobs_that_wait_for_others_take_no_slot_of_the_count() -> None:
    room = Room(slots=1)
    await room.enqueue("TEST_OUTSIDE", 1)
    await room.enqueue("TEST_WAIT", 1)
    begun = 0
    for _ in range(4):
        begun += await room.take()

    assert begun == 2
    assert (room.slots.in_use, room.slots.io_bound) == (1, 1)


async def test_ends_travel_with_the_next_claim_and_are_told_when_they_are_durable() -> None:
    room = Room(slots=2)
    await room.enqueue("TEST_NOOP", 2)
    await room.take()
    await steps(4)
    await room.enqueue("TEST_NOOP", 1)
    await room.take()

    await room.settled()
    assert room.statuses() == ["SUCCEEDED"] * 3
    assert room.jobs.busy == 0


async def test_ends_that_a_claim_did_not_write_are_settled_by_themselves() -> None:
    room = Room(slots=2)
    room.store.unwritten = True
    await room.enqueue("TEST_NOOP", 2)
    await room.take()
    for _ in range(5):
        await room.take()
        await steps(3)
    await room.settled()

    assert room.statuses() == ["SUCCEEDED"] * 2


async def test_a_claim_that_fails_brings_nothing_and_its_ends_are_settled_otherwise() -> None:
    room = Room(slots=2)
    await room.enqueue("TEST_NOOP", 1)
    await room.take()
    room.handlers.start_prepared()
    while not room.ended:
        await asyncio.sleep(0)
    room.store.troubles = [REFUSED]
    batch = await room.intake.next_batch()
    await room.settled()

    assert not batch.answered
    assert not batch.claims
    assert room.statuses() == ["SUCCEEDED"]


async def test_a_database_that_is_away_is_noted_and_nothing_is_lost() -> None:
    room = Room()
    await room.enqueue("TEST_NOOP")
    room.health.note_claim()
    room.store.troubles = [AWAY]
    batch = await room.intake.next_batch()

    assert not batch.answered
    assert not batch.more
    assert batch.look_again_in == math.inf
    assert room.health.outage
    assert room.statuses() == ["QUEUED"]


async def _ahead(room: Room) -> None:
    """Two jobs hold both slots, and two more came early."""
    await room.enqueue("TEST_NOOP", 2)
    await room.take()
    await room.settled()
    await room.enqueue("TEST_WAIT", 4)
    room.intake._ahead._began_at = room.now()
    room.store.go_on.clear()
    asking = asyncio.create_task(room.take())
    await steps(3)
    room.clock.advance(0.01)
    room.store.go_on.set()
    assert await asking == 2
    assert room.intake.claim_under_way, "it went out before these two began"
    await room.take()


async def test_jobs_that_came_early_begin_when_a_slot_gets_free() -> None:
    room = Room(slots=2)
    await _ahead(room)
    assert room.slots.oversubscribed == 2
    assert room.jobs.busy == 2
    room.let_go.set()
    await room.settled()

    assert room.statuses() == ["SUCCEEDED"] * 6


async def test_jobs_that_came_early_and_wait_for_too_long_go_back_with_their_attempt() -> None:
    room = Room(slots=2)
    await _ahead(room)
    room.jobs.stop_timed_out()
    assert room.slots.oversubscribed == 2, "they may wait for a moment"
    room.clock.advance(0.2)
    room.jobs.stop_timed_out()
    await room.settled()

    rows = list(room.store.table.rows.values())[2:]
    assert sorted(row.status.value for row in rows) == ["QUEUED", "QUEUED", "RUNNING", "RUNNING"]
    assert [row.attempts for row in rows if row.status.value == "QUEUED"] == [0, 0]
    assert not room.intake.going_back
    assert room.slots.oversubscribed == 0


async def test_a_worker_that_stops_gives_back_at_once_what_came_early() -> None:
    room = Room(slots=2)
    await _ahead(room)
    room.intake.give_back_early(at_once=True)
    assert len(room.intake.going_back) == 2
    await asyncio.wait(room.intake.going_back, timeout=5)
    assert not room.intake.going_back


async def test_nothing_is_claimed_while_a_handler_blocks_the_loop() -> None:
    room = Room()
    await room.enqueue()
    room.handlers.is_blocked = True
    room.jobs.stop_timed_out()

    assert not (await room.intake.next_batch()).answered
    assert room.store.looks == []
    room.handlers.is_blocked = False
    room.jobs.stop_timed_out()
    assert await room.wake.wait(at_most=0) == {"slot"}, "nobody else would look before the next poll"
    assert len((await room.intake.next_batch()).claims) == 1


@pytest.mark.parametrize("how", ["draining", "stuck", "mismatch"])
async def test_nothing_is_claimed_by_a_worker_that_is_leaving_or_distrusts_its_schema(how: str) -> None:
    room = Room()
    await room.enqueue()
    if how == "draining":
        room.health.draining = True
    elif how == "stuck":
        room.stuck.set()
    else:
        room.health.mismatch_at = room.now()

    assert not (await room.intake.next_batch()).answered
    assert room.statuses() == ["QUEUED"]


async def test_what_was_passed_over_comes_before_a_rest() -> None:
    room = Room()
    assert not (await room.intake.next_batch()).more, "the first look is everywhere"
    assert (await room.intake.next_batch()).more, "the second passed over what the first found empty"
    assert not (await room.intake.next_batch()).more
    assert [fresh for _, fresh, _ in room.store.looks] == [True, False, True]
    room.clock.advance(POLL)
    assert not (await room.intake.next_batch()).more


async def test_after_four_claims_that_only_saw_jobs_of_others_there_is_a_rest() -> None:
    room = Room()

    async def seen_but_locked(**_: object) -> Look:
        room.store.looks.append((0, True, 0))
        return Look(more=True)

    room.store.claim = seen_but_locked  # type: ignore[method-assign]
    rounds = 1
    while (await room.intake.next_batch()).more:
        rounds += 1

    assert rounds == 4


async def test_a_rate_limit_bounds_a_claim_and_says_when_to_look_again() -> None:
    limited: list[int] = []
    buckets = Buckets(1)
    room = Room(slots=4, limits=RateLimits(["TEST_NOOP"], buckets, lambda: limited.append(1)))
    await room.enqueue("TEST_NOOP", 3)
    batch = await room.intake.next_batch()

    assert len(batch.claims) == 1
    assert batch.look_again_in == 7.0
    assert limited


async def test_an_idle_worker_with_limits_asks_once_whether_there_is_anything() -> None:
    buckets = Buckets(5)
    room = Room(slots=4, limits=RateLimits(["TEST_NOOP"], buckets, lambda: None))
    assert (await room.intake.next_batch()).nothing_left
    buckets.empty = Look(next_due_in=3.0)
    looks = len(room.store.looks)
    batch = await room.intake.next_batch()

    assert batch.look_again_in == 3.0
    assert len(room.store.looks) == looks
    assert buckets.returned


async def test_where_nothing_is_claimed_ahead_a_few_free_slots_wait_for_others_as_long_as_a_claim_takes() -> (
    None
):
    room = Room(slots=40)
    await room.enqueue("TEST_WAIT", 60)
    assert [await room.take(), await room.take()] == [20, 20]
    for job in list(room.jobs._jobs)[:5]:
        room.intake.leave_slot(job.claim)
    room.intake._claim_took = 3.0
    claiming = asyncio.create_task(room.take())
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert len(room.store.looks) == 2
    room.clock.advance(3)

    assert await claiming == 5


async def test_where_nothing_is_claimed_ahead_one_half_runs_while_the_other_is_claimed() -> None:
    room = Room(slots=40)
    await room.enqueue("TEST_WAIT", 60)

    assert await room.take() == 20
    assert room.intake.claim_under_way
    assert await room.take() == 20
    assert not room.intake.claim_under_way


async def test_half_of_the_slots_are_worth_a_claim_at_once() -> None:
    room = Room(slots=40)
    await room.enqueue("TEST_WAIT", 60)
    await room.take()
    await room.take()
    for job in list(room.jobs._jobs)[:20]:
        room.intake.leave_slot(job.claim)
    room.intake._claim_took = 1e9

    assert await room.take() == 20
