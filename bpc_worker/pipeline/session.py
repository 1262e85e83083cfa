"""The transactions of one tenant's pipeline: with an actor's name, waking workers afterwards."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from bpc_worker import wiring
from bpc_worker.amqp.listener import publish_once
from bpc_worker.config.settings import Settings
from bpc_worker.domain.events import Happened, record
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, JobError, Permanent
from bpc_worker.jobs.model import NewJob, TenantId
from bpc_worker.observability.tracing import NO_TRACER, Tracer
from bpc_worker.postgres import tenants
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.gate import Allowance
from bpc_worker.postgres.queue.session import Origin, Session, begin
from bpc_worker.registry import Registry
from bpc_worker.rows import all_of, value

T = TypeVar("T")
Tell = Callable[[Sequence[NewJob]], None]  # what was queued, after the commit

MAX_REASON = 1000

_CALL_SECONDS = 10.0
_STATEMENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PipelineSession:
    """One tenant's pipeline. Made by `open_pipeline`."""

    settings: Settings
    registry: Registry
    tenant_id: TenantId
    tenant_name: str
    actor_id: str
    link: Link
    tell: Tell | None = None  # None: a trigger of its own for every transaction that queued jobs
    tracer: Tracer = NO_TRACER

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """Everything inside happens or nothing does; workers are told of new jobs after the commit."""
        queue = self.settings.queue
        with self.tracer.producing("transaction") as traceparent:
            async with self._session("READ COMMITTED", traceparent) as session:
                yield session
            if session.follow_ups and self.tell is not None:
                self.tell(session.follow_ups)
            elif session.follow_ups and queue.enabled and queue.url is not None:
                broker = wiring.broker(self.settings, queue.url)
                await publish_once(broker, traceparent=traceparent)  # polling finds them anyway

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Tx]:
        """One unchanging view of the tenant's rows."""
        async with self._session("REPEATABLE READ READ ONLY") as session:
            yield session

    @asynccontextmanager
    async def _session(self, mode: str, traceparent: str | None = None) -> AsyncIterator[Session]:
        origin = Origin(tenant_id=self.tenant_id, traceparent=traceparent)
        await begin(self.link, mode, origin, timeout=_CALL_SECONDS)
        try:
            queue = wiring.queue_settings(self.settings, self.registry)
            session = Session(self.link, origin, queue, _STATEMENT_SECONDS)
            yield session
            await session.end(timeout=_STATEMENT_SECONDS)
        except JobError:  # somebody said no: the line is in order
            await self._undo()
            raise
        except BaseException:
            self.link.drop()  # the server rolls back; the next transaction connects anew
            raise

    async def _undo(self) -> None:
        """Without another connection for the next transaction, where there is little doubt about this one."""
        try:
            if self.link.answered_lately:
                await self.link.run(b"ROLLBACK", timeout=_CALL_SECONDS)
        except JobError:
            pass
        if not self.link.idle:
            self.link.drop()

    async def rows(self, name: str, record_type: type[T], **params: object) -> list[T]:
        """What a query finds of the tenant's, in a view of its own."""
        async with self.reading() as tx:
            return all_of(await tx.query(name, {"tenant_id": self.tenant_id} | params), record_type)

    async def record(self, tx: Tx, *happened: Happened) -> None:
        await record(tx, *happened, tenant_id=self.tenant_id, actor_id=self.actor_id)


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def check_reason(reason: str) -> None:
    """It goes into the audit trail, for ever."""
    if not reason.strip() or len(reason) > MAX_REASON or not reason.isprintable():
        raise Permanent(Code.VALIDATION_ERROR, f"a reason is one line of 1 to {MAX_REASON} characters")


@asynccontextmanager
async def open_pipeline(
    settings: Settings,
    registry: Registry,
    url: str,
    tenant: str,
    tell: Tell | None = None,
    *,
    allowance: Allowance | None = None,
) -> AsyncIterator[PipelineSession]:
    """The pipeline of a tenant, by id or by name. `allowance`: of whoever opens one after the other."""
    link = Link(wiring.dsn(settings, url), allowance)
    try:
        found = await tenants.tenant(link, tenant, timeout=_CALL_SECONDS)
        login = value(await link.run(b"SELECT bpc_who()", timeout=_CALL_SECONDS), str)
        tracer = wiring.tracer(settings)
        try:
            yield PipelineSession(
                settings,
                registry,
                found.tenant_id,
                found.name,
                f"login:{login}",
                link,
                tell,
                tracer,
            )
        finally:
            await asyncio.to_thread(tracer.close)  # it may wait for the collector, and others may not
    finally:
        link.drop()
