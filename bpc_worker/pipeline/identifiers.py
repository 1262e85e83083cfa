"""The unique identifier that a battery gets when its serial is made: its host, its length, its characters."""

import secrets
from dataclasses import dataclass

from bpc_worker.core.base import identifier
from bpc_worker.core.base.gs1 import Gs1Error
from bpc_worker.core.base.identifier import CROCKFORD, ID_CHARACTERS, STAND_IN_HOST, IdentifierError, TooLong
from bpc_worker.core.base.serials import SerialError, check_plain
from bpc_worker.domain.records import Product
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession

STAND_IN = (
    f"{STAND_IN_HOST} stands in for the tenant's own host, and nobody can open it; before anything is "
    "printed, add yours with `bpc-worker host add HOST`"
)


@dataclass(frozen=True, slots=True)
class Leave:
    """What is made only for those who ask for it."""

    longer: bool = False  # identifiers that the registry does not take
    set_82: bool = False  # serials with any character that GS1 knows


NO_LEAVE = Leave()


def new_identifier(
    pipeline: PipelineSession, host: str, product: Product, serial: str, leave: Leave = NO_LEAVE
) -> str:
    """For one battery, for life."""
    try:
        if not leave.set_82 and product.gtin is not None:
            check_plain(serial)
        url = _url(host, product, serial)
        if not leave.longer:
            identifier.check_length(url, pipeline.settings.limits.identifier_characters)
    except TooLong as error:
        hint = "take a shorter serial or host, or `bpc-worker serials add --longer-than-registry`"
        raise Permanent(Code.VALIDATION_ERROR, f"{error}: {hint}") from error
    except SerialError as error:
        hint = "take another, or `bpc-worker serials add --set-82`"
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
        hint = f"add it with `bpc-worker host add HOST --tenant {pipeline.tenant_name}`"
        message = f"the tenant has no host that identifiers of its batteries could stand under; {hint}"
        raise Permanent(Code.CONFIG_MISSING, message)
    return STAND_IN_HOST
