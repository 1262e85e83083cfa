"""Run handlers over a queue in memory, through the boundary and the context of the worker itself."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, cast

import msgspec

from bpc_worker.egress.breaker import BreakerRules, Breakers
from bpc_worker.egress.concurrency import Turnstiles
from bpc_worker.engine.attempt import attempt
from bpc_worker.engine.context import Egress, Equipment, HandlerContext
from bpc_worker.engine.held_bytes import HeldBytes
from bpc_worker.engine.lease import Lease
from bpc_worker.engine.settler import Settler
from bpc_worker.handler_api import (
    ChildTask,
    Code,
    Command,
    HandlerSpec,
    JobId,
    Measure,
    NewJob,
    Policy,
    Request,
    Response,
    Tally,
    TenantId,
)
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.model import Claim, ErrorInfo, Lost, Outcome, Retry, Status
from bpc_worker.jobs.queue_settings import QueueSettings, TypeDefaults
from bpc_worker.jobs.settlement import Settlements
from bpc_worker.jobs.store import Look
from bpc_worker.keys.encryption import DEVELOPMENT_SEALING_KEY, Sealer
from bpc_worker.keys.keyring import DEVELOPMENT_DISCLOSURE_KEY, Keyring, development_signer
from bpc_worker.memory.rows import Row
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.processes import child
from bpc_worker.processes.frames import ChildAnswer, ChildCall
from bpc_worker.processes.pool import response
from bpc_worker.registry import Registry
from bpc_worker.testing.builders import A_TENANT
from bpc_worker.testing.clock import FakeClock
from bpc_worker.testing.receiver import Receiver
from bpc_worker.testing.transactions import Answers, FakeTransactions, Statement

_TIMEOUT_SECONDS = 300.0
_AT_A_TIME = 4  # to one receiver
_HELD_BYTES = 128 * 1024 * 1024

Handlers = HandlerSpec[Any] | Iterable[HandlerSpec[Any]] | Mapping[str, HandlerSpec[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """What became of a job."""

    job_id: JobId
    type: str
    payload: object
    status: Status
    attempts: int
    result: object
    code: str | None  # of its last error, also when it succeeded after all
    message: str | None
    events: tuple[str, ...]
    wrote: tuple[Statement, ...]  # in its completing transaction
    parent_job_id: JobId | None


@dataclass(frozen=True, slots=True)
class Drained:
    """Every job of the queue, in the order in which they were queued."""

    jobs: tuple[JobReport, ...]

    def of(self, job_type: str) -> tuple[JobReport, ...]:
        return tuple(job for job in self.jobs if job.type == job_type)

    @property
    def only(self) -> JobReport:
        [job] = self.jobs
        return job

    @property
    def waiting(self) -> tuple[JobReport, ...]:
        """What has no handler here, or is paused: follow-up jobs for somebody else, as a rule."""
        return tuple(job for job in self.jobs if job.status is Status.QUEUED)


class InProcess:
    """Child tasks in this very process, but found by name and told in bytes as a real child is."""

    @property
    def max_useful_jobs(self) -> int:
        return 1

    async def run(self, task: ChildTask[Request, Response], request: Request) -> Response:
        call = msgspec.msgpack.encode(ChildCall(task.name, msgspec.msgpack.encode(request)))
        said = msgspec.msgpack.encode(child.answer(call))
        return response(task, msgspec.msgpack.decode(said, type=ChildAnswer))


@dataclass(frozen=True, slots=True)
class Measured:
    """What handlers measured and counted, in order."""

    values: list[tuple[Measure, float]] = field(default_factory=list)
    counts: list[tuple[Tally, str]] = field(default_factory=list)

    def observe(self, measure: Measure, value: float) -> None:
        self.values.append((measure, value))

    def count(self, tally: Tally, how: str) -> None:
        self.counts.append((tally, how))


@dataclass(kw_only=True)
class Workbench:
    """Handlers, a queue and a clock. Nothing waits: when nothing is due, the clock goes to what is next."""

    handlers: Handlers
    answers: Answers = field(default_factory=dict)
    conflicts: int = 0  # how often a completing transaction is run again before it is kept
    queues: tuple[str, ...] = ("default",)
    commands: Mapping[str, Command] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    keyring: Keyring = field(
        default_factory=lambda: Keyring(
            development_signer(), DEVELOPMENT_DISCLOSURE_KEY, sealer=Sealer([DEVELOPMENT_SEALING_KEY])
        )
    )
    egress: Egress = field(default_factory=Receiver)
    clock: FakeClock = field(default_factory=FakeClock)
    measured: Measured = field(default_factory=Measured)

    def __post_init__(self) -> None:
        self._registry = _registry(self.handlers)
        backoff = Backoff()
        self.store = MemoryJobStore(
            QueueSettings(
                owner="workbench",
                types=tuple(sorted(self._registry)),
                queues=self.queues,
                backoff=backoff,
                type_defaults={
                    name: TypeDefaults(priority=spec.priority, max_attempts=spec.max_attempts)
                    for name, spec in self._registry.items()
                },
            ),
            clock=self.clock,
            dice=lambda: 0.0,
        )
        end = Settlements(backoff, lambda: 0.0)
        self._settler = Settler(self.store, end, on_database=lambda _: None)
        self._transactions = FakeTransactions(self.store, self.answers, conflicts=self.conflicts)
        self.held = HeldBytes(_HELD_BYTES)
        self._equipment = Equipment(
            database=self._transactions,
            ahead=self._transactions,
            children=InProcess(),
            commands=self.commands,
            policy=self.policy,
            keyring=self.keyring,
            breakers=Breakers(BreakerRules(), clock=self._seconds),
            egress=self.egress,
            turnstiles=Turnstiles(_AT_A_TIME, clock=self._seconds),
            settlement=end,
            metrics=self.measured,
            held=self.held,
        )

    def _seconds(self) -> float:
        return self.clock.now.timestamp()

    async def enqueue(self, *jobs: NewJob, tenant_id: TenantId = A_TENANT) -> list[JobId]:
        return [each.job_id for each in await self.store.enqueue_many(tenant_id, jobs)]

    async def drain(self, *, at_most: int = 1000) -> Drained:
        """Run what is queued, retried or follows, until nothing is left that a handler here takes.

        More attempts than `at_most` are a RuntimeError: some handler queues jobs for ever.
        """
        attempts = 0
        while True:
            look = await self._look()
            for claim in look.claims:
                await self._run(claim)
                attempts += 1
            if attempts > at_most:
                raise RuntimeError(
                    f"not done after {at_most} attempts; the last job was {look.claims[0].type}"
                )
            if not look.claims and not await self._go_on():
                return Drained(tuple(self._report(row) for row in self.store.table.rows.values()))

    async def _look(self) -> Look:
        """One job, of those that everybody takes or of the suspects."""
        look = await self.store.claim(limit=1)
        if look.claims or not await self.store.watch_suspects("workbench"):
            return look
        return await self.store.claim_suspect("workbench")

    async def _run(self, claim: Claim) -> None:
        spec = self._registry[claim.type]
        holding = Lease(claim, proven_until=inf)
        context = HandlerContext(holding, self._equipment, spec.child_tasks)
        outcome = await _outcome(spec, claim, context)
        context.let_go()
        if self._transactions.unanswered is not None:
            raise self._transactions.unanswered
        if context.settled is None and not isinstance(outcome, Lost):
            await self._settler.settle(claim, outcome)

    async def _go_on(self) -> bool:
        """To the next moment at which something can change; False when there is none."""
        now, rows = self.clock.now, self.store.table.rows.values()
        moments = [
            row.scheduled_at for row in rows if row.status is Status.QUEUED and row.type in self._registry
        ]
        moments += [row.lease_expires_at for row in rows if row.lease_expires_at is not None]
        moments += [
            pause.expires_at for pause in self.store.table.pauses.values() if pause.expires_at is not None
        ]
        later = [moment for moment in moments if moment > now]
        if not later:
            return False
        self.clock.now = min(later)
        await self.store.reap()
        return True

    def _report(self, row: Row) -> JobReport:
        error = row.last_error or {}
        return JobReport(
            job_id=row.job_id,
            type=row.type,
            payload=msgspec.json.decode(row.payload),
            status=row.status,
            attempts=row.attempts,
            result=row.result,
            code=cast("str | None", error.get("code")),
            message=cast("str | None", error.get("message")),
            events=tuple(event.type for event in self.store.events(row.job_id)),
            wrote=tuple(self._transactions.kept.get(row.job_id, ())),
            parent_job_id=row.parent_job_id,
        )


async def drain(handlers: Handlers, *jobs: NewJob, answers: Answers | None = None) -> Drained:
    """Queue these jobs, run them and all that follows from them, and tell how each ended."""
    bench = Workbench(handlers=handlers, answers=answers or {})
    await bench.enqueue(*jobs)
    return await bench.drain()


async def _outcome(spec: HandlerSpec[msgspec.Struct], claim: Claim, context: HandlerContext) -> Outcome:
    timeout = spec.timeout_seconds or _TIMEOUT_SECONDS
    task = asyncio.ensure_future(attempt(spec, claim, context))
    await asyncio.wait({task}, timeout=timeout)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
        if task.cancelled():
            return Retry(
                ErrorInfo(Code.HANDLER_TIMEOUT, f"the handler did not end within {timeout:g} s", True)
            )
    if task.cancelled():
        return Retry(ErrorInfo(Code.INTERNAL_ERROR, "the handler cancelled itself", True))
    return task.result()


def _registry(handlers: Handlers) -> Registry:
    if isinstance(handlers, Mapping):
        return handlers
    specs = [handlers] if isinstance(handlers, HandlerSpec) else list(handlers)
    found = {spec.job_type: spec for spec in specs}
    if len(found) < len(specs):
        raise ValueError("two handlers for one type")
    return found
