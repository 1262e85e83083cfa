"""The session of an operator: all tenants, by the guarded functions of the database and nothing else."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from bpc_worker import wiring
from bpc_worker.amqp.listener import publish_once
from bpc_worker.config.settings import Settings
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.postgres.tenants import tenant
from bpc_worker.wiring import sample_rules

_CALL_SECONDS = 60.0  # counts over a large table take their time

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Operator:
    """Made by `open_operator`. One statement is one transaction."""

    settings: Settings
    link: Link

    async def rows(self, name: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """The rows of sql/queries/operator/<name>.sql."""
        return await self.link.run(query(f"operator/{name}"), params or {}, timeout=_CALL_SECONDS)

    @property
    def patience(self) -> dict[str, object]:
        """When a job is overdue, for queries: by type how many times its expected duration it may take."""
        rules = sample_rules(self.settings)
        return {
            "types": list(rules.sla_factors),
            "factors": list(rules.sla_factors.values()),
            "factor_of_others": rules.sla_factor_of_others,
        }

    async def tenant_id(self, wanted: str | None) -> UUID | None:
        """Of a tenant by id or by name; None for None: all of them."""
        if wanted is None:
            return None
        found = await tenant(self.link, wanted, timeout=_CALL_SECONDS, hint="see `bpc-worker tenant list`")
        return found.tenant_id

    async def wake_workers(self) -> None:
        """Those that a broker wakes; PostgreSQL wakes its own, and polling finds the job anyway."""
        if self.settings.queue.enabled and self.settings.queue.url is not None:
            await publish_once(wiring.broker(self.settings, self.settings.queue.url))


@asynccontextmanager
async def open_operator(settings: Settings, url: str) -> AsyncIterator[Operator]:
    link = Link(wiring.dsn(settings, url))
    try:
        yield Operator(settings, link)
    finally:
        link.drop()
