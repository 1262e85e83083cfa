"""Everything a handler author imports; the only compatibility promise towards handlers."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, NoReturn, Protocol, TypeVar
from uuid import UUID

import msgspec

from bpc_worker.core.base import signing
from bpc_worker.core.base.messages import Kind
from bpc_worker.jobs.errors import Code, JobError, LeaseLost, Permanent, Retryable, Snooze, Unavailable
from bpc_worker.jobs.model import JobId, NewJob, Priority, TenantId

__all__ = [
    "Answer", "AnyChildTask", "ChildTask", "Code", "Command", "Context", "HandlerSpec", "JobError", "JobId",
    "JobInfo", "LeaseLost", "Measure", "NewJob", "Payload", "Permanent", "Policy", "Priority", "Reading",
    "Retryable", "Row", "Signer", "Snooze", "Tally", "TenantId", "Tx", "Unavailable",
]  # fmt: skip

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """An external program that RUN_COMMAND may start, as the configuration allows it."""

    argv: tuple[str, ...]
    timeout_seconds: float = 60.0
    memory_mb: int | None = None  # of each of its processes
    cpu_seconds: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    args: tuple[str, ...] = ()  # a pattern for each argument that a job may give, in their order
    tenants: tuple[str, ...] | None = None  # ids or names of those whose jobs may start it; None: of all
    network: bool = False
    account: tuple[int, int] | None = None  # user and group it runs under; None: the worker's
    trusted: bool = False  # it keeps the rights of the worker: one that holds our keys for us


class Signer(signing.Holder, Protocol):
    """Who signs: this process, an HSM or a KMS can all be asked. None of them is handed bytes to sign."""

    async def sign(self, kind: Kind, document: bytes) -> bytes:
        """64 bytes that nobody trusts before they are verified."""


class Payload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every payload: unknown, missing or ill-typed fields are a permanent error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobInfo:
    """What a handler may know about its own job."""

    job_id: JobId
    tenant_id: TenantId
    type: str
    queue: str
    attempt: int
    max_attempts: int
    created_at: datetime
    correlation_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the operator allows: where documents may lie, and how large things may become."""

    ingest_folders: tuple[Path, ...] = ()  # of nobody: they serve where there is one tenant only
    ingest_folders_of: Mapping[str, tuple[Path, ...]] = field(
        default_factory=dict
    )  # by name or id of a tenant
    document_bytes: int = 20 * 1024 * 1024
    payload_bytes: int = 131_072
    proof_bytes: int = 262_144
    receipt_bytes: int = 16_384
    export_folder: Path | None = None  # every tenant has a folder of its own in it
    stand_in_host: bool = True  # whether a passport may be compiled whose identifier nobody can open
    webhook_disable_after: float = 5 * 86_400.0  # seconds of nothing but failures
    retention_days: Mapping[str, int] = field(default_factory=dict)  # by kind; 0: kept


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver outside answered. Of a long body only the beginning is here, and as it came."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    truncated: bool = False  # there was more of the body, and nobody read it


class Measure(StrEnum):
    """What a handler can measure; each is a histogram `bpc_<value>`."""

    COMPILE_DURATION = "compile_duration_seconds"
    PAYLOAD_BYTES = "payload_bytes"
    PROOF_BYTES = "proof_bytes"
    RECEIPT_BYTES = "receipt_bytes"


class Tally(StrEnum):
    """What a handler can count by how it went; each is a counter `bpc_<value>_total`."""

    COMPILES = "compiles"
    SIGNINGS = "signings"
    WEBHOOK_DELIVERIES = "webhook_deliveries"


class Reading(Protocol):
    """A short read-only transaction, limited to the job's tenant."""

    async def query(self, name: str, params: Mapping[str, object]) -> list[Row]:
        """Run sql/queries/<name>.sql."""

    async def execute(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """Run a statement of the handler's own."""


class Tx(Reading, Protocol):
    """The completing transaction. It may be run several times: database effects only."""

    def send(self, name: str, params: Mapping[str, object]) -> None:
        """Run sql/queries/<name>.sql, of whose rows nobody wants to know: it travels with what comes next."""

    async def enqueue(self, job: NewJob) -> JobId:
        """Queue a follow-up job of the same tenant; it exists only if this job succeeds."""


Write = Callable[[Tx], Awaitable[None]]
Request = TypeVar("Request", bound=msgspec.Struct)
Response = TypeVar("Response", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildTask(Generic[Request, Response]):
    """Work done by a child process: CPU-heavy or hostile input, no secrets, no database.

    `name` is where the child finds this very object: "package.module:ATTRIBUTE". `imports` are modules that
    it imports only when it runs, and `warm_up` makes what every call can use: both are done once, before any
    child is forked, in a process that sees no payload. A child serves one tenant and one type of job only.
    """

    name: str
    request: type[Request]
    response: type[Response]
    run: Callable[[Request], Response]
    imports: tuple[str, ...] = ()
    warm_up: Callable[[], object] | None = None


# Requests and responses differ from task to task; whoever runs one knows them.
AnyChildTask = ChildTask[Any, Any]


class Context(Protocol):
    """What a running handler can do."""

    @property
    def job(self) -> JobInfo: ...

    @property
    def commands(self) -> Mapping[str, Command]: ...

    @property
    def policy(self) -> Policy: ...

    async def signer(self) -> Signer:
        """Who signs new passports of the tenant; SIGNING_KEY_MISSING, CONFIG_MISSING. Never in a child."""

    async def signer_of(self, key_id: str) -> Signer:
        """Who has that key here, be it a former one; when nobody has, the signer of new passports."""

    @property
    def status_signer(self) -> Signer:
        """Who signs status lists here; CONFIG_MISSING when nobody does."""

    def snapshot_salt(self, snapshot_id: UUID) -> bytes:
        """What keeps the hash of a snapshot from being guessed."""

    def disclosure_seed(self, passport_version_id: UUID) -> bytes:
        """What the salts of a version are made from; the same on every worker of the installation."""

    def unseal(self, sealed: bytes, *, row_id: UUID) -> bytes:
        """A secret as it stands in that row of the job's tenant; FORBIDDEN when it was sealed for another."""

    def reading(self) -> AbstractAsyncContextManager[Reading]:
        """Read preconditions and inputs; keep it short, nothing is computed inside."""

    async def read(self, name: str, params: Mapping[str, object]) -> list[Row]:
        """The same when there is one query: sql/queries/<name>.sql in one trip."""

    async def write_ahead(self, name: str, params: Mapping[str, object]) -> list[Row]:
        """Run sql/queries/<name>.sql in a transaction of its own, at once. Needs a lease that is proven.

        It is kept whatever becomes of the job, and the next attempt runs it again: only for what is then the
        same, like a place that is given once.
        """

    async def blob(self, sha256: bytes) -> bytes:
        """The bytes that were put under this hash for the job's tenant; NOT_FOUND when there are none.

        They count as in `hold_bytes`, which is waited for before they are read.
        """

    async def hold_bytes(self, size: int) -> None:
        """Wait until this process has room for that many bytes more; they count until the job ends.

        For whatever a job holds in memory by the megabyte: `worker.held_bytes` is for all jobs together.
        """

    async def complete(self, write: Write | None = None, *, result: object = None) -> None:
        """Write rows, follow-up jobs and the job's own SUCCEEDED in one fenced transaction.

        Raises LeaseLost, with everything rolled back, when the job is somebody else's by now.
        """

    async def reject(self, write: Write, error: Permanent) -> NoReturn:
        """Like complete, but the job becomes FAILED with `error`."""

    async def retry(self, write: Write, error: Retryable) -> NoReturn:
        """Like complete, but the job is tried again later, or dies if this was its last attempt."""

    async def snooze(self, write: Write, error: Snooze) -> NoReturn:
        """Like complete, but the job is put off, and no attempt is counted."""

    def check_lease(self) -> None:
        """Raise LeaseLost unless the lease is proven: stands before every effect outside the database."""

    async def child(self, task: ChildTask[Request, Response], request: Request) -> Response:
        """Run a child task; the child is killed when this job ends first."""

    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, kept_for: str | None = None
    ) -> Answer:
        """Send this to a receiver outside; whatever it answered is an Answer, a redirect too, which nobody
        follows. Needs a lease that is proven.

        `kept_for`, say the id of an endpoint: its next request may go over the same connection, which nobody
        else uses; where the receiver has just closed it, he may get the request twice.

        WEBHOOK_BLOCKED, permanent, when the address is not one that may be called; nothing was sent then.
        WEBHOOK_TIMEOUT when there is no whole answer in time, WEBHOOK_FAILED for a name without an address,
        TLS that fails, a connection that breaks, an answer that is not HTTP; both are retryable.
        """

    def breaker(self, target: str, *, code: str, key: str = "") -> AbstractContextManager[None]:
        """Stands around one call to an outside `target`, say a host; each `key` of it has its own breaker.

        Raises Snooze with `code` while too many such calls have failed lately: no attempt is counted. Inside,
        a Retryable or a time-out is the target's failure, a Permanent is its answer; any other error says
        nothing about it.
        """

    def place(self, target: str) -> AbstractAsyncContextManager[None]:
        """Stands around one call to `target`, too: at most so many of them at a time in this process.

        Waits for its turn while calls are quick; raises Snooze with RATE_LIMITED when they are not.
        """

    def stage(self, name: str, **progress: object) -> None:
        """Say where the work stands; it is written with the next renewal of the lease."""

    def observe(self, measure: Measure, value: float) -> None: ...

    def count(self, tally: Tally, how: str) -> None:
        """`how` is a code or a status, never an id or anybody's words."""


P = TypeVar("P", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerSpec(Generic[P]):
    """One job type: what its payload is, what is done with it, and its defaults."""

    job_type: str
    payload: type[P]
    handle: Callable[[P, Context], Awaitable[object]]
    timeout_seconds: float | None = None  # None: worker.job_timeout_seconds
    max_attempts: int | None = None  # None: jobs.max_attempts_default
    priority: Priority = Priority.NORMAL
    child_tasks: tuple[AnyChildTask, ...] = ()  # what ctx.child may be asked for
    waits_outside: bool = False  # for servers of others: such jobs have slots of their own
