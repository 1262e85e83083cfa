"""The loop: look, take what fits, wait for a reason to look again."""

import asyncio
import math
from collections.abc import Callable
from typing import Protocol

from bpc_worker.engine.claiming.intake import ClaimBatch, Intake
from bpc_worker.engine.running_jobs import RunningJobs
from bpc_worker.engine.settler import Settler
from bpc_worker.engine.wake import Wake

_BETWEEN_EMPTY_LOOKS = 0.05  # at most twenty looks a second, however loud the bell
_AFTER_A_FAILURE = 0.05
_LONGEST_AFTER_FAILURES = 2.0
_HERD_SECONDS = 0.002  # for each bell in a row by which others came first
_LONGEST_HERD_SECONDS = 0.05
_EXTERNAL_WAKEUPS = frozenset({"amqp", "notify"})
_ANYTHING_BUT_STOP = _EXTERNAL_WAKEUPS | {"slot", "follow_up", "produced"}
_START = frozenset({"start"})


class WakeMetrics(Protocol):
    def woken(self, source: str) -> None: ...


class Runner:
    def __init__(
        self,
        intake: Intake,
        jobs: RunningJobs,
        settler: Settler,
        wake: Wake,
        metrics: WakeMetrics,
        *,
        poll_seconds: float,
        dice: Callable[[], float],
    ) -> None:
        self._intake = intake
        self._jobs = jobs
        self._settler = settler
        self._wake = wake
        self._metrics = metrics
        self._poll_seconds = poll_seconds
        self._dice = dice
        self._woken_by = _START
        self._failures = 0  # of looks in a row
        self._late = 0  # bells in a row by which others came first

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop. Jobs that are running then go on: `RunningJobs.drain` ends them."""
        while not stop.is_set() or self._intake.claim_under_way:
            batch = await self._next_batch()
            if not batch.more:
                await self._rest(batch)

    async def run_until_empty(self, stop: asyncio.Event) -> None:
        """Until nothing is due and nothing runs."""
        while not stop.is_set() or self._intake.claim_under_way:
            batch = await self._next_batch()
            if batch.more:
                continue
            if self._jobs.busy:
                await self._jobs.any_finished()
            elif batch.look_again_in < math.inf or not batch.answered:
                await self._wait(batch)
            elif batch.nothing_left:
                return
            else:
                await asyncio.sleep(_BETWEEN_EMPTY_LOOKS)
            self._intake.look_everywhere()

    async def _next_batch(self) -> ClaimBatch:
        batch = await self._intake.next_batch()
        self._jobs.start(batch.claims)
        if batch.written:
            self._settler.confirm(batch.written)
        return batch

    async def _rest(self, batch: ClaimBatch) -> None:
        if batch.failed:
            await self._pause_after_failure()
            return
        self._failures = 0
        if batch.found_nothing and self._woken_by & _EXTERNAL_WAKEUPS:
            self._late += 1
            await self._wake.pause(_BETWEEN_EMPTY_LOOKS, ignoring=_EXTERNAL_WAKEUPS)
        elif batch.claims:
            self._late = 0
        self._woken_by = await self._wait(batch)
        if self._late and self._woken_by <= _EXTERNAL_WAKEUPS:  # others were quicker, and will be again
            pause = min(self._late * _HERD_SECONDS, _LONGEST_HERD_SECONDS)
            await self._wake.pause(self._dice() * pause, ignoring=_EXTERNAL_WAKEUPS)
        if self._woken_by != {"slot"}:  # a slot that got free says nothing about new jobs
            self._intake.look_everywhere()

    async def _pause_after_failure(self) -> None:
        """Whatever rings: a database that comes back must not meet everybody at once."""
        pause = min(_AFTER_A_FAILURE * 2 ** min(self._failures, 10), _LONGEST_AFTER_FAILURES)
        self._failures += 1
        await self._wake.pause(pause * (0.5 + self._dice()), ignoring=_ANYTHING_BUT_STOP)
        self._intake.look_everywhere()

    async def _wait(self, batch: ClaimBatch) -> frozenset[str]:
        """Until somebody rings, the next job falls due, or a poll interval is over."""
        at_most = self._poll_seconds * (0.9 + 0.2 * self._dice())  # so that a fleet does not look at once
        is_due_first = batch.look_again_in < at_most
        woken_by = await self._wake.wait(at_most=min(batch.look_again_in, at_most))
        for source in woken_by or (("due",) if is_due_first else ("poll",)):
            self._metrics.woken(source)
        return woken_by
