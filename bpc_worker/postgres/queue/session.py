"""What a handler, or the pipeline, says inside one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from bpc_worker.handler_api import Row
from bpc_worker.ids import uuid7
from bpc_worker.jobs.errors import Code, Retryable, SchemaMismatch
from bpc_worker.jobs.model import Claim, JobId, NewJob, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings, enqueue_params
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.pipeline import Statement, set_local
from bpc_worker.postgres.queue.capacity import Capacity
from bpc_worker.postgres.queue.job_rows import enqueued
from bpc_worker.postgres.sql_files import Prepared, prepared

COMMIT = Statement(Prepared(b"COMMIT", ()))
_DELIVERY = "DELIVER_WEBHOOK"
_MAY_DELIVER = frozenset(
    {"events/append", "webhooks/test", "webhooks/redeliver"}
)  # by triggers and functions


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
    """Reading and Tx over one connection inside one transaction.

    What need not be waited for goes ahead of what comes next, the beginning of the transaction first.
    """

    def __init__(
        self,
        link: Link,
        origin: Origin,
        settings: QueueSettings,
        timeout: float,
        *,
        ahead: Sequence[Statement] = (),
    ) -> None:
        self._link = link
        self._origin = origin
        self._settings = settings
        self._timeout = timeout
        self._ahead = [*ahead]
        self._has_sent = False
        self._may_deliver = False
        self.follow_ups: list[NewJob] = []

    async def query(self, name: str, params: Mapping[str, object]) -> list[Row]:
        self._may_deliver |= name in _MAY_DELIVER
        return await self._ask(Statement(prepared(name), params))

    def send(self, name: str, params: Mapping[str, object]) -> None:
        self._ahead.append(Statement(prepared(name), params))
        self._has_sent = True

    async def execute(self, statement: str, params: Mapping[str, object] | None = None) -> list[Row]:
        if self._ahead:
            await self._ask()
        try:
            return [*await self._link.run(statement.encode(), params, timeout=self._timeout)]
        except SchemaMismatch as error:  # the handler's own statement, so not the schema's fault
            raise Retryable(Code.INTERNAL_ERROR, error.message) from error

    async def enqueue(self, job: NewJob) -> JobId:
        if self._origin.job_id is None:  # follow-ups are always taken
            most = self._settings.max_queued
            capacity = Capacity(self._link, most=most, call_timeout=self._timeout)
            await capacity.check(self._origin.tenant_id, 1 + len(self.follow_ups))
        params = enqueue_params(
            self._settings, self._origin.tenant_id, job, self._origin.job_id, job_id=uuid7()
        )
        params["correlation_id"] = job.correlation_id or self._origin.correlation_id
        params["traceparent"] = job.traceparent or self._origin.traceparent
        params["now"] = None
        found = enqueued(await self._ask(Statement(prepared("jobs/enqueue_own"), params)))
        if found.added:
            self.follow_ups.append(job)
        return found.job_id

    async def end(self, *last: Statement, timeout: float) -> list[list[Row]]:
        """The rows of each of the last statements, behind which is the COMMIT.

        Deliveries that the transaction has made count as follow-ups: whoever waits for jobs is to be woken.
        """
        counted = (Statement(prepared("webhooks/count_made")),) if self._may_deliver else ()
        asked = (*last, *counted, COMMIT)
        found = await self._together(*asked, timeout=self._timeout if self._has_sent else timeout)
        if counted:
            self.follow_ups += [NewJob(type=_DELIVERY)] * int(str(found[-2][0]["made"]))
        return found[-len(asked) :][: len(last)]

    async def _ask(self, *asked: Statement) -> list[Row]:
        return (await self._together(*asked, timeout=self._timeout))[-1]

    async def _together(self, *asked: Statement, timeout: float) -> list[list[Row]]:
        ahead, self._ahead, self._has_sent = self._ahead, [], False
        return [[*rows] for rows in await self._link.execute_pipelined([*ahead, *asked], timeout=timeout)]


def beginning(link: Link, mode: str, origin: Origin) -> Sequence[Statement]:
    """Row level security sees the tenant inside this transaction only, never on the session.

    What triggers queue in it follows from the same `origin` as what is queued here.
    """
    known = {
        **link.local_settings,
        "bpc.tenant_id": origin.tenant_id,
        "bpc.job_id": origin.job_id,
        "bpc.correlation_id": origin.correlation_id,
        "bpc.traceparent": origin.traceparent,
    }
    said = {name: str(value) for name, value in known.items() if value is not None}
    return Statement(_begin(mode)), set_local(said)


async def begin(link: Link, mode: str, origin: Origin, *, timeout: float) -> None:
    await link.execute_pipelined(beginning(link, mode, origin), timeout=timeout)


@cache
def _begin(mode: str) -> Prepared:
    return Prepared(f"BEGIN TRANSACTION ISOLATION LEVEL {mode}".encode(), ())
