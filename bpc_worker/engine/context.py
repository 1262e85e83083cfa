"""What a running handler holds in its hands: handler_api.Context, made of real parts."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import NoReturn, Protocol
from uuid import UUID

import msgspec

from bpc_worker.egress.breaker import Breakers
from bpc_worker.egress.concurrency import Turnstiles
from bpc_worker.engine.attempt import clean, encode_result, info, spec_hash_of, storable_json
from bpc_worker.engine.held_bytes import Held, HeldBytes
from bpc_worker.engine.large_payloads import read_payload
from bpc_worker.engine.lease import Lease
from bpc_worker.handler_api import (
    Answer,
    AnyChildTask,
    ChildTask,
    Code,
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
    TenantId,
    Tx,
    Write,
)
from bpc_worker.jobs.model import Claim, Done, Failed, NewJob, Retry, Settleable, Snoozed, Status
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.keys.keyring import Keyring, Whose
from bpc_worker.observability.tracing import NO_SPAN, JobSpan
from bpc_worker.rows import one, value

_LONGEST_STAGE = 200
_COPIES_OF_PAYLOAD = 2  # its text, and what is made of it
_BLOB_PART = 1024 * 1024  # in one answer: a connection keeps room for the largest it has had
_BLOB_IN_ONE = 32 * 1024


class Database(Protocol):
    def reading(self, claim: Claim) -> AbstractAsyncContextManager[Reading]: ...

    async def read(self, claim: Claim, name: str, params: Mapping[str, object]) -> list[Row]: ...

    async def complete(
        self, holding: Lease, settlement: Settlement, write: Callable[[Tx], Awaitable[None]]
    ) -> tuple[Status, tuple[NewJob, ...]]: ...


class Ahead(Protocol):
    async def write_ahead(
        self, tenant_id: TenantId, name: str, params: Mapping[str, object]
    ) -> list[Row]: ...


class Children(Protocol):
    @property
    def max_useful_jobs(self) -> int: ...

    async def run(
        self, task: ChildTask[Request, Response], request: Request, *, tenant_id: TenantId, job_type: str
    ) -> Response: ...


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
    ahead: Ahead
    children: Children
    commands: Mapping[str, Command]
    policy: Policy
    keyring: Keyring
    breakers: Breakers
    egress: Egress
    turnstiles: Turnstiles
    settlement: Callable[[Claim, Settleable], Settlement]
    metrics: HandlerMetrics
    held: HeldBytes


class _Blob(msgspec.Struct, frozen=True):
    size: int
    content: bytes | None  # None: too large for one answer


@dataclass(slots=True, eq=False)
class HandlerContext:
    _holding: Lease
    _equipment: Equipment
    _child_tasks: tuple[AnyChildTask, ...] = ()
    _span: JobSpan = NO_SPAN
    _reading: bool = False
    held: tuple[Held, ...] = ()  # bytes, which its payload and its blobs take
    _payload_came_late: bool = False
    settled: Status | None = None
    follow_ups: tuple[NewJob, ...] = ()

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

    async def read_payload(self) -> None:
        """Of a job that came without it."""
        claim = self._holding.claim
        await self.hold_bytes(_COPIES_OF_PAYLOAD * claim.payload_bytes)
        claim.payload = await read_payload(claim, self._equipment.database)
        self._payload_came_late = True

    @property
    def commands(self) -> Mapping[str, Command]:
        return self._equipment.commands

    @property
    def policy(self) -> Policy:
        return self._equipment.policy

    async def signer(self) -> Signer:
        return self._equipment.keyring.signer_for(await self._whose())

    async def signer_of(self, key_id: str) -> Signer:
        return self._equipment.keyring.signer_of(key_id, await self._whose())

    async def _whose(self) -> Whose | None:
        """The tenant, where it matters for whom is signed."""
        keyring = self._equipment.keyring
        if not keyring.asks_whose:
            return None
        params = {"tenant_id": self._holding.claim.tenant_id, "named": keyring.tenants}
        return one(await self.read("tenants/signing", params), Whose, "tenant")

    @property
    def status_signer(self) -> Signer:
        return self._equipment.keyring.status_signer

    def snapshot_salt(self, snapshot_id: UUID) -> bytes:
        return self._equipment.keyring.snapshot_salt(snapshot_id)

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

    async def write_ahead(self, name: str, params: Mapping[str, object]) -> list[Row]:
        self._holding.check()
        return await self._equipment.ahead.write_ahead(self._holding.claim.tenant_id, name, params)

    async def blob(self, sha256: bytes) -> bytes:
        params = {"tenant_id": self._holding.claim.tenant_id, "sha256": sha256}
        rows = await self.read("blobs/find", params | {"whole_up_to": _BLOB_IN_ONE})
        if not rows:
            raise Permanent(Code.NOT_FOUND, f"no blob {sha256.hex()}; put its bytes there with bpc_put_blob")
        found = msgspec.convert(rows[0], _Blob)
        await self.hold_bytes(found.size)
        if found.content is not None:
            return found.content
        content = BytesIO()  # gives its bytes away without another copy
        content.seek(found.size - 1)
        content.write(b"\0")  # room for all of them at once: what grows leaves holes in memory
        content.seek(0)
        for before in range(0, found.size, _BLOB_PART):
            part = {"first": before + 1, "count": _BLOB_PART}
            content.write(value(await self.read("blobs/part", params | part), bytes))
        return content.getvalue()

    async def hold_bytes(self, size: int) -> None:
        holding = sum(held.size for held in self.held)
        self.held += (await self._equipment.held.acquire(size, holding=holding),)

    def let_go(self) -> None:
        """Of all bytes that were held: the handler has ended."""
        if self._payload_came_late:
            self._holding.claim.payload = None
        for held in self.held:
            held.release()

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
        claim = self._holding.claim
        with self._span.child_call(task.name):
            return await self._equipment.children.run(
                task, request, tenant_id=claim.tenant_id, job_type=claim.type
            )

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
