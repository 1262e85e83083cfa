"""Battery products and the passports of single batteries."""

from uuid import UUID

import msgspec

from bpc_worker.handler_api import Tx
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of, one


class Product(msgspec.Struct, frozen=True):
    battery_product_id: UUID
    identifier: str
    name: str


class Passport(msgspec.Struct, frozen=True):
    passport_id: UUID
    battery_product_id: UUID
    serial: str


async def add_product(pipeline: PipelineSession, identifier: str, name: str) -> tuple[Product, bool]:
    """The product with this identifier, and whether it is new; one that was there keeps its name."""

    async def add() -> tuple[Product, bool]:
        params = {"tenant_id": pipeline.tenant_id, "identifier": identifier, "name": name}
        async with pipeline.transaction() as tx:
            added = bool(await tx.query("products/add", params))
            return one(await tx.query("products/find", params), Product, "product"), added

    return await again(add)


async def ensure_product(pipeline: PipelineSession, tx: Tx, identifier: str, name: str) -> Product:
    """The product with this identifier; the same one again is the same product, under its first name."""
    params = {"tenant_id": pipeline.tenant_id, "identifier": identifier, "name": name}
    await tx.query("products/add", params)
    return one(await tx.query("products/find", params), Product, "product")


async def ensure_passport(pipeline: PipelineSession, tx: Tx, product: Product, serial: str) -> Passport:
    params = {
        "tenant_id": pipeline.tenant_id,
        "battery_product_id": product.battery_product_id,
        "serial": serial,
    }
    await tx.query("passports/add", params)
    return one(await tx.query("passports/find", params), Passport, "passport")


async def products(pipeline: PipelineSession) -> list[Product]:
    async with pipeline.reading() as tx:
        return all_of(await tx.query("products/list", {"tenant_id": pipeline.tenant_id}), Product)
