"""Jobs that begin in the database before their handler starts, on the memory store."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from bpc_worker.engine.lease import StopReason
from bpc_worker.handler_api import Permanent
from bpc_worker.jobs.errors import Code, JobError, Unavailable
from bpc_worker.jobs.model import Claim, LeaseToken, Status
from tests.unit.engine.support import Room


class Beginning:
    """What a store is told of beginnings, and what it answers."""

    def __init__(self, room: Room, *troubles: JobError) -> None:
        self.told: list[int] = []
        self.troubles = list(troubles)
        self.locked = False
        self.last_word_is_lost = False
        self.go_on = asyncio.Event()
        self.go_on.set()
        self._begin = room.store.begin
        room.store.begin = self.begin  # type: ignore[method-assign]  # held up, refused or counted

    async def begin(
        self, claims: Sequence[Claim], start: Callable[[frozenset[LeaseToken]], None] = lambda _: None
    ) -> frozenset[LeaseToken]:
        self.told.append(len(claims))
        await self.go_on.wait()
        if self.troubles:
            raise self.troubles.pop(0)
        begun = frozenset[LeaseToken]() if self.locked else await self._begin(claims, start)
        if self.last_word_is_lost:
            self.last_word_is_lost = False
            raise Unavailable(Code.DB_UNAVAILABLE, "away")
        return begun


async def test_last_attempts_begin_in_the_store_by_one_statement_and_others_wait_for_nobody() -> None:
    room = Room(slots=5)
    beginning = Beginning(room)
    beginning.go_on.clear()
    last = await room.enqueue("TEST_NOOP", 3, max_attempts=1)
    first = await room.enqueue("TEST_NOOP", 2, max_attempts=2)
    assert await room.take() == 5
    await room.settled()
    assert room.ended == [str(job_id) for job_id in first]
    assert beginning.told == [3]

    beginning.go_on.set()
    await room.settled()
    assert room.ended == [str(job_id) for job_id in (*first, *last)]
    assert set(room.statuses()) == {"SUCCEEDED"}


async def test_few_begin_at_a_time_because_a_kill_may_cost_those() -> None:
    room = Room(slots=12)
    beginning = Beginning(room)
    beginning.go_on.clear()
    for _ in range(4):
        await room.enqueue("TEST_WAIT", 3, max_attempts=1)
        room.intake.look_everywhere()
        assert await room.take() == 3
    beginning.go_on.set()
    await room.settled()

    assert beginning.told == [3, 4, 4, 1]


async def test_what_has_started_is_begun_again_where_the_last_word_was_lost() -> None:
    """Nobody knows whether it is written, and the handler runs: without it a death would cost no attempt."""
    room = Room()
    beginning = Beginning(room)
    beginning.last_word_is_lost = True
    [job_id] = await room.enqueue("TEST_WAIT", max_attempts=1)
    assert await room.take() == 1
    await room.settled()
    assert beginning.told == [1, 1]
    assert room.statuses() == ["RUNNING"]

    room.let_go.set()
    await room.settled()
    assert room.store.row(job_id).status is Status.SUCCEEDED


@pytest.mark.parametrize("how", ["locked", "refused", "away"])
async def test_what_cannot_be_begun_is_not_started_and_given_back(how: str) -> None:
    errors: dict[str, JobError] = {
        "refused": Permanent(Code.VALIDATION_ERROR, "no"), "away": Unavailable(Code.DB_UNAVAILABLE, "away"),
    }  # fmt: skip
    room = Room()
    beginning = Beginning(room, *([errors[how]] if how in errors else []))
    beginning.locked = how == "locked"
    await room.enqueue("TEST_NOOP", max_attempts=1)
    room.intake.look_everywhere()
    assert await room.take() == 1
    await room.settled()

    [row] = room.store.table.rows.values()
    assert (row.status, row.attempts, row.fail_code) == (Status.QUEUED, 0, None)
    assert room.ended == []
    assert room.jobs.busy == 0
    room.clock.advance(1)
    assert (room.health.spared_seconds > 0) is (how == "away")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (StopReason.TIMEOUT, "QUEUED"),
        (StopReason.SHUTDOWN, "QUEUED"),
        (StopReason.UNPROVEN, "QUEUED"),
        (StopReason.CANCEL, "CANCELLED"),
        (StopReason.LOST, "RUNNING"),
    ],
)
async def test_what_is_stopped_before_it_began_never_starts(reason: StopReason, status: str) -> None:
    """It has had no attempt: not even its time-out costs it one."""
    room = Room()
    beginning = Beginning(room)
    beginning.go_on.clear()
    await room.enqueue("TEST_NOOP", max_attempts=1)
    assert await room.take() == 1
    [job] = room.jobs._jobs
    job.stop(reason)
    await room.settled()
    beginning.go_on.set()
    await room.settled()

    assert room.statuses() == [status]
    assert room.ended == []
    assert room.jobs.busy == 0
    assert not room.stuck.is_set()
