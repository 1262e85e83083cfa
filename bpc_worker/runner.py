"""The loop: look, take what fits, wait for a reason to look again."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bpc_worker import log
from bpc_worker.handler_loop import HandlerLoop
from bpc_worker.health import Health
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.model import Claim
from bpc_worker.lease import StopReason
from bpc_worker.ports import JobStore
from bpc_worker.registry import Registry
from bpc_worker.supervisor import Job, Supervisor
from bpc_worker.wake import Wake

_log = log.get("runner")

_BETWEEN_EMPTY_LOOKS = 0.05  # at most twenty looks a second, however loud the bell


class RunnerMetrics(Protocol):
    def looked(self) -> None: ...

    def woken(self, source: str) -> None: ...

    def slots(self, in_use: int) -> None: ...

    def produced(self, queue: str, job_type: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    slots: int
    poll_seconds: float
    job_timeout_seconds: float
    suspect_check_seconds: float
    spread: Callable[[float, float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the loop works with."""

    store: JobStore
    supervisor: Supervisor
    handlers: HandlerLoop
    registry: Registry
    wake: Wake
    health: Health
    metrics: RunnerMetrics
    tell_others: Callable[[], None]


class Runner:
    def __init__(self, parts: Parts, pace: Pace, *, stuck: asyncio.Event) -> None:
        self._parts = parts
        self._pace = pace
        self.stuck = stuck  # a handler ignores its cancellation: the process has to end
        self._jobs: dict[asyncio.Task[None], Job] = {}
        self._emptying_for_suspect = False
        self._suspect_checked_at = time.monotonic()

    @property
    def busy(self) -> int:
        return len(self._jobs)

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop. Jobs that are running then go on: `drain` ends them."""
        rung = frozenset({"start"})
        while not stop.is_set():
            claimed, asked = await self._look()
            if 0 < claimed == asked and self._free:
                continue  # it came back full: there may be more
            if claimed == 0 and "amqp" in rung and self._free:  # a full worker has not looked
                await self._parts.wake.pause(_BETWEEN_EMPTY_LOOKS, ignoring="amqp")
            rung = await self._wait()

    async def run_until_empty(self, stop: asyncio.Event) -> None:
        """Until nothing is due and nothing runs."""
        while not stop.is_set():
            claimed, asked = await self._look()
            if self._jobs:
                await asyncio.wait(set(self._jobs), return_when=asyncio.FIRST_COMPLETED)
            elif asked and not claimed:
                return
            elif not claimed:
                await self._wait()

    @property
    def _free(self) -> int:
        if self.stuck.is_set():  # the process is about to end: what it gave back is not for itself
            return 0
        if self._jobs and self._emptying_for_suspect:
            return 0
        if any(job.holding.claim.suspect for job in self._jobs.values()):
            return 0
        return self._pace.slots - len(self._jobs)

    async def _wait(self) -> frozenset[str]:
        rung = await self._parts.wake.wait(at_most=self._pace.spread(self._pace.poll_seconds, 0.1))
        for source in rung or ("poll",):
            self._parts.metrics.woken(source)
        return rung

    async def _look(self) -> tuple[int, int]:
        """How many jobs were claimed, and how many were asked for: none when there was no answer."""
        try:
            await self._parts.store.undo_unheard_claims()
            if self._jobs:
                await self._mind_suspects()
            asked = self._free
            if asked <= 0 or not self._parts.health.may_claim:
                return 0, 0
            sent_at = time.monotonic()
            self._parts.metrics.looked()
            claims = await self._parts.store.claim(limit=asked, idle=not self._jobs)
        except JobError as error:
            self._parts.health.note_database(error)
            _log.warning("look_failed", error_code=error.code, error_message=error.message)
            return 0, 0
        self._parts.health.note_claim()
        for claim in claims:
            self._start(claim, sent_at)
        return len(claims), asked

    async def _mind_suspects(self) -> None:
        """A worker that is never idle empties itself when a suspect has waited too long."""
        now = time.monotonic()
        if now - self._suspect_checked_at < self._pace.suspect_check_seconds:
            return
        self._suspect_checked_at = now
        self._emptying_for_suspect = await self._parts.store.suspect_waiting()

    def _start(self, claim: Claim, sent_at: float) -> None:
        job = self._parts.supervisor.start(
            self._parts.registry[claim.type], claim, sent_at=sent_at, timeout=self._pace.job_timeout_seconds
        )
        task = asyncio.create_task(self._parts.supervisor.see_through(job), name=f"job-{claim.job_id}")
        self._jobs[task] = job
        task.add_done_callback(self._ended)
        self._parts.metrics.slots(len(self._jobs))

    def _ended(self, task: asyncio.Task[None]) -> None:
        was_full = self._free <= 0
        job = self._jobs.pop(task)
        if not self._jobs:
            self._emptying_for_suspect = False
        self._parts.metrics.slots(len(self._jobs))
        if not task.cancelled() and (error := task.exception()) is not None:
            # A bug of ours. The job is not lost: its lease ends, and the reaper brings it back.
            _log.error("engine_bug", exc_info=error, job_id=str(job.holding.claim.job_id))
        if was_full:
            self._parts.wake.ring("slot")
        for follow_up in job.context.follow_ups:
            self._parts.metrics.produced(follow_up.queue or "default", follow_up.type)
        if job.context.follow_ups:
            self._parts.wake.ring("follow_up")
            self._parts.tell_others()

    @property
    def inside_time_outs(self) -> bool:
        """Whether some job is running that has not used up its time."""
        return any(job.in_time for job in self._jobs.values())

    async def drain(self, *, grace: float, hurry: asyncio.Event) -> None:
        """Let running jobs finish for `grace` seconds or until told to hurry; then give them back."""
        if self._jobs:
            hurried = asyncio.ensure_future(hurry.wait())
            stuck = asyncio.ensure_future(self.stuck.wait())
            finished = asyncio.ensure_future(self._all_ended())
            waiting = {hurried, stuck, finished}
            await asyncio.wait(waiting, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            for each in waiting:
                each.cancel()
        for job in tuple(self._jobs.values()):
            job.holding.stop(StopReason.SHUTDOWN)

    async def _all_ended(self) -> None:
        while self._jobs:
            await asyncio.wait(set(self._jobs))

    async def ended(self, *, within: float) -> bool:
        if self._jobs:
            await asyncio.wait(set(self._jobs), timeout=within)
        return not self._jobs

    async def abandon(self, *, within: float) -> None:
        """The handlers' loop is stuck: give back every job but the one that blocks it, waiting for none."""
        jobs = tuple(self._jobs.values())
        guilty = [job for job in jobs if job.stuck]
        if self._parts.handlers.blocked:  # by whom? where it cannot be told, everybody pays the attempt
            guilty = [job for job in jobs if job.running.blocks_the_loop] or list(jobs)
        releases = [  # one whose handler has ended is being settled already
            task if job.running.ended.done() else asyncio.ensure_future(self._parts.supervisor.give_back(job))
            for task, job in self._jobs.items()
            if job not in guilty
        ]
        if releases:
            _log.warning("jobs_released", count=len(releases))
            await asyncio.wait(releases, timeout=within)
