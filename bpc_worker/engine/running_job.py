"""One claimed job, from its start to the row that says how it ended."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import msgspec

from bpc_worker.engine.attempt import attempt
from bpc_worker.engine.context import Equipment, HandlerContext
from bpc_worker.engine.handler_thread import HandlerLoop, Running
from bpc_worker.engine.lazy_event import Once
from bpc_worker.engine.lease import Lease, LeaseKeeper, StopReason
from bpc_worker.engine.settler import Settler
from bpc_worker.handler_api import HandlerSpec
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
from bpc_worker.observability import log
from bpc_worker.observability.tracing import NO_TRACER, JobSpan, Tracer

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

    holding: Lease
    running: Running[Outcome]
    context: HandlerContext
    started: float
    timeout: float
    span: JobSpan
    on_finished: Callable[["Job"], None]
    finished: Once  # its end is durable, or it is somebody else's
    stuck: bool = False

    @property
    def in_time(self) -> bool:
        return time.monotonic() - self.started <= self.timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervisor:
    """Lives in the control loop; the handler runs elsewhere. A job that goes well is a few calls, no task."""

    keeper: LeaseKeeper
    settler: Settler
    handlers: HandlerLoop
    equipment: Equipment
    metrics: JobMetrics
    on_stuck: Callable[[], None]
    tracer: Tracer = NO_TRACER
    stopping: set[asyncio.Task[None]] = field(default_factory=set)

    def start(
        self,
        spec: HandlerSpec[msgspec.Struct],
        claim: Claim,
        *,
        sent_at: float,
        timeout: float,
        on_finished: Callable[[Job], None],
    ) -> Job:
        waited = (claim.started_at - claim.scheduled_at).total_seconds()
        self.metrics.acquired(claim.queue, claim.type, waited=waited)
        span = self.tracer.job(claim)
        if span.traceparent is not None:  # what follows from the job, follows from this attempt
            claim = replace(claim, traceparent=span.traceparent)
        holding = self.keeper.hold(claim, sent_at=sent_at)
        context = HandlerContext(holding, self.equipment, spec.child_tasks, span)
        job = Job(
            holding=holding,
            running=self.handlers.prepare(_attempt(spec, claim, context, span)),
            context=context,
            started=time.monotonic(),
            timeout=spec.timeout_seconds or timeout,
            span=span,
            on_finished=on_finished,
            finished=Once(),
        )
        holding.on_stop = partial(self._stop, job)
        return job

    def _stop(self, job: Job) -> None:
        if not job.running.ended.happened:
            task = asyncio.create_task(self._cancel(job))
            self.stopping.add(task)
            task.add_done_callback(self.stopping.discard)

    async def _cancel(self, job: Job) -> None:
        job.running.cancel()
        await asyncio.wait({job.running.ended.future}, timeout=_PATIENCE_AFTER_CANCEL)
        if job.running.ended.happened:
            return
        job.stuck = True
        _log.error(
            "handler_ignores_cancellation",
            job_id=str(job.holding.claim.job_id), job_type=job.holding.claim.type,
            reason=str(job.holding.stopped),
        )  # fmt: skip
        self.on_stuck()

    def ended(self, job: Job) -> None:
        """Its handler is through: have its end written, unless it was in the handler's own transaction."""
        if job.stuck:
            return  # the process is leaving, and its lease is the reaper's
        try:
            outcome = _outcome(job)
            if job.context.settled is not None or isinstance(outcome, Lost):
                self._finish(job, outcome, job.context.settled)
            else:
                job.holding.begin_settle()
                self.settler.add(job.holding.claim, outcome, partial(self._finish, job, outcome))
        except Exception as error:  # noqa: BLE001 - a bug of ours
            # The job is not lost: its lease ends, and the reaper brings it back.
            _log.error("engine_bug", exc_info=error, job_id=str(job.holding.claim.job_id))
            self._leave(job)

    def _finish(self, job: Job, outcome: Outcome, status: Status | None) -> None:
        try:
            self._report(job, outcome, status)
        except Exception as error:  # noqa: BLE001 - a bug of ours: what is durable is durable, others wait behind it
            _log.error("engine_bug", exc_info=error, job_id=str(job.holding.claim.job_id))
        self._leave(job)

    def _leave(self, job: Job) -> None:
        self.keeper.drop(job.holding)
        job.holding.on_stop = job.running.on_ended = None  # no circles: they would wait for the collector
        if not job.finished.happened:
            job.finished.happen()
            job.on_finished(job)

    async def give_back(self, job: Job) -> None:
        """Without waiting for its handler, which cannot be reached any more."""
        job.holding.stop(StopReason.SHUTDOWN)
        await self.settler.settle(job.holding.claim, Released())

    def _report(self, job: Job, outcome: Outcome, status: Status | None) -> None:
        claim, metrics = job.holding.claim, self.metrics
        seconds = time.monotonic() - job.started
        error = _error_of(outcome)
        job.span.end(type(outcome).__name__, None if error is None else error.code)
        if status is None:
            metrics.lease_lost()
        else:
            metrics.settled(claim.queue, claim.type, status=status.value, seconds=seconds)
            if error is not None:
                metrics.failed(claim.queue, claim.type, reason=error.code)
            if isinstance(outcome, Retry) and status is Status.QUEUED:
                metrics.retried(claim.queue, claim.type)
        if status is not Status.SUCCEEDED or log.is_verbose():
            self._say(job, outcome, status, seconds)

    def _say(self, job: Job, outcome: Outcome, status: Status | None, seconds: float) -> None:
        claim, error = job.holding.claim, _error_of(outcome)
        told = {
            "job_id": claim.job_id, "job_type": claim.type, "queue": claim.queue,
            "tenant_id": claim.tenant_id, "attempt": claim.attempts,
            "outcome": type(outcome).__name__, "status": status.value if status is not None else "LOST",
            "duration_ms": round(seconds * 1000, 1), "correlation_id": claim.correlation_id,
            **job.span.log_fields,
        }  # fmt: skip
        if error is not None:
            told |= {"error_code": error.code, "error_message": error.message}
        say = _log.debug if status is Status.SUCCEEDED else _log.warning
        say("attempt_ended" if status is not None else "lease_lost", **told)


def _outcome(job: Job) -> Outcome:
    returned, stopped = job.running.result(), job.holding.stopped
    if isinstance(returned, Done | Failed) and stopped is not StopReason.LOST:
        return returned  # it came to an end of its own, stopped or not
    if returned is None or isinstance(returned, Lost) or stopped is not None:
        return _because(stopped, job.timeout, cancelled=returned is None)
    return returned


def _log_fields(claim: Claim, span: JobSpan) -> dict[str, object]:
    return {
        "job_id": claim.job_id, "job_type": claim.type, "queue": claim.queue, "attempt": claim.attempts,
        "tenant_id": claim.tenant_id, "correlation_id": claim.correlation_id, **span.log_fields,
    }  # fmt: skip


async def _attempt(
    spec: HandlerSpec[msgspec.Struct], claim: Claim, context: HandlerContext, span: JobSpan
) -> Outcome:
    log.of_job(partial(_log_fields, claim, span))
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
