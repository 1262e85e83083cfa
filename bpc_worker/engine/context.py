"""What a running handler holds in its hands: handler_api.Context, made of real parts."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import NoReturn, Protocol
from uuid import UUID

from bpc_worker.egress.breaker import Breakers
from bpc_worker.egress.concurrency import Turnstiles
from bpc_worker.engine.attempt import clean, encode_result, info, spec_hash_of, storable_json
from bpc_worker.engine.held_bytes import HeldBytes
from bpc_worker.engine.large_payloads import payload_in_memory
from bpc_worker.engine.lease import Lease
from bpc_worker.handler_api import (
    Answer,
    AnyChildTask,
    ChildTask,
    Command,
    JobInfo,
    Measure,
    Permanent,
    Policy,
    Reading,
    Request,
    Response,
    Retryable,
    Row,
    Signer,
    Snooze,
    Tally,
    Tx,
    Write,
)
from bpc_worker.jobs.model import Claim, Done, Failed, NewJob, Retry, Settleable, Snoozed, Status
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.keys.keyring import Keyring
from bpc_worker.observability.tracing import NO_SPAN, JobSpan

_LONGEST_STAGE = 200
_HELD_BYTES = 128 * 1024 * 1024


class Database(Protocol):
    def reading(self, claim: Claim) -> AbstractAsyncContextManager[Reading]: ...

    async def read(self, claim: Claim, name: str, params: Mapping[str, object]) -> list[Row]: ...

    async def complete(
        self, holding: Lease, settlement: Settlement, write: Callable[[Tx], Awaitable[None]]
    ) -> tuple[Status, tuple[NewJob, ...]]: ...


class Children(Protocol):
    @property
    def max_useful_jobs(self) -> int: ...

    async def run(self, task: ChildTask[Request, Response], request: Request) -> Response: ...


class Egress(Protocol):
    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, kept_for: Hashable = None
    ) -> Answer: ...


class HandlerMetrics(Protocol):
    def observe(self, measure: Measure, value: float) -> None: ...

    def count(self, tally: Tally, how: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What all handlers of this process share."""

    database: Database
    children: Children
    commands: Mapping[str, Command]
    policy: Policy
    keyring: Keyring
    breakers: Breakers
    egress: Egress
    turnstiles: Turnstiles
    settlement: Callable[[Claim, Settleable], Settlement]
    metrics: HandlerMetrics
    # By jobs of this process: payloads and documents.
    held_bytes: HeldBytes = field(default_factory=lambda: HeldBytes(_HELD_BYTES))


class HandlerContext:
    def __init__(
        self,
        holding: Lease,
        equipment: Equipment,
        child_tasks: tuple[AnyChildTask, ...] = (),
        span: JobSpan = NO_SPAN,
    ) -> None:
        self._holding = holding
        self._equipment = equipment
        self._child_tasks = child_tasks
        self._span = span
        self._reading = False
        self.settled: Status | None = None
        self.follow_ups: tuple[NewJob, ...] = ()

    @property
    def job(self) -> JobInfo:
        claim = self._holding.claim
        return JobInfo(
            job_id=claim.job_id,
            tenant_id=claim.tenant_id,
            type=claim.type,
            queue=claim.queue,
            attempt=claim.attempts,
            max_attempts=claim.max_attempts,
            created_at=claim.created_at,
            correlation_id=claim.correlation_id,
        )

    def payload_in_memory(self) -> AbstractAsyncContextManager[None]:
        """Around the handler of a job that came without it."""
        shared = self._equipment
        return payload_in_memory(self._holding.claim, shared.database, shared.held_bytes)

    @property
    def commands(self) -> Mapping[str, Command]:
        return self._equipment.commands

    @property
    def policy(self) -> Policy:
        return self._equipment.policy

    @property
    def signer(self) -> Signer:
        return self._equipment.keyring.signer

    def signer_of(self, key_id: str) -> Signer:
        return self._equipment.keyring.signer_of(key_id)

    def disclosure_seed(self, passport_version_id: UUID) -> bytes:
        return self._equipment.keyring.disclosure_seed(passport_version_id)

    def unseal(self, sealed: bytes, *, row_id: UUID) -> bytes:
        tenant_id = self._holding.claim.tenant_id
        return self._equipment.keyring.sealer.open(sealed, tenant_id=tenant_id, row_id=row_id)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reading]:
        self._reading = True
        try:
            async with self._equipment.database.reading(self._holding.claim) as session:
                yield session
        finally:
            self._reading = False

    async def read(self, name: str, params: Mapping[str, object]) -> list[Row]:
        return await self._equipment.database.read(self._holding.claim, name, params)

    async def complete(self, write: Write | None = None, *, result: object = None) -> None:
        await self._end(Done(encode_result(result), spec_hash_of(self._holding.claim)), write or _nothing)

    async def reject(self, write: Write, error: Permanent) -> NoReturn:
        await self._end(Failed(info(error)), write)
        raise error

    async def retry(self, write: Write, error: Retryable) -> NoReturn:
        await self._end(Retry(info(error), error.after_seconds), write)
        raise error

    async def snooze(self, write: Write, error: Snooze) -> NoReturn:
        await self._end(Snoozed(info(error), error.seconds), write)
        raise error

    async def _end(self, outcome: Settleable, write: Write) -> None:
        if self.settled is not None:
            raise RuntimeError("this job has already been completed")
        if self._reading:
            raise RuntimeError("complete() stands after reading(), not inside it")
        settlement = self._equipment.settlement(self._holding.claim, outcome)
        self.settled, self.follow_ups = await self._equipment.database.complete(
            self._holding, settlement, write
        )

    def check_lease(self) -> None:
        self._holding.check()

    async def child(self, task: ChildTask[Request, Response], request: Request) -> Response:
        if not any(task is known for known in self._child_tasks):
            raise LookupError(f"{task.name} is not among the child tasks of the handler's SPEC")
        with self._span.child_call(task.name):
            return await self._equipment.children.run(task, request)

    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, kept_for: str | None = None
    ) -> Answer:
        self._holding.check()
        owner = None if kept_for is None else (self._holding.claim.tenant_id, kept_for)
        return await self._equipment.egress.post(url, headers=headers, body=body, kept_for=owner)

    def breaker(self, target: str, *, code: str, key: str = "") -> AbstractContextManager[None]:
        return self._equipment.breakers.guard(target, code=code, key=key)

    def place(self, target: str) -> AbstractAsyncContextManager[None]:
        return self._equipment.turnstiles.place(target)

    def stage(self, name: str, **progress: object) -> None:
        self._holding.stage = clean(name)[:_LONGEST_STAGE]
        self._holding.progress = storable_json(progress) if progress else None

    def observe(self, measure: Measure, value: float) -> None:
        self._equipment.metrics.observe(measure, value)

    def count(self, tally: Tally, how: str) -> None:
        self._equipment.metrics.count(tally, how)


async def _nothing(_: Tx) -> None:
    """A completion without rows of its own."""
