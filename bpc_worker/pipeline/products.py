"""Battery products and the passports of single batteries."""

from bpc_worker.domain.records import Passport, Product
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.identifiers import new_identifier
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import maybe, one


@again
async def add_product(pipeline: PipelineSession, identifier: str, name: str) -> tuple[Product, bool]:
    """The product with this identifier, and whether it is new; one that was there keeps its name."""
    async with pipeline.transaction() as tx:
        return await ensure_product(pipeline, tx, identifier, name)


async def ensure_product(
    pipeline: PipelineSession, tx: Tx, identifier: str, name: str
) -> tuple[Product, bool]:
    params = {"tenant_id": pipeline.tenant_id, "identifier": identifier, "name": name}
    added = bool(await tx.query("products/add", params))
    return one(await tx.query("products/find", params), Product, "product"), added


async def ensure_passport(pipeline: PipelineSession, tx: Tx, product: Product, serial: str) -> Passport:
    """The passport of this battery; a new one gets its unique identifier now, for life."""
    params = {
        "tenant_id": pipeline.tenant_id,
        "battery_product_id": product.battery_product_id,
        "serial": serial,
    }
    found = maybe(await tx.query("passports/find", params), Passport)
    if found is not None:
        return found
    identifier = await new_identifier(pipeline, tx, product, serial)
    await tx.query("passports/add", params | {"unique_identifier": identifier})
    found = maybe(await tx.query("passports/find", params), Passport)
    if found is None:
        raise Permanent(Code.VALIDATION_ERROR, f"{identifier} stands on another battery already")
    return found


async def products(pipeline: PipelineSession) -> list[Product]:
    return await pipeline.rows("products/list", Product)
