"""One claimed job, from its start to the row that says how it ended."""

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
from bpc_worker.jobs.errors import Code
from bpc_worker.jobs.model import (
    Cancelled,
    Claim,
    Done,
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
from bpc_worker.settler import Settler

_log = log.get("job")

_PATIENCE_AFTER_CANCEL = 5.0


class JobMetrics(Protocol):
    def acquired(self, queue: str, job_type: str, *, waited: float) -> None: ...

    def settled(self, queue: str, job_type: str, *, status: str, seconds: float) -> None: ...

    def failed(self, queue: str, job_type: str, *, reason: str) -> None: ...

    def retried(self, queue: str, job_type: str) -> None: ...

    def lease_lost(self) -> None: ...


@dataclass(slots=True, eq=False, kw_only=True)
class Job:
    """One claimed job at work in this process."""

    holding: Holding
    running: Running[Outcome]
    context: HandlerContext
    started: float
    timeout: float
    stuck: bool = False

    @property
    def in_time(self) -> bool:
        return time.monotonic() - self.started <= self.timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervisor:
    """Lives in the control loop; the handler runs elsewhere."""

    keeper: LeaseKeeper
    settler: Settler
    handlers: HandlerLoop
    equipment: Equipment
    metrics: JobMetrics
    on_stuck: Callable[[], None]

    def start(
        self, spec: HandlerSpec[msgspec.Struct], claim: Claim, *, sent_at: float, timeout: float
    ) -> Job:
        waited = (claim.started_at - claim.scheduled_at).total_seconds()
        self.metrics.acquired(claim.queue, claim.type, waited=waited)
        holding = self.keeper.hold(claim, sent_at=sent_at)
        context = HandlerContext(holding, self.equipment, spec.child_tasks)
        return Job(
            holding=holding,
            running=self.handlers.run(_attempt(spec, claim, context)),
            context=context,
            started=time.monotonic(),
            timeout=spec.timeout_seconds or timeout,
        )

    async def see_through(self, job: Job) -> None:
        """Until its end is durable, or it is somebody else's, or its handler does not end at all."""
        try:
            outcome = await self._outcome(job)
            if outcome is None:
                await asyncio.Event().wait()  # stuck: it stays here until the process ends
                return
            status = job.context.settled
            if status is None:
                status = await self._settle(job, outcome)
            self._report(job, outcome, status)
        finally:
            self.keeper.drop(job.holding)

    async def _outcome(self, job: Job) -> Outcome | None:
        """How the handler ended; None when it does not."""
        ended, holding = job.running.ended, job.holding
        stopping = asyncio.ensure_future(holding.stop_requested.wait())
        try:
            waiting: set[asyncio.Future[None] | asyncio.Task[Literal[True]]] = {ended, stopping}
            await asyncio.wait(waiting, timeout=job.timeout, return_when=asyncio.FIRST_COMPLETED)
            # A stop is refused while a settle is on its way: that is bounded, so ask again.
            while not ended.done() and holding.stopped is None and not holding.stop(StopReason.TIMEOUT):
                await asyncio.wait(waiting, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if not ended.done() and not await self._cancel(job):
            return None
        returned = job.running.result()
        if isinstance(returned, Done | Failed) and holding.stopped is not StopReason.LOST:
            return returned  # it came to an end of its own, stopped or not
        if returned is None or isinstance(returned, Lost) or holding.stopped is not None:
            return _because(holding.stopped, job.timeout, cancelled=returned is None)
        return returned

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
        self.on_stuck()
        return False

    async def _settle(self, job: Job, outcome: Outcome) -> Status | None:
        if isinstance(outcome, Lost):
            return None
        job.holding.begin_settle()
        return await self.settler.settle(job.holding.claim, outcome)

    async def give_back(self, job: Job) -> None:
        """Without waiting for its handler, which cannot be reached any more."""
        job.holding.stop(StopReason.SHUTDOWN)
        await self.settler.settle(job.holding.claim, Released())

    def _report(self, job: Job, outcome: Outcome, status: Status | None) -> None:
        claim, metrics = job.holding.claim, self.metrics
        seconds = time.monotonic() - job.started
        error = _error_of(outcome)
        if status is None:
            metrics.lease_lost()
        else:
            metrics.settled(claim.queue, claim.type, status=status.value, seconds=seconds)
            if error is not None:
                metrics.failed(claim.queue, claim.type, reason=error.code)
            if isinstance(outcome, Retry) and status is Status.QUEUED:
                metrics.retried(claim.queue, claim.type)
        told = {
            "job_id": str(claim.job_id), "job_type": claim.type, "queue": claim.queue,
            "tenant_id": str(claim.tenant_id), "attempt": claim.attempts,
            "outcome": type(outcome).__name__, "status": status.value if status is not None else "LOST",
            "duration_ms": round(seconds * 1000, 1), "correlation_id": claim.correlation_id,
        }  # fmt: skip
        if error is not None:
            told |= {"error_code": error.code, "error_message": error.message}
        say = _log.debug if status is Status.SUCCEEDED else _log.warning
        say("attempt_ended" if status is not None else "lease_lost", **told)


async def _attempt(spec: HandlerSpec[msgspec.Struct], claim: Claim, context: HandlerContext) -> Outcome:
    with structlog.contextvars.bound_contextvars(
        job_id=str(claim.job_id), job_type=claim.type, queue=claim.queue, attempt=claim.attempts,
        tenant_id=str(claim.tenant_id), correlation_id=claim.correlation_id,
    ):  # fmt: skip
        return await attempt(spec, claim, context)


def _because(reason: StopReason | None, timeout: float, *, cancelled: bool) -> Settleable | Lost:
    """What the end of a handler means that was stopped, by who stopped it.

    One that gave up by itself, because it could not prove its lease, may still hold it: the settle tells.
    """
    match reason:
        case StopReason.TIMEOUT:
            text = f"the handler did not end within {timeout:g} s"
            return Retry(ErrorInfo(Code.HANDLER_TIMEOUT, text, True))
        case StopReason.SHUTDOWN:
            return Released()
        case StopReason.CANCEL:
            return Cancelled()
        case None if cancelled:
            text = "the handler cancelled itself"
            return Retry(ErrorInfo(Code.INTERNAL_ERROR, text, True))
        case StopReason.UNPROVEN | None:
            text = "the lease could not be renewed in time"
            return InfrastructureAway(ErrorInfo(Code.DB_UNAVAILABLE, text, True))
        case StopReason.LOST:
            return Lost()


def _error_of(outcome: Outcome) -> ErrorInfo | None:
    match outcome:
        case Retry(error) | Failed(error) | InfrastructureAway(error) | Snoozed(error, _):
            return error
        case _:
            return None
