"""As whom the doors ask the database: the role is the first thing that a transaction says."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from bpc_worker import wiring
from bpc_worker.config.settings import Settings
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import TenantId
from bpc_worker.operator.session import Operator
from bpc_worker.pipeline.session import PipelineSession, Tell
from bpc_worker.postgres import tenants
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.notify import PUBLIC_CHANGES, NotifyListener
from bpc_worker.registry import Registry
from bpc_worker.rows import value
from bpc_worker.web.database.pool import RolePool
from bpc_worker.web.database.reading import Reading
from bpc_worker.web.locks.identity import Identity

PUBLIC, READER, OPERATOR, APP, WEB = "bpc_public", "bpc_reader", "bpc_operator", "bpc_app", "bpc_web"

_CALL_SECONDS = 10.0
_MOST_KNOWN = 1000
_READ_ONLY = {"transaction_read_only": "on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Of databases: for the public door, for all others, and of a replica to read from."""

    public: str
    main: str
    replica: str | None = None


class WebDatabase:
    def __init__(
        self, settings: Settings, registry: Registry, addresses: Addresses, *, tell: Tell | None = None
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._tell = tell
        self._page_seconds = settings.http.page_seconds
        self._public_url = addresses.public
        size = settings.http.database_connections
        self._public = self._pool(addresses.public, size)
        self._acts = self._pool(addresses.main, size)
        self._reads = self._acts
        if addresses.replica is not None:
            self._reads = self._pool(addresses.replica, size, writable=False)
        self._actors: dict[str, str] = {}
        self._names: dict[TenantId, str] = {}

    def _pool(self, url: str, size: int, *, writable: bool = True) -> RolePool:
        dsn = replace(
            wiring.dsn(self._settings, url),
            statement_timeout=self._page_seconds,
            writable=writable,
            suppress_insert_notify=False,
        )
        return RolePool(dsn, size, patience=dsn.connect_timeout)

    @property
    def in_use(self) -> int:
        pools = {id(each): each for each in (self._public, self._acts, self._reads)}
        return sum(each.in_use for each in pools.values())

    @asynccontextmanager
    async def locks(self) -> AsyncIterator[Link]:
        """As bpc_web, which finds tokens and sessions and may do nothing else."""
        async with self._acts.acting({"role": WEB}) as link:
            yield link

    @asynccontextmanager
    async def keeper(self) -> AsyncIterator[Link]:
        """As bpc_app of no tenant: what it sees are functions that look after all of them."""
        async with self._acts.acting({"role": APP}) as link:
            yield link

    @asynccontextmanager
    async def public(self) -> AsyncIterator[Reading]:
        """What everybody may see."""
        async with self._reading(self._public, PUBLIC, None) as reading:
            yield reading

    @asynccontextmanager
    async def reader(self, who: Identity) -> AsyncIterator[Reading]:
        """Of all tenants, or of his own, as the database sees it."""
        role = READER if who.tenant_id is None else APP
        async with self._reading(self._reads, role, who.tenant_id) as reading:
            yield reading

    @asynccontextmanager
    async def _reading(self, pool: RolePool, role: str, tenant_id: TenantId | None) -> AsyncIterator[Reading]:
        tenant = {} if tenant_id is None else {"bpc.tenant_id": str(tenant_id)}
        async with pool.acting({"role": role}) as link:
            reading = Reading(link, tenant, self._page_seconds)
            yield reading
            await reading.end()

    @asynccontextmanager
    async def operator(self, who: Identity, *, read_only: bool = False) -> AsyncIterator[Operator]:
        """Acts on jobs in the name of whoever asks: on those of all tenants, or of his own."""
        role = OPERATOR if who.tenant_id is None else APP
        tenant = {} if who.tenant_id is None else {"bpc.tenant_id": str(who.tenant_id)}
        async with self._acts.acting(_as(role, who, read_only=read_only) | tenant) as link:
            yield Operator(self._settings, link)

    @asynccontextmanager
    async def pipeline(
        self, who: Identity, tenant_id: TenantId | None = None, *, read_only: bool = False
    ) -> AsyncIterator[PipelineSession]:
        """A tenant's pipeline, in the name of whoever asks; `tenant_id` where that is somebody for all."""
        if who.tenant_id is not None and tenant_id not in {None, who.tenant_id}:
            raise Permanent(Code.NOT_FOUND, "there is no such tenant")
        chosen = who.tenant_id or tenant_id
        if chosen is None:
            raise Permanent(Code.VALIDATION_ERROR, "this token is for all tenants: name one")
        async with self._acts.acting(_as(APP, who, read_only=read_only)) as link:
            actor = await self._actor(link, who.name)
            if chosen not in self._names:
                found = await tenants.tenant(link, str(chosen), timeout=_CALL_SECONDS)
                self._names[chosen] = found.name
            yield PipelineSession(
                self._settings,
                self._registry,
                chosen,
                self._names[chosen],
                f"login:{actor}",
                link,
                self._tell,
            )

    async def _actor(self, link: Link, name: str) -> str:
        """As the database calls whoever acts: with the login in front."""
        if name not in self._actors:
            if len(self._actors) >= _MOST_KNOWN:
                self._actors.clear()
            self._actors[name] = value(await link.run(b"SELECT bpc_who()", timeout=_CALL_SECONDS), str)
        return self._actors[name]

    def public_listener(self, on_change: Callable[[], None]) -> NotifyListener | None:
        """Hears that something public has changed; None where nobody can listen."""
        settings = self._settings
        if not wiring.listens(settings):
            return None
        url = settings.public.database_url or settings.database.direct_url or self._public_url
        return NotifyListener(
            replace(wiring.dsn(settings, url), prepared_statements=True),
            on_ring=on_change,
            on_state=lambda _: None,
            timeout=_CALL_SECONDS,
            channel=PUBLIC_CHANGES,
        )

    async def answers(self) -> None:
        """JobError unless the database does."""
        async with asyncio.timeout(_CALL_SECONDS), self._acts.acting({}) as link:
            await link.run(b"SELECT 1", timeout=_CALL_SECONDS)

    def close(self) -> None:
        for each in (self._public, self._acts, self._reads):
            each.close()


def _as(role: str, who: Identity, *, read_only: bool) -> dict[str, str]:
    found = {"role": role, "bpc.actor": who.name}
    return found | _READ_ONLY if read_only else found
