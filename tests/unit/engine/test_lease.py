"""Leases are renewed in time, and what cannot be proven is stopped before anybody else may have the job."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from bpc_worker.engine.clock import seconds_since_boot
from bpc_worker.engine.lease import Lease, LeaseKeeper, LeaseTiming, StopReason
from bpc_worker.jobs.errors import Code, JobError, LeaseLost, Unavailable
from bpc_worker.jobs.model import Claim, Fate, LeaseToken
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Heartbeat, Renewal
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.testing import A_TENANT, a_claim, a_job
from tests.support.virtual_time import VirtualClock, steps, until

pytestmark = pytest.mark.virtual_time

LEASE = 60.0
RENEW = 20.0
TIMING = LeaseTiming(lease_seconds=LEASE, renew_seconds=RENEW)
AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")


class Store(MemoryJobStore):
    """The store in memory, with what may happen to a renewal."""

    def __init__(self, clock: VirtualClock) -> None:
        settings = QueueSettings(owner="w", types=("TEST_NOOP",), lease_seconds=LEASE)
        super().__init__(settings, clock=clock)
        self.away = False
        self.locked: set[LeaseToken] = set()
        self.renewals: list[Sequence[Heartbeat]] = []

    async def renew(self, beats: Sequence[Heartbeat]) -> Renewal:
        self.renewals.append(beats)
        if self.away:
            raise AWAY
        found = await super().renew([beat for beat in beats if beat.lease_token not in self.locked])
        return Renewal(found.renewed, found.cancel_requested, found.missing | self._locked(beats))

    def _locked(self, beats: Sequence[Heartbeat]) -> dict[LeaseToken, Fate]:
        return {beat.lease_token: Fate.LOCKED for beat in beats if beat.lease_token in self.locked}


@dataclass
class Bench:
    clock: VirtualClock
    store: Store
    keeper: LeaseKeeper
    renewed: list[int]
    seen: list[JobError | None]
    stopped: list[StopReason | None] = field(default_factory=list)

    async def claim(self) -> Claim:
        await self.store.enqueue(A_TENANT, a_job())
        [claim] = (await self.store.claim(limit=1)).claims
        return claim

    async def hold(self) -> Lease:
        lease = self.keeper.hold(
            await self.claim(), sent_at=self.clock(), on_stop=lambda: self.stopped.append(lease.stopped)
        )
        return lease

    @asynccontextmanager
    async def keeping(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(duty()) for duty in (self.keeper.keep, self.keeper.fence)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


@pytest.fixture
async def bench() -> Bench:
    clock = VirtualClock()
    store, renewed = Store(clock), list[int]()
    seen: list[JobError | None] = []
    keeper = LeaseKeeper(
        store, TIMING, dice=lambda: 0.5, on_renewed=renewed.append, on_database=seen.append, clock=clock
    )
    return Bench(clock, store, keeper, renewed, seen)


async def test_a_lease_is_renewed_for_as_long_as_it_is_held(bench: Bench) -> None:
    lease = await bench.hold()
    async with bench.keeping():
        await asyncio.sleep(10 * LEASE)

    lease.check()
    assert lease.provable
    assert bench.stopped == []
    assert len(bench.renewed) == 1 + 10 * LEASE / RENEW
    assert set(bench.seen) == {None}


async def test_nothing_is_asked_while_nothing_is_held(bench: Bench) -> None:
    async with bench.keeping():
        await asyncio.sleep(LEASE)
        assert bench.store.renewals == []
        lease = await bench.hold()
        await asyncio.sleep(RENEW + 1)
        bench.keeper.drop(lease)
        bench.keeper.drop(lease)  # twice harms nobody
        asked = len(bench.store.renewals)
        await asyncio.sleep(LEASE)

    assert bench.keeper.held == ()
    assert len(bench.store.renewals) == asked > 0


async def test_all_that_is_held_is_renewed_by_one_statement_with_its_progress(bench: Bench) -> None:
    first, second = await bench.hold(), await bench.hold()
    first.stage, first.progress = "reading", '{"done": 1}'
    async with bench.keeping():
        await steps()

    assert bench.store.renewals == [[first.heartbeat(), second.heartbeat()]]
    assert bench.store.row(first.claim.job_id).stage == "reading"
    assert bench.renewed == [2]


async def test_a_handler_whose_lease_cannot_be_renewed_is_stopped_before_it_ends(bench: Bench) -> None:
    """The fence: the database is away, so nobody can tell whether the job is still ours."""
    lease = await bench.hold()
    bench.store.away = True
    started = bench.clock()
    async with bench.keeping():
        await until(lambda: lease.stopped is not None)

    assert bench.stopped == [StopReason.UNPROVEN]
    assert LEASE - 5.3 <= bench.clock() - started < LEASE - TIMING.margin + 0.3
    assert set(bench.seen) == {AWAY}
    assert not lease.provable
    with pytest.raises(LeaseLost, match="stopped: unproven"):
        lease.check()


async def test_an_outage_that_ends_in_time_stops_nobody(bench: Bench) -> None:
    await bench.hold()
    bench.store.away = True
    async with bench.keeping():
        await asyncio.sleep(LEASE - 10)
        bench.store.away = False
        await asyncio.sleep(LEASE)

    assert bench.stopped == []
    assert AWAY in bench.seen
    assert bench.seen[-1] is None


async def test_a_failed_renewal_is_tried_again_soon(bench: Bench) -> None:
    await bench.hold()
    bench.store.away = True
    async with bench.keeping():
        await asyncio.sleep(9)

    assert len(bench.store.renewals) == 5  # at 0, 2, 4, 6 and 8 seconds


async def test_a_machine_that_slept_past_the_lease_stops_its_handlers(bench: Bench) -> None:
    """Timers do not count while it sleeps, and the lease ends all the same."""
    lease = await bench.hold()
    async with bench.keeping():
        await steps()
        bench.clock.suspend(LEASE)
        with pytest.raises(LeaseLost, match="may have ended"):
            lease.check()
        assert not lease.provable
        await asyncio.sleep(0.3)

    assert bench.stopped == [StopReason.UNPROVEN]


async def test_a_job_that_somebody_else_has_is_stopped(bench: Bench) -> None:
    lease = await bench.hold()
    bench.clock.suspend(LEASE)
    await bench.store.reap()
    lease.proven_until += LEASE  # so that it is not the fence that finds out
    async with bench.keeping():
        await steps()

    assert bench.stopped == [StopReason.LOST]


async def test_a_job_that_is_to_be_cancelled_is_stopped(bench: Bench) -> None:
    lease = await bench.hold()
    await bench.store.cancel(lease.claim.job_id)
    async with bench.keeping():
        await steps()

    assert bench.stopped == [StopReason.CANCEL]


async def test_a_job_that_is_settled_already_is_left_alone(bench: Bench) -> None:
    lease = bench.keeper.hold(a_claim(), sent_at=bench.clock(), on_stop=lambda: None)
    again_in = bench.keeper._apply(
        [lease],
        Renewal(frozenset(), frozenset(), {lease.claim.lease_token: Fate.SETTLED}),
        proven_until=0.0,
    )

    assert again_in == RENEW
    assert lease.provable


async def test_a_locked_row_is_asked_for_again_within_a_second(bench: Bench) -> None:
    lease = await bench.hold()
    bench.store.locked.add(lease.claim.lease_token)
    proven_until = lease.proven_until
    async with bench.keeping():
        await asyncio.sleep(3.5)
        assert lease.proven_until == proven_until
        bench.store.locked.clear()
        await asyncio.sleep(1)

    assert len(bench.store.renewals) == 5
    assert lease.proven_until > proven_until


async def test_progress_that_cannot_be_stored_costs_nobody_his_lease(bench: Bench) -> None:
    bad, good = await bench.hold(), await bench.hold()
    bad.stage, bad.progress = "reading", "{not JSON"
    async with bench.keeping():
        await steps()

    assert bench.renewed == [2]
    assert bad.heartbeat() == Heartbeat(bad.claim.job_id, bad.claim.lease_token)
    assert bad.provable
    assert good.provable


async def test_a_lease_is_proven_from_the_moment_at_which_the_claim_was_sent(bench: Bench) -> None:
    """Not from its answer: the server counts from somewhere in between."""
    sent_at = bench.clock()
    claim = await bench.claim()
    bench.clock.suspend(7)

    assert bench.keeper.hold(claim, sent_at=sent_at, on_stop=lambda: None).proven_until == sent_at + LEASE


async def test_a_renewal_proves_from_the_moment_at_which_it_was_sent(bench: Bench) -> None:
    lease = await bench.hold()
    sent_at = bench.clock()
    original = bench.store.renew

    async def slowly(beats: Sequence[Heartbeat]) -> Renewal:
        found = await original(beats)
        await asyncio.sleep(4)
        return found

    bench.store.renew = slowly  # type: ignore[method-assign]  # slower
    async with bench.keeping():
        await asyncio.sleep(5)

    assert lease.proven_until == sent_at + LEASE


def a_lease(*, proven_until: float = float("inf")) -> Lease:
    return Lease(a_claim(), proven_until=proven_until)


def test_who_stops_first_is_right() -> None:
    lease = a_lease()

    assert lease.stop(StopReason.TIMEOUT)
    assert not lease.stop(StopReason.SHUTDOWN)
    assert lease.stopped is StopReason.TIMEOUT


def test_nobody_stops_a_handler_whose_end_is_being_written() -> None:
    lease = a_lease()

    assert lease.begin_settle()
    assert not lease.stop(StopReason.TIMEOUT)
    lease.check()
    lease.end_settle()
    assert lease.stop(StopReason.TIMEOUT)
    assert not lease.begin_settle()


def test_a_lease_by_the_systems_clock_ends() -> None:
    a_lease(proven_until=seconds_since_boot() + 60).check()
    with pytest.raises(LeaseLost):
        a_lease(proven_until=seconds_since_boot()).check()


@pytest.mark.parametrize(("lease_seconds", "margin"), [(60, 5), (12, 2)])
def test_a_short_lease_has_a_short_margin(lease_seconds: float, margin: float) -> None:
    timing = LeaseTiming(lease_seconds=lease_seconds, renew_seconds=1)

    assert timing.margin == margin
    assert timing.retry_after(1.0) == min(3, lease_seconds / 6)
