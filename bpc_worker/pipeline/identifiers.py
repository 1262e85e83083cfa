"""The unique identifier that a battery gets when its serial is made: its host, its length, its characters."""

import secrets

from bpc_worker.core.base import identifier
from bpc_worker.core.base.gs1 import Gs1Error
from bpc_worker.core.base.identifier import CROCKFORD, ID_CHARACTERS, STAND_IN_HOST, IdentifierError, TooLong
from bpc_worker.domain.records import Product
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession

_ADD_HOST = "add the host under which passports are found: `bpc-worker host add HOST --tenant {}`"


async def new_identifier(
    pipeline: PipelineSession, tx: Tx, product: Product, serial: str, *, longer: bool = False
) -> str:
    """For one battery. `longer`: although the registry will not take it."""
    host = await host_for_new(pipeline, tx)
    try:
        url = _url(host, product, serial)
        if not longer:
            identifier.check_length(url, pipeline.settings.limits.identifier_characters)
    except TooLong as error:
        hint = "a shorter serial or host, or --longer-than-registry"
        raise Permanent(Code.VALIDATION_ERROR, f"{error}: {hint}") from error
    except (Gs1Error, IdentifierError) as error:
        raise Permanent(Code.VALIDATION_ERROR, str(error)) from error
    return url


def _url(host: str, product: Product, serial: str) -> str:
    if product.gtin is not None:
        return identifier.with_gtin(host, product.gtin, serial)
    return identifier.without_gtin(host, drawn(ID_CHARACTERS))


def drawn(characters: int) -> str:
    return "".join(secrets.choice(CROCKFORD) for _ in range(characters))


async def host_for_new(pipeline: PipelineSession, tx: Tx) -> str:
    """The tenant's newest; without one, in development, a name that nobody can open."""
    rows = await tx.query("hosts/newest", {"tenant_id": pipeline.tenant_id})
    if rows:
        return str(rows[0]["host"])
    if pipeline.settings.env == "prod":
        hint = _ADD_HOST.format(pipeline.tenant_name)
        raise Permanent(Code.CONFIG_MISSING, f"the tenant has no host for unique identifiers; {hint}")
    return STAND_IN_HOST
