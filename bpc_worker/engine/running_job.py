"""One claimed job, from its start to the row that says how it ended: started, ended, settled, finished."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import msgspec

from bpc_worker.engine.attempt import attempt
from bpc_worker.engine.beginnings import Beginnings
from bpc_worker.engine.claiming.slots import Claimed
from bpc_worker.engine.clock import Clock
from bpc_worker.engine.context import Equipment, HandlerContext
from bpc_worker.engine.handler_thread import HandlerThread, LazyEvent
from bpc_worker.engine.lease import LeaseKeeper, StopReason
from bpc_worker.engine.settler import Settler
from bpc_worker.engine.stopped import because
from bpc_worker.handler_api import HandlerSpec
from bpc_worker.jobs.model import (
    Claim,
    Done,
    ErrorInfo,
    Failed,
    InfrastructureAway,
    Lost,
    NewJob,
    Outcome,
    Released,
    Retry,
    Snoozed,
    Status,
)
from bpc_worker.observability import log
from bpc_worker.observability.tracing import NO_SPAN, JobSpan, Tracer

_log = log.get("job")

_PATIENCE_AFTER_CANCEL = 5.0
_TELLS_A_DEATH = "RECORD_DEAD_LETTER"  # a trigger queues it
_UNTOLD = frozenset({_TELLS_A_DEATH, "DELIVER_WEBHOOK"})  # whose deaths are not
_KEPT_BY_UNSTARTED = (StopReason.CANCEL, StopReason.LOST)


class JobMetrics(Protocol):
    def acquired(self, queue: str, job_type: str, *, waited: float) -> None: ...

    def settled(self, queue: str, job_type: str, *, status: str, seconds: float) -> None: ...

    def failed(self, queue: str, job_type: str, *, reason: str) -> None: ...

    def retried(self, queue: str, job_type: str) -> None: ...

    def lease_lost(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobParts:
    """What all jobs of this process are run with."""

    keeper: LeaseKeeper
    settler: Settler
    handlers: HandlerThread
    beginnings: Beginnings
    equipment: Equipment
    metrics: JobMetrics
    clock: Clock
    default_timeout: float
    leave_slot: Callable[[Claim], list[Claimed]]  # those that begin in its place
    on_stuck: Callable[[], None]  # a handler ignores its cancellation: the process has to end
    tracer: Tracer | None = None
    stopping: set[asyncio.Task[None]] = field(default_factory=set)


class Follower(Protocol):
    """Whoever has started a job."""

    def start(self, claims: Iterable[Claimed]) -> None:
        """Others begin."""

    def finished(self, job: "RunningJob") -> None:
        """Its end is durable, or it is somebody else's."""


class RunningJob:
    """Lives in the control loop; the handler runs elsewhere. A job that goes well is a few calls, no task."""

    def __init__(
        self, spec: HandlerSpec[msgspec.Struct], claimed: Claimed, parts: JobParts, follower: Follower
    ) -> None:
        claim = claimed.claim
        waited = (claim.started_at - claim.scheduled_at).total_seconds()
        parts.metrics.acquired(claim.queue, claim.type, waited=waited)
        self._span = NO_SPAN if parts.tracer is None else parts.tracer.job(claim)
        if self._span.traceparent is not None:  # what follows from the job, follows from this attempt
            claim = replace(claim, traceparent=self._span.traceparent)
        self._parts = parts
        self._follower = follower
        self._started_at = parts.clock()
        self._begun_at: float | None = None
        self._timeout = spec.timeout_seconds or parts.default_timeout
        self._lease = parts.keeper.hold(claim, sent_at=claimed.sent_at, on_stop=self._cancel_handler)
        self._context = HandlerContext(self._lease, parts.equipment, spec.child_tasks, self._span)
        work = attempt(
            spec, claim, self._context, partial(_log_fields, claim, self._span),
            begin=self._begin, read_payload=self._context.read_payload,
        )  # fmt: skip
        # A last attempt must not be spent on a job that nobody began, nor a second death be blamed on it.
        self.begins_in_store = claim.attempts >= claim.max_attempts or claim.lease_expired_before
        self._handler = parts.handlers.prepare(work, self._handler_ended, wait=self.begins_in_store)
        self.claim = claim
        self.done = LazyEvent()
        self.is_stuck = False
        self.has_died = False

    def _begin(self) -> None:
        """In the handlers' thread, at the first line: whoever waits there behind others loses no time."""
        self._begun_at = self._parts.clock()

    @property
    def has_begun(self) -> bool:
        return self._begun_at is not None

    @property
    def in_time(self) -> bool:
        return self._begun_at is None or self._parts.clock() - self._begun_at <= self._timeout

    @property
    def has_ended(self) -> bool:
        """Its handler has; perhaps its end is not durable yet."""
        return self._handler.ended.is_set

    @property
    def blocks_the_loop(self) -> bool:
        return self._handler.blocks_the_loop

    @property
    def follow_ups(self) -> tuple[NewJob, ...]:
        """What it queued, or the database for it."""
        if self.has_died and self.claim.type not in _UNTOLD:
            return (*self._context.follow_ups, NewJob(type=_TELLS_A_DEATH, queue=self.claim.queue))
        return self._context.follow_ups

    @property
    def traceparent(self) -> str | None:
        return self._span.traceparent

    def start_handler(self) -> None:
        """Of a job that had to be begun in the store: it is, and its time counts from here."""
        self._started_at = self._parts.clock()
        self._parts.handlers.prepare_start(self._handler)

    def stop(self, reason: StopReason) -> None:
        """Refused while a settle is on its way: that one decides."""
        self._lease.stop(reason)

    def give_back_unless_started(self) -> bool:
        """Where the handlers' loop is blocked, others may have one that is not."""
        if not self._handler.withdraw():
            return False
        self._lease.stop(StopReason.SHUTDOWN)
        self._handler_ended()
        return True

    async def give_back(self) -> None:
        """Without waiting for its handler, which cannot be reached any more."""
        self._lease.stop(StopReason.SHUTDOWN)
        await self._parts.settler.settle(self.claim, Released())

    def _cancel_handler(self) -> None:
        if self.has_ended:
            return
        if self._handler.withdraw():
            self._handler_ended()
        else:
            task = asyncio.create_task(self._cancelled())
            self._parts.stopping.add(task)
            task.add_done_callback(self._parts.stopping.discard)

    async def _cancelled(self) -> None:
        self._handler.cancel()
        await asyncio.wait({self._handler.ended.future}, timeout=_PATIENCE_AFTER_CANCEL)
        if self.has_ended:
            return
        self.is_stuck = True
        _log.error(
            "handler_ignores_cancellation",
            job_id=str(self.claim.job_id), job_type=self.claim.type, reason=str(self._lease.stopped),
        )  # fmt: skip
        self._parts.on_stuck()

    def _handler_ended(self) -> None:
        """Have its end written, unless it was in the handler's own transaction."""
        if self._context.held:
            self._context.let_go()
        if starting := self._parts.leave_slot(self.claim):
            self._follower.start(starting)
        if self.is_stuck:
            return  # the process is leaving, and its lease is the reaper's
        try:
            outcome = self._outcome()
            if self._context.settled is not None or isinstance(outcome, Lost):
                self._settled(outcome, self._context.settled)
            else:
                self._lease.begin_settle()
                self._parts.settler.add(self.claim, outcome, partial(self._settled, outcome))
        except Exception as error:  # noqa: BLE001 - a bug of ours
            # The job is not lost: its lease ends, and the reaper brings it back.
            _log.error("engine_bug", exc_info=error, job_id=str(self.claim.job_id))
            self._finish()

    def _settled(self, outcome: Outcome, status: Status | None) -> None:
        self.has_died = status is Status.DEAD_LETTER
        try:
            self._report(outcome, status)
        except Exception as error:  # noqa: BLE001 - a bug of ours: what is durable is durable, others wait behind it
            _log.error("engine_bug", exc_info=error, job_id=str(self.claim.job_id))
        self._finish()

    def _finish(self) -> None:
        self._parts.keeper.drop(self._lease)
        if not self.done.is_set:
            self.done.set()
            self._follower.finished(self)

    def _outcome(self) -> Outcome:
        returned, stopped = self._handler.result(), self._lease.stopped
        if self._handler.withdrawn and stopped not in _KEPT_BY_UNSTARTED:
            return Released()  # no handler has begun: nothing was tried, however long it waited
        if isinstance(returned, Done | Failed) and stopped is not StopReason.LOST:
            return returned  # it came to an end of its own, stopped or not
        if returned is None or isinstance(returned, Lost) or stopped is not None:
            return because(stopped, self._timeout, cancelled=returned is None)
        return returned

    def _report(self, outcome: Outcome, status: Status | None) -> None:
        claim, metrics = self.claim, self._parts.metrics
        seconds = self._parts.clock() - self._started_at
        error = _error_of(outcome)
        self._span.end(type(outcome).__name__, None if error is None else error.code)
        if status is None:
            metrics.lease_lost()
        else:
            metrics.settled(claim.queue, claim.type, status=status.value, seconds=seconds)
            if error is not None:
                metrics.failed(claim.queue, claim.type, reason=error.code)
            if isinstance(outcome, Retry) and status is Status.QUEUED:
                metrics.retried(claim.queue, claim.type)
        if status is not Status.SUCCEEDED or log.is_verbose():
            self._log_end(outcome, error, status, seconds)

    def _log_end(
        self, outcome: Outcome, error: ErrorInfo | None, status: Status | None, seconds: float
    ) -> None:
        fields = _log_fields(self.claim, self._span) | {
            "outcome": type(outcome).__name__,
            "status": status.value if status is not None else "LOST",
            "duration_ms": round(seconds * 1000, 1),
        }
        if error is not None:
            fields |= {"error_code": error.code, "error_message": error.message}
        say = _log.debug if status is Status.SUCCEEDED else _log.warning
        say("attempt_ended" if status is not None else "lease_lost", **fields)


def _log_fields(claim: Claim, span: JobSpan) -> dict[str, object]:
    return {
        "job_id": claim.job_id, "job_type": claim.type, "queue": claim.queue, "attempt": claim.attempts,
        "tenant_id": claim.tenant_id, "correlation_id": claim.correlation_id, **span.log_fields,
    }  # fmt: skip


def _error_of(outcome: Outcome) -> ErrorInfo | None:
    match outcome:
        case Retry(error) | Failed(error) | InfrastructureAway(error) | Snoozed(error, _):
            return error
        case _:
            return None
