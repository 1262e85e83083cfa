"""The queue for whoever speaks for one tenant at a time: by the view own_jobs, never by the table."""

from collections.abc import Mapping

from bpc_worker.handler_api import Row
from bpc_worker.ids import uuid7
from bpc_worker.jobs.errors import Retryable
from bpc_worker.jobs.model import NewJob, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings, enqueue_params
from bpc_worker.jobs.store import Enqueued
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.pipeline import Statement
from bpc_worker.postgres.queue.capacity import Capacity
from bpc_worker.postgres.queue.job_rows import enqueued
from bpc_worker.postgres.queue.session import COMMIT, Origin, beginning
from bpc_worker.postgres.sql_files import prepared
from bpc_worker.waiting.retries import Retries

# The id of the job is made already, so that to repeat it does no harm.
_REPEATABLE = Retries(
    when=lambda error: isinstance(error, Retryable), first_pause=0.05, longest_pause=1.0, tries=3
)


class OwnQueue:
    """Every statement is a transaction that names its tenant, sent in one trip."""

    def __init__(self, link: Link, settings: QueueSettings) -> None:
        self._link = link
        self._settings = settings
        self._capacity = Capacity(link, most=settings.max_queued, call_timeout=settings.call_timeout)

    async def enqueue(self, tenant_id: TenantId, job: NewJob) -> Enqueued:
        params = enqueue_params(self._settings, tenant_id, job, None, job_id=uuid7()) | {"now": None}
        return await _REPEATABLE.run(self._enqueue, tenant_id, params)

    async def _enqueue(self, tenant_id: TenantId, params: Mapping[str, object]) -> Enqueued:
        if self._settings.max_queued and not await self._is_known(tenant_id, params):
            await self._capacity.check(tenant_id, 1)
        done = enqueued(await self.ask(tenant_id, "jobs/enqueue_own", params))
        self._capacity.added(tenant_id, int(done.added))
        return done

    async def _is_known(self, tenant_id: TenantId, params: Mapping[str, object]) -> bool:
        """A key that is there already adds nothing, however full the queue is."""
        if params["idempotency_key"] is None:
            return False
        return bool(await self.ask(tenant_id, "jobs/find_key_state", params))

    async def ask(self, tenant_id: TenantId, name: str, params: Mapping[str, object]) -> list[Row]:
        begun = beginning(self._link, "READ COMMITTED", Origin(tenant_id=tenant_id))
        trip = (*begun, Statement(prepared(name), params), COMMIT)
        try:
            answers = await self._link.execute_pipelined(trip, timeout=self._settings.call_timeout)
        except BaseException:
            self._link.drop()  # the server rolls back; the next call connects anew
            raise
        return [*answers[-2]]
