"""Blobs for whoever queues jobs and may do little else, such as a producer."""

from bpc_worker.jobs.model import TenantId
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.pipeline import Statement
from bpc_worker.postgres.queue.session import COMMIT, Origin, beginning
from bpc_worker.postgres.sql_files import prepared
from bpc_worker.rows import value


class PostgresBlobs:
    def __init__(self, link: Link, *, timeout: float) -> None:
        self._link = link
        self._timeout = timeout

    async def put(self, tenant_id: TenantId, content: bytes) -> bytes:
        """Their hash; a transaction of its own, in one trip."""
        beginning_of_it = beginning(self._link, "READ COMMITTED", Origin(tenant_id=tenant_id))
        put = Statement(prepared("blobs/put"), {"content": content})
        try:
            *_, rows, _ = await self._link.execute_pipelined(
                [*beginning_of_it, put, COMMIT], timeout=self._timeout
            )
        except BaseException:
            self._link.drop()  # it may be inside the transaction
            raise
        return value(rows, bytes)
