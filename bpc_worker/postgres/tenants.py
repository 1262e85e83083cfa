"""Find a tenant: the one place where an id or a name becomes one."""

from datetime import datetime

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import TenantId
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import all_of, maybe

ADD_IT = "add it with `bpc-worker tenant add NAME`"


class Tenant(msgspec.Struct, frozen=True):
    tenant_id: TenantId
    name: str
    created_at: datetime
    alone: bool = False  # whether there is no other; only told of one that was looked for


async def find_tenant(link: Link, wanted: str, *, timeout: float) -> Tenant | None:
    """By id or by name."""
    return maybe(await link.run(query("tenants/find"), {"wanted": wanted}, timeout=timeout), Tenant)


async def tenant(link: Link, wanted: str, *, timeout: float, hint: str = ADD_IT) -> Tenant:
    found = await find_tenant(link, wanted, timeout=timeout)
    if found is None:
        raise Permanent(Code.NOT_FOUND, f"no tenant {wanted!r}; {hint}")
    return found


async def list_tenants(link: Link, *, timeout: float) -> list[Tenant]:
    """In order of name."""
    return all_of(await link.run(query("tenants/list"), timeout=timeout), Tenant)
