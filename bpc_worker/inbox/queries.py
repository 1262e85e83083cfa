"""What a producer asks the database: whose folder it is, and what became of bytes that came before."""

import msgspec

from bpc_worker.jobs.model import JobId, Status, TenantId
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.own_queue import OwnQueue
from bpc_worker.postgres.tenants import find_tenant
from bpc_worker.rows import maybe


class Known(msgspec.Struct, frozen=True):
    """The job that bytes became when they came before."""

    job_id: JobId
    status: Status


class InboxQueries:
    def __init__(self, link: Link, queue: OwnQueue, *, call_timeout: float) -> None:
        self._link = link
        self._queue = queue
        self._timeout = call_timeout

    async def tenant(self, wanted: str) -> TenantId | None:
        """By id or by name."""
        found = await find_tenant(self._link, wanted, timeout=self._timeout)
        return None if found is None else found.tenant_id

    async def known(self, tenant_id: TenantId, job_type: str, key: str) -> Known | None:
        params = {"tenant_id": tenant_id, "type": job_type, "idempotency_key": key}
        return maybe(await self._queue.ask(tenant_id, "jobs/find_key_state", params), Known)
