"""The transactions of handlers: short reads, and the one that ends with the fenced settle."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from bpc_worker.handler_api import Row
from bpc_worker.jobs.errors import Code, JobError, LeaseLost, Retryable, RunAgain, SchemaMismatch, Unavailable
from bpc_worker.jobs.holding import Holding
from bpc_worker.jobs.model import Claim, NewJob, Status
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.gate import Allowance, Rank
from bpc_worker.postgres.pipeline import RefusedError, Statement
from bpc_worker.postgres.queue.job_rows import NOT_HELD, settle_params, settled_under
from bpc_worker.postgres.queue.session import Origin, Session, beginning
from bpc_worker.postgres.sql_files import prepared, query
from bpc_worker.waiting.retries import Retries

_READING, _WRITING = "REPEATABLE READ READ ONLY", "READ COMMITTED"


def _is_out_of_room(error: Retryable) -> bool:
    """The server has no disk, memory or locks left, whatever it was asked."""
    return (error.sqlstate or "").startswith("53")


class LinkPool:
    """A bounded number of connections inside the handlers' event loop."""

    def __init__(self, dsn: Dsn, size: int) -> None:
        self._dsn = dsn
        self._allowance = Allowance(size=size, rank=Rank.CLAIMS)
        self._free = asyncio.Semaphore(size)
        self._idle: list[Link] = []
        self.in_use = 0

    @asynccontextmanager
    async def link(self) -> AsyncIterator[Link]:
        async with self._free:
            link = self._idle.pop() if self._idle else Link(self._dsn, self._allowance)
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
            session = await self._begun(link, _READING, Origin(tenant_id=claim.tenant_id))
            yield session
            await session.end(timeout=self._timeout)

    async def read(self, claim: Claim, name: str, params: Mapping[str, object]) -> list[Row]:
        async with self._pool.link() as link:
            session = await self._begun(link, _READING, Origin(tenant_id=claim.tenant_id))
            [rows] = await session.end(Statement(prepared(name), params), timeout=self._statement_timeout)
            return rows

    async def complete(
        self,
        holding: Holding,
        settlement: Settlement,
        write: Callable[[Session], Awaitable[None]],
    ) -> tuple[Status, tuple[NewJob, ...]]:
        """The status written and the follow-up jobs; LeaseLost when nothing was kept.

        A transaction that met another one, whose connection broke before COMMIT, or whose end the server
        refuses for a while, is run again as long as the lease is proven.
        """

        def worth_another_run(error: BaseException) -> bool:
            if not isinstance(error, RunAgain | Unavailable) or isinstance(error, SchemaMismatch):
                return False
            return holding.provable

        try:
            return await self._run_once(holding, settlement, write)  # nearly always that is all
        except JobError as error:
            if not worth_another_run(error):
                raise
        retries = Retries(
            when=worth_another_run,
            uncounted=lambda error: isinstance(error, Unavailable),  # as long as the lease is proven
            first_pause=0.02,
            longest_pause=1.0,
            tries=20,
        )
        return await retries.run(self._run_once, holding, settlement, write)

    async def _run_once(
        self,
        holding: Holding,
        settlement: Settlement,
        write: Callable[[Session], Awaitable[None]],
    ) -> tuple[Status, tuple[NewJob, ...]]:
        decided = False
        follow_ups: tuple[NewJob, ...] = ()
        try:
            async with self._pool.link() as link:
                session = await self._begun(link, _WRITING, Origin.of(holding.claim))
                await write(session)
                if not holding.begin_settle():
                    raise LeaseLost(f"stopped: {holding.stopped}")
                decided, follow_ups = True, tuple(session.follow_ups)
                params = settle_params([(holding.claim, settlement)], now=None, or_fail=True)
                settle = Statement(prepared("jobs/settle"), params, refusal=NOT_HELD)
                [[row]] = await session.end(settle, timeout=self._timeout)
                return Status(str(row["status"])), tuple(session.follow_ups)
        except (RefusedError, Unavailable) as error:
            if not decided or isinstance(error, SchemaMismatch):
                raise
            return await self._resolve(holding), follow_ups
        except Retryable as error:
            if isinstance(error, RunAgain) or not (decided or _is_out_of_room(error)):
                raise
            # Nothing was kept, and it is no fault of the handler's: the same may be taken in a moment.
            raise Unavailable(error.code, error.message, detail=error.detail) from error
        finally:
            holding.end_settle()

    async def _begun(self, link: Link, mode: str, origin: Origin) -> Session:
        """The beginning goes ahead, but not where a connection may be dead: handlers have much time."""
        ahead = beginning(link, mode, origin)
        if not link.answered_lately:
            await link.execute_pipelined(ahead, timeout=self._timeout)
            ahead = ()
        return Session(link, origin, self._settings, self._statement_timeout, ahead=ahead)

    async def _resolve(self, holding: Holding) -> Status:
        """The answer to this COMMIT, or to an earlier one, was lost: ask the row until it tells."""
        rows = await _UNTIL_IT_TELLS.run(self._ask_row, holding.claim)
        status = settled_under(holding.claim, rows)
        if status is not None:
            return status
        if rows and rows[0]["lease_token"] == holding.claim.lease_token:  # still ours: it was rolled back
            raise Unavailable(Code.DB_UNAVAILABLE, "the COMMIT did not take place")
        raise LeaseLost("the job is somebody else's by now")

    async def _ask_row(self, claim: Claim) -> list[dict[str, object]]:
        async with self._pool.link() as link:
            return await link.run(query("jobs/resolve"), {"job_id": claim.job_id}, timeout=self._timeout)


_UNTIL_IT_TELLS = Retries(
    when=lambda error: isinstance(error, Unavailable | RunAgain), first_pause=0.1, longest_pause=3.0
)
