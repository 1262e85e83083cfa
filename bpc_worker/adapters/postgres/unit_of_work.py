"""The transactions of handlers: short reads, and the one that ends with the fenced settle."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from psycopg import sql
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from bpc_worker.adapters.postgres.capacity import Capacity
from bpc_worker.adapters.postgres.job_rows import (
    QueueSettings,
    enqueue_params,
    enqueued,
    settle_params,
    settled_under,
)
from bpc_worker.adapters.postgres.link import Dsn, Link
from bpc_worker.adapters.sql_files import query
from bpc_worker.handler_api import Row
from bpc_worker.jobs.errors import Code, LeaseLost, Retryable, RunAgain, SchemaMismatch, Unavailable
from bpc_worker.jobs.model import Claim, JobId, NewJob, Status, TenantId
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.lease import Holding

_MOST_RUNS = 20


class LinkPool:
    """A bounded number of connections inside the handlers' event loop."""

    def __init__(self, dsn: Dsn, size: int) -> None:
        self._dsn = dsn
        self._free = asyncio.Semaphore(size)
        self._idle: list[Link] = []
        self.in_use = 0

    @asynccontextmanager
    async def link(self) -> AsyncIterator[Link]:
        async with self._free:
            link = self._idle.pop() if self._idle else Link(self._dsn)
            self.in_use += 1
            try:
                yield link
            finally:
                self.in_use -= 1
                if link.idle:
                    self._idle.append(link)
                else:
                    link.drop()  # inside a transaction, or broken: the server rolls it back

    def close(self) -> None:
        while self._idle:
            self._idle.pop().drop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """On whose behalf jobs are queued, and what they follow from."""

    tenant_id: TenantId
    job_id: JobId | None = None
    correlation_id: str | None = None
    traceparent: str | None = None

    @staticmethod
    def of(claim: Claim) -> "Origin":
        return Origin(
            tenant_id=claim.tenant_id,
            job_id=claim.job_id,
            correlation_id=claim.correlation_id,
            traceparent=claim.traceparent,
        )


class Session:
    """Reading and Tx over one connection inside one transaction."""

    def __init__(self, link: Link, origin: Origin, settings: QueueSettings, timeout: float) -> None:
        self._link = link
        self._origin = origin
        self._settings = settings
        self._timeout = timeout
        self.follow_ups: list[NewJob] = []

    async def query(self, name: str, params: Mapping[str, object]) -> list[Row]:
        return [*await self._link.run(query(name), params, timeout=self._timeout)]

    async def execute(self, statement: str, params: Mapping[str, object] | None = None) -> list[Row]:
        try:
            return [*await self._link.run(statement.encode(), params, timeout=self._timeout)]
        except SchemaMismatch as error:  # the handler's own statement, so not the schema's fault
            raise Retryable(Code.INTERNAL_ERROR, error.message) from error

    async def enqueue(self, job: NewJob) -> JobId:
        if self._origin.job_id is None:  # follow-ups are always taken
            most = self._settings.max_queued
            capacity = Capacity(self._link, most=most, call_timeout=self._timeout)
            await capacity.check(self._origin.tenant_id, 1 + len(self.follow_ups))
        params = enqueue_params(self._settings, self._origin.tenant_id, job, self._origin.job_id)
        params["correlation_id"] = job.correlation_id or self._origin.correlation_id
        params["traceparent"] = job.traceparent or self._origin.traceparent
        params["now"] = None
        rows = await self._link.run(query("jobs/enqueue"), params, timeout=self._timeout)
        found = enqueued(rows)
        if found.added:
            self.follow_ups.append(job)
        return found.job_id


class Transactions:
    def __init__(
        self, pool: LinkPool, settings: QueueSettings, *, timeout: float, statement_timeout: float
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._timeout = timeout  # for what the engine itself says in a transaction
        self._statement_timeout = statement_timeout  # for what handlers say

    @asynccontextmanager
    async def reading(self, claim: Claim) -> AsyncIterator[Session]:
        async with self._pool.link() as link:
            await begin(link, claim.tenant_id, "REPEATABLE READ READ ONLY", timeout=self._timeout)
            yield Session(link, Origin.of(claim), self._settings, self._statement_timeout)
            await link.run(b"COMMIT", timeout=self._timeout)

    async def complete(
        self,
        holding: Holding,
        settlement: Settlement,
        write: Callable[[Session], Awaitable[None]],
    ) -> tuple[Status, tuple[NewJob, ...]]:
        """The status written and the follow-up jobs; LeaseLost when nothing was kept.

        A transaction that met another one, or whose connection broke before COMMIT, is run again as long as
        the lease is proven.
        """

        def worth_another_run(error: BaseException) -> bool:
            if not isinstance(error, RunAgain | Unavailable) or isinstance(error, SchemaMismatch):
                return False
            return holding.provable

        async for run in AsyncRetrying(
            retry=retry_if_exception(worth_another_run),
            wait=wait_random_exponential(multiplier=0.02, max=1.0),
            stop=stop_after_attempt(_MOST_RUNS),
            reraise=True,
        ):
            with run:
                return await self._run_once(holding, settlement, write)
        raise AssertionError("unreachable: tenacity returns or raises")

    async def _run_once(
        self,
        holding: Holding,
        settlement: Settlement,
        write: Callable[[Session], Awaitable[None]],
    ) -> tuple[Status, tuple[NewJob, ...]]:
        claim = holding.claim
        committing = False
        follow_ups: tuple[NewJob, ...] = ()
        try:
            async with self._pool.link() as link:
                origin = Origin.of(claim)
                await begin(link, claim.tenant_id, "READ COMMITTED", timeout=self._timeout, origin=origin)
                session = Session(link, origin, self._settings, self._statement_timeout)
                await write(session)
                status = await self._settle(link, holding, settlement)
                committing, follow_ups = True, tuple(session.follow_ups)
                await link.run(b"COMMIT", timeout=self._timeout)
                return status, follow_ups
        except Unavailable:
            if not committing:
                raise
            return await self._resolve(holding), follow_ups
        finally:
            holding.end_settle()

    async def _settle(self, link: Link, holding: Holding, settlement: Settlement) -> Status:
        if not holding.begin_settle():
            raise LeaseLost(f"stopped: {holding.stopped}")
        params = settle_params(holding.claim, settlement, now=None)
        rows = await link.run(query("jobs/settle"), params, timeout=self._timeout)
        if not rows:
            raise LeaseLost("the job is somebody else's by now")
        return Status(str(rows[0]["status"]))

    async def _resolve(self, holding: Holding) -> Status:
        """The answer to COMMIT was lost: ask the row, on another connection, for as long as it takes."""
        params = {"job_id": holding.claim.job_id}
        async for ask in AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, Unavailable | RunAgain)),
            wait=wait_random_exponential(multiplier=0.1, max=3.0),
            reraise=True,
        ):
            with ask:
                async with self._pool.link() as link:
                    rows = await link.run(query("jobs/resolve"), params, timeout=self._timeout)
                status = settled_under(holding.claim, rows)
                if status is not None:
                    return status
                if rows and rows[0]["lease_token"] == holding.claim.lease_token:
                    break  # still ours: the transaction was rolled back
                raise LeaseLost("the job is somebody else's by now")
        raise Unavailable(Code.DB_UNAVAILABLE, "the COMMIT did not take place")


async def begin(
    link: Link, tenant_id: TenantId, mode: str, *, timeout: float, origin: Origin | None = None
) -> None:
    """Row level security sees the tenant inside this transaction only, never on the session.

    What triggers queue in it follows from the same `origin` as what is queued here.
    """
    known: dict[str, object] = {"tenant_id": tenant_id}
    if origin is not None:
        known |= {"job_id": origin.job_id, "correlation_id": origin.correlation_id}
        known |= {"traceparent": origin.traceparent}
    said = [
        sql.SQL("set_config({}, {}, true)").format(sql.Literal(f"bpc.{name}"), sql.Literal(str(value)))
        for name, value in known.items()
        if value is not None
    ]
    statement = sql.SQL("BEGIN TRANSACTION ISOLATION LEVEL {}; {} SELECT {}").format(
        sql.SQL(mode), sql.SQL(link.dsn.local_limits()), sql.SQL(", ").join(said)
    )
    await link.run(statement, timeout=timeout)
