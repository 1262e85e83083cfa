"""What a handler writes before its work, in a transaction of its own."""

from collections.abc import Mapping

from bpc_worker.handler_api import Row
from bpc_worker.jobs.model import TenantId
from bpc_worker.postgres.pipeline import Statement
from bpc_worker.postgres.queue.session import COMMIT, Origin, beginning
from bpc_worker.postgres.queue.transactions import LinkPool
from bpc_worker.postgres.sql_files import prepared


class WritesAhead:
    def __init__(self, pool: LinkPool, *, timeout: float) -> None:
        self._pool = pool
        self._timeout = timeout

    async def write_ahead(self, tenant_id: TenantId, name: str, params: Mapping[str, object]) -> list[Row]:
        """One trip. Where the answer is lost nobody knows if it was kept: the next attempt asks again."""
        async with self._pool.link() as link:
            begun = beginning(link, "READ COMMITTED", Origin(tenant_id=tenant_id))
            asked = (*begun, Statement(prepared(name), params), COMMIT)
            return [*(await link.execute_pipelined(asked, timeout=self._timeout))[-2]]
