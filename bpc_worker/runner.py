"""The loop: look, take what fits, wait for a reason to look again."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec
import structlog

from bpc_worker import log
from bpc_worker.attempt import attempt
from bpc_worker.context import Equipment, HandlerContext
from bpc_worker.handler_api import HandlerSpec
from bpc_worker.handler_loop import HandlerLoop, Running
from bpc_worker.health import Health
from bpc_worker.jobs.errors import Code, JobError
from bpc_worker.jobs.model import (
    Cancelled,
    Claim,
    ErrorInfo,
    Failed,
    InfrastructureAway,
    Lost,
    Outcome,
    Released,
    Retry,
    Settleable,
    Snoozed,
    Status,
)
from bpc_worker.lease import Holding, LeaseKeeper, StopReason
from bpc_worker.ports import JobStore
from bpc_worker.registry import Registry
from bpc_worker.settler import Settler
from bpc_worker.wake import Wake

_log = log.get("runner")

_PATIENCE_AFTER_CANCEL = 5.0
_BETWEEN_EMPTY_LOOKS = 0.05  # at most twenty looks a second, however loud the bell


class RunnerMetrics(Protocol):
    def looked(self) -> None: ...

    def woken(self, source: str) -> None: ...

    def acquired(self, queue: str, job_type: str, *, waited: float) -> None: ...

    def settled(self, queue: str, job_type: str, *, status: str, seconds: float) -> None: ...

    def failed(self, queue: str, job_type: str, *, reason: str) -> None: ...

    def retried(self, queue: str, job_type: str) -> None: ...

    def lease_lost(self) -> None: ...

    def slots(self, in_use: int) -> None: ...


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
    keeper: LeaseKeeper
    settler: Settler
    handlers: HandlerLoop
    registry: Registry
    equipment: Equipment
    wake: Wake
    health: Health
    metrics: RunnerMetrics
    tell_others: Callable[[], None]


@dataclass(slots=True, eq=False)
class Job:
    """One claimed job at work in this process."""

    holding: Holding
    running: Running[Outcome]
    context: HandlerContext
    started: float
    timeout: float
    stuck: bool = False


class Runner:
    def __init__(self, parts: Parts, pace: Pace) -> None:
        self._parts = parts
        self._pace = pace
        self._jobs: dict[asyncio.Task[None], Job] = {}
        self._emptying_for_suspect = False
        self._suspect_checked_at = time.monotonic()
        self.stuck = asyncio.Event()  # a handler ignores its cancellation: the process has to end

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
            if claimed == 0 and "amqp" in rung:
                await asyncio.sleep(_BETWEEN_EMPTY_LOOKS)
            rung = await self._wait()

    async def run_until_empty(self, stop: asyncio.Event) -> None:
        """Until nothing is due and nothing runs."""
        while not stop.is_set():
            claimed, _ = await self._look()
            if self._jobs:
                await asyncio.wait(set(self._jobs), return_when=asyncio.FIRST_COMPLETED)
            elif not claimed and self._parts.health.database_down is None:
                return
            elif not claimed:
                await self._wait()

    @property
    def _free(self) -> int:
        if self._emptying_for_suspect or any(job.holding.claim.suspect for job in self._jobs.values()):
            return 0
        return self._pace.slots - len(self._jobs)

    async def _wait(self) -> frozenset[str]:
        rung = await self._parts.wake.wait(at_most=self._pace.spread(self._pace.poll_seconds, 0.1))
        for source in rung or ("poll",):
            self._parts.metrics.woken(source)
        return rung

    async def _look(self) -> tuple[int, int]:
        """How many jobs were claimed, and how many were asked for."""
        try:
            if self._jobs:
                await self._mind_suspects()
            asked = self._free
            if asked <= 0:
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
        self._parts.metrics.acquired(
            claim.queue, claim.type, waited=(claim.started_at - claim.scheduled_at).total_seconds()
        )
        spec = self._parts.registry[claim.type]
        holding = self._parts.keeper.hold(claim, sent_at=sent_at)
        context = HandlerContext(holding, self._parts.equipment)
        job = Job(
            holding=holding,
            running=self._parts.handlers.run(_attempt(spec, claim, context)),
            context=context,
            started=time.monotonic(),
            timeout=spec.timeout_seconds or self._pace.job_timeout_seconds,
        )
        task = asyncio.create_task(self._run_one(job), name=f"job-{claim.job_id}")
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

    async def _run_one(self, job: Job) -> None:
        try:
            outcome = await self._outcome(job)
            if outcome is None:
                return  # stuck: its lease is the reaper's
            status = job.context.settled
            if status is None:
                status = await self._settle(job, outcome)
            self._report(job, outcome, status)
        finally:
            self._parts.keeper.drop(job.holding)
        if job.context.follow_ups:
            self._parts.wake.ring("follow_up")
            self._parts.tell_others()

    async def _outcome(self, job: Job) -> Outcome | None:
        """How the handler ended; None when it does not end at all."""
        stopping = asyncio.ensure_future(job.holding.stop_requested.wait())
        try:
            waiting: set[asyncio.Future[None] | asyncio.Task[Literal[True]]] = {job.running.ended, stopping}
            await asyncio.wait(waiting, timeout=job.timeout, return_when=asyncio.FIRST_COMPLETED)
            if not job.running.ended.done() and not job.holding.stop(StopReason.TIMEOUT):
                # It is settling at this moment, which is bounded; or somebody else stopped it just now.
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if not job.running.ended.done() and not await self._cancel(job):
            return None
        returned = job.running.result()
        if returned is not None and job.holding.stopped is not StopReason.LOST:
            return returned
        return _because(job.holding.stopped, job.timeout)

    async def _cancel(self, job: Job) -> bool:
        job.running.cancel()
        await asyncio.wait({job.running.ended}, timeout=_PATIENCE_AFTER_CANCEL)
        if job.running.ended.done():
            return True
        job.stuck = True
        _log.error(
            "handler_ignores_cancellation",
            job_id=str(job.holding.claim.job_id), job_type=job.holding.claim.type,
            reason=str(job.holding.stopped),
        )  # fmt: skip
        self.stuck.set()
        return False

    async def _settle(self, job: Job, outcome: Outcome) -> Status | None:
        if isinstance(outcome, Lost):
            return None
        job.holding.begin_settle()
        return await self._parts.settler.settle(job.holding.claim, outcome)

    def _report(self, job: Job, outcome: Outcome, status: Status | None) -> None:
        claim, metrics = job.holding.claim, self._parts.metrics
        seconds = time.monotonic() - job.started
        if status is None:
            metrics.lease_lost()
        else:
            metrics.settled(claim.queue, claim.type, status=status.value, seconds=seconds)
            if isinstance(outcome, Retry) and status is Status.QUEUED:
                metrics.retried(claim.queue, claim.type)
        error = _error_of(outcome)
        if error is not None and status is not None:
            metrics.failed(claim.queue, claim.type, reason=error.code)
        say = _log.debug if status is Status.SUCCEEDED else _log.warning
        say(
            "attempt_ended" if status is not None else "lease_lost",
            job_id=str(claim.job_id), job_type=claim.type, queue=claim.queue,
            tenant_id=str(claim.tenant_id), attempt=claim.attempts, outcome=type(outcome).__name__,
            status=status.value if status is not None else "LOST",
            duration_ms=round(seconds * 1000, 1),
            error_code=error.code if error is not None else None,
            error_message=error.message if error is not None else None,
            correlation_id=claim.correlation_id,
        )  # fmt: skip

    @property
    def inside_time_outs(self) -> bool:
        """Whether some job is running that has not used up its time."""
        now = time.monotonic()
        return any(now - job.started <= job.timeout for job in self._jobs.values())

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
        blocking = [job for job in jobs if job.running.blocks_the_loop]
        guilty = blocking if self._parts.handlers.blocked else [job for job in jobs if job.stuck]
        innocent = [job for job in jobs if job not in guilty]
        for job in innocent:
            job.holding.stop(StopReason.SHUTDOWN)
        releases = [
            asyncio.ensure_future(self._parts.settler.settle(job.holding.claim, Released()))
            for job in innocent
            if job.context.settled is None
        ]
        if releases:
            _log.warning("jobs_released", count=len(releases))
            await asyncio.wait(releases, timeout=within)


async def _attempt(spec: HandlerSpec[msgspec.Struct], claim: Claim, context: HandlerContext) -> Outcome:
    with structlog.contextvars.bound_contextvars(
        job_id=str(claim.job_id), job_type=claim.type, queue=claim.queue, attempt=claim.attempts,
        tenant_id=str(claim.tenant_id), correlation_id=claim.correlation_id,
    ):  # fmt: skip
        return await attempt(spec, claim, context)


def _because(reason: StopReason | None, timeout: float) -> Settleable | Lost:
    """What a cancelled handler's end means, by who cancelled it."""
    match reason:
        case StopReason.TIMEOUT:
            text = f"the handler did not end within {timeout:g} s"
            return Retry(ErrorInfo(Code.HANDLER_TIMEOUT, text, True))
        case StopReason.SHUTDOWN:
            return Released()
        case StopReason.CANCEL:
            return Cancelled()
        case StopReason.UNPROVEN:
            text = "the lease could not be renewed in time"
            return InfrastructureAway(ErrorInfo(Code.DB_UNAVAILABLE, text, True))
        case StopReason.LOST:
            return Lost()
        case None:
            text = "the handler cancelled itself"
            return Retry(ErrorInfo(Code.INTERNAL_ERROR, text, True))


def _error_of(outcome: Outcome) -> ErrorInfo | None:
    match outcome:
        case Retry(error) | Failed(error) | InfrastructureAway(error) | Snoozed(error, _):
            return error
        case _:
            return None
