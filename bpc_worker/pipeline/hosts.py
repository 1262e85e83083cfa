"""The hosts under which a tenant's batteries are found: each belongs to one tenant."""

from bpc_worker.core.base.identifier import STAND_IN_HOST, IdentifierError, check_host
from bpc_worker.domain.records import IdHost
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of


@again
async def add_host(pipeline: PipelineSession, host: str) -> bool:
    """For identifiers that are made from now on; False when it was the tenant's already."""
    try:
        check_host(host)
    except IdentifierError as error:
        raise Permanent(Code.VALIDATION_ERROR, str(error)) from error
    if host == STAND_IN_HOST:
        raise Permanent(Code.VALIDATION_ERROR, f"{host} stands in where there is no host; nobody can open it")
    params = {"tenant_id": pipeline.tenant_id, "host": host}
    async with pipeline.transaction() as tx:
        if await tx.query("hosts/add", params):
            return True
        own = all_of(await tx.query("hosts/list", params), IdHost)
        if host not in {each.host for each in own}:
            raise Permanent(Code.VALIDATION_ERROR, f"{host} belongs to another tenant; choose another name")
        return False


async def hosts(pipeline: PipelineSession) -> list[IdHost]:
    """Newest first: the first is for new identifiers."""
    return await pipeline.rows("hosts/list", IdHost)
