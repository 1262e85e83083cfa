"""One job's life in a process: started, ended, settled, finished; and what stops it on the way."""

import asyncio
from contextlib import suppress

import pytest

from bpc_worker.engine import running_job
from bpc_worker.engine.lease import StopReason
from bpc_worker.handler_api import Context, NewJob, Payload, Permanent, Retryable, Snooze
from bpc_worker.jobs.errors import Code, LeaseLost
from bpc_worker.jobs.model import Status
from bpc_worker.jobs.store import Look
from tests.unit.engine.support import LEASE, TIMEOUT, Room, steps


async def started(room: Room, count: int = 1) -> list[running_job.RunningJob]:
    await room.enqueue("TEST_WAIT", count)
    assert await room.take() == count
    await steps(3)
    return list(room.jobs._jobs)


@pytest.mark.parametrize(
    ("raised", "status", "told"),
    [
        (
            Retryable(Code.COMMAND_FAILED, "x"),
            "QUEUED",
            ["settled QUEUED", "failed COMMAND_FAILED", "retried"],
        ),
        (Permanent(Code.NOT_FOUND, "x"), "FAILED", ["settled FAILED", "failed NOT_FOUND"]),
        (Snooze(9, "RATE_LIMITED", "x"), "QUEUED", ["settled QUEUED", "failed RATE_LIMITED"]),
        (ValueError("x"), "QUEUED", ["settled QUEUED", "failed INTERNAL_ERROR", "retried"]),
    ],
)
async def test_what_a_handler_raises_is_how_it_ended(raised: Exception, status: str, told: list[str]) -> None:
    room = Room()

    async def handle(_: Payload, __: Context) -> object:
        raise raised

    room.handle = handle
    await started(room)
    await room.settled()

    assert room.statuses() == [status]
    assert room.metrics.told == told
    assert room.jobs.busy == 0
    assert room.keeper.held == ()


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        (StopReason.TIMEOUT, "QUEUED", "HANDLER_TIMEOUT"),
        (StopReason.SHUTDOWN, "QUEUED", None),
        (StopReason.CANCEL, "CANCELLED", None),
        (StopReason.UNPROVEN, "QUEUED", "DB_UNAVAILABLE"),
        (StopReason.LOST, "RUNNING", None),
    ],
)
async def test_who_stopped_it_says_what_its_end_means(
    reason: StopReason, status: str, code: str | None
) -> None:
    room = Room()
    [job] = await started(room)
    job.stop(reason)
    await room.settled()

    [row] = room.store.table.rows.values()
    assert (row.status.value, row.fail_code) == (status, code)
    assert job.done.is_set
    assert ("lease lost" in room.metrics.told) is (reason is StopReason.LOST)


async def test_one_that_cancels_itself_is_tried_again() -> None:
    room = Room()

    async def handle(_: Payload, __: Context) -> object:
        raise asyncio.CancelledError

    room.handle = handle
    await started(room)
    await room.settled()

    [row] = room.store.table.rows.values()
    assert (row.status, row.fail_code) == (Status.QUEUED, "INTERNAL_ERROR")


async def test_a_handler_that_ended_in_spite_of_a_stop_has_ended() -> None:
    room = Room()

    async def handle(_: Payload, __: Context) -> object:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return {"done": True}

    room.handle = handle
    [job] = await started(room)
    job.stop(StopReason.TIMEOUT)
    await room.settled()

    assert room.statuses() == ["SUCCEEDED"]


async def test_what_takes_too_long_is_stopped() -> None:
    room = Room()
    await started(room)
    room.clock.advance(TIMEOUT - 1)
    room.jobs.stop_timed_out()
    await room.settled()
    assert room.statuses() == ["RUNNING"]
    assert room.jobs.inside_time_outs
    room.clock.advance(2)
    assert not room.jobs.inside_time_outs
    watching = asyncio.create_task(room.jobs.watch())
    await room.settled()
    watching.cancel()

    [row] = room.store.table.rows.values()
    assert row.fail_code == "HANDLER_TIMEOUT"


async def test_a_lease_that_cannot_be_proven_stops_its_handler() -> None:
    """The fence: without it two workers would have one job."""
    room = Room()
    await started(room)
    room.clock.advance(LEASE - 4)
    fencing = asyncio.create_task(room.keeper.fence())
    await room.settled()
    fencing.cancel()

    [row] = room.store.table.rows.values()
    assert row.fail_code == "DB_UNAVAILABLE"


async def test_a_handler_may_ask_whether_its_lease_holds() -> None:
    room = Room()
    seen: list[str] = []

    async def handle(_: Payload, ctx: Context) -> object:
        ctx.check_lease()
        room.clock.advance(LEASE)
        try:
            ctx.check_lease()
        except LeaseLost as error:
            seen.append(str(error))
            raise
        return None

    room.handle = handle
    await started(room)
    await room.settled()

    assert seen == ["the lease may have ended"]
    assert room.metrics.told != ["settled SUCCEEDED"]


async def test_where_the_loop_is_blocked_what_has_not_begun_is_given_back_with_its_attempt() -> None:
    room = Room(slots=3)
    [running] = await started(room)
    room.handlers.is_blocked = False
    await room.enqueue("TEST_WAIT", 2)
    room.intake.look_everywhere()
    room.handlers.start_prepared = lambda: None  # type: ignore[method-assign]  # nothing reaches the handlers
    assert await room.take() == 2
    room.handlers.is_blocked = True
    room.jobs.stop_timed_out()
    await room.settled()

    assert sorted(room.statuses()) == ["QUEUED", "QUEUED", "RUNNING"]
    assert [row.attempts for row in room.store.table.rows.values() if row.status is Status.QUEUED] == [0, 0]
    assert list(room.jobs._jobs) == [running]
    room.handlers.to_handlers.wake()
    await room.settled()
    assert len(room.jobs._jobs) == 1, "what was withdrawn never starts"


async def test_a_handler_that_ignores_its_cancellation_makes_the_process_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running_job, "_PATIENCE_AFTER_CANCEL", 0.0)
    room, end = Room(), asyncio.Event()

    async def handle(_: Payload, __: Context) -> object:
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        return None

    room.handle = handle
    [job] = await started(room)
    job.stop(StopReason.SHUTDOWN)
    await asyncio.wait_for(room.stuck.wait(), 5)
    end.set()
    await room.settled()

    assert job.is_stuck
    assert room.statuses() == ["RUNNING"], "its lease is the reaper's"


async def test_a_drain_lets_jobs_end_within_the_grace_and_gives_the_others_back() -> None:
    room = Room()
    await started(room, 2)
    draining = asyncio.create_task(room.jobs.drain(grace=100, hurry=asyncio.Event()))
    await steps(5)
    room.let_go.set()
    await asyncio.wait_for(draining, 5)
    assert await room.jobs.ended(within=5)
    assert room.statuses() == ["SUCCEEDED"] * 2


async def test_a_drain_in_a_hurry_gives_back_at_once() -> None:
    room, hurry = Room(), asyncio.Event()
    await started(room, 2)
    hurry.set()
    await room.jobs.drain(grace=100, hurry=hurry)
    assert await room.jobs.ended(within=5)
    assert room.statuses() == ["QUEUED"] * 2
    assert [row.attempts for row in room.store.table.rows.values()] == [0, 0]


async def test_what_does_not_end_in_time_is_said() -> None:
    room = Room()
    await started(room)
    assert not await room.jobs.ended(within=0)


async def test_a_process_that_leaves_a_stuck_handler_gives_back_the_others() -> None:
    room = Room()
    guilty, _ = await started(room, 2)
    guilty.is_stuck = True
    await room.jobs.abandon(within=5)
    await room.settled()

    assert sorted(room.statuses()) == ["QUEUED", "RUNNING"]


async def test_where_nobody_can_tell_who_blocks_the_loop_everybody_pays() -> None:
    room = Room()
    await started(room, 2)
    room.handlers.is_blocked = True
    await room.jobs.abandon(within=5)

    assert room.statuses() == ["RUNNING"] * 2


async def test_one_whose_end_is_being_written_is_waited_for() -> None:
    room = Room()
    [job] = await started(room)
    room.let_go.set()
    while not job.has_ended:
        await asyncio.sleep(0)
    await room.jobs.abandon(within=5)
    await room.settled()

    assert room.statuses() == ["SUCCEEDED"]


async def test_jobs_that_follow_are_counted_rung_for_and_told_to_others() -> None:
    room = Room()
    [job] = await started(room)
    job._context.settled, job._context.follow_ups = Status.SUCCEEDED, (NewJob(type="TEST_NOOP", payload={}),)
    room.let_go.set()
    await room.settled()

    assert "produced default TEST_NOOP" in room.metrics.told
    assert "follow_up" in await room.wake.wait(at_most=0)
    assert room.notified == [None]


async def test_a_bug_in_the_report_costs_nobody_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()
    await started(room)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(room.metrics, "settled", broken)
    room.let_go.set()
    await room.settled()

    assert room.statuses() == ["SUCCEEDED"]
    assert room.jobs.busy == 0


async def test_a_bug_at_the_end_leaves_the_job_to_the_reaper(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()
    await started(room)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(room.settler, "add", broken)
    room.let_go.set()
    await room.settled()

    assert room.jobs.busy == 0
    assert room.statuses() == ["RUNNING"]
    assert isinstance(await room.store.claim(limit=1), Look)
