"""What the code on a battery is made from: the unique identifiers of serial numbers."""

from collections.abc import Sequence

from bpc_worker.domain.records import Passport, Product
from bpc_worker.pipeline.products import find_product
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of


async def identifiers(
    pipeline: PipelineSession, product: str, serials: Sequence[str]
) -> tuple[Product, dict[str, str]]:
    """By serial number, as far as they are known; NOT_FOUND where the product is not."""
    async with pipeline.reading() as tx:
        found = await find_product(pipeline, tx, product)
        wanted = {
            "tenant_id": pipeline.tenant_id,
            "battery_product_id": found.battery_product_id,
            "serials": [*serials],
        }
        known = all_of(await tx.query("serials/find", wanted), Passport)
    return found, {each.serial: each.unique_identifier for each in known}
