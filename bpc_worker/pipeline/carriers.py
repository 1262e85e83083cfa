"""What the code on a battery is made from: the unique identifiers of serial numbers."""

from collections.abc import Sequence

import msgspec

from bpc_worker.domain.records import Product
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of, one


class Identified(msgspec.Struct, frozen=True):
    serial: str
    unique_identifier: str


async def identifiers(
    pipeline: PipelineSession, product: str, serials: Sequence[str]
) -> tuple[Product, dict[str, str]]:
    """By serial number, as far as they are known; NOT_FOUND where the product is not."""
    async with pipeline.reading() as tx:
        params = {"tenant_id": pipeline.tenant_id, "identifier": product}
        found = one(await tx.query("products/find", params), Product, "product")
        wanted = {
            "tenant_id": pipeline.tenant_id,
            "battery_product_id": found.battery_product_id,
            "serials": [*serials],
        }
        known = all_of(await tx.query("passports/identifiers", wanted), Identified)
    return found, {each.serial: each.unique_identifier for each in known}
