"""Battery products, one by one or many at once, and the passports of single batteries."""

from collections.abc import Sequence

import msgspec

from bpc_worker.core.base.gs1 import Gs1Error, gtin14
from bpc_worker.domain.records import Passport, Product
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.identifiers import host_for_new, new_identifier
from bpc_worker.pipeline.operators import check_text, find_facility, find_operator
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import maybe, one

_COMMODITY_CODES = range(6, 11)  # digits: of the harmonised system, the combined nomenclature, TARIC


class ProductData(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says of a product. None: nothing; in a change, what is there stays."""

    identifier: str
    name: str | None = None
    model_identifier: str | None = None
    gtin: str | None = None
    commodity_code: str | None = None
    operator: str | None = None  # by name
    facility: str | None = None  # by name


class ListedProduct(Product, frozen=True):
    operator: str | None
    facility: str | None


class Imported(msgspec.Struct, frozen=True):
    added: int
    changed: int
    same: int


@again
async def add_product(pipeline: PipelineSession, data: ProductData) -> tuple[Product, bool]:
    """The product with this identifier, and whether it is new; one that was there stays as it is."""
    async with pipeline.transaction() as tx:
        return await _added(pipeline, tx, data)


@again
async def change_product(pipeline: PipelineSession, data: ProductData) -> Product:
    """From now on: versions that are there keep what their snapshots say, and batteries their identifiers."""
    async with pipeline.transaction() as tx:
        found = await find_product(pipeline, tx, data.identifier)
        return await _changed(pipeline, tx, found, await _row(pipeline, tx, data))


@again
async def import_products(
    pipeline: PipelineSession, rows: Sequence[ProductData], *, change: bool = False
) -> Imported:
    """All of them or none. What is there already stays, and must be as told unless it is to be changed."""
    async with pipeline.transaction() as tx:
        counts = {"added": 0, "changed": 0, "same": 0}
        for data in rows:
            found, added = await _added(pipeline, tx, data)
            told = await _row(pipeline, tx, data)
            other = [] if added else [name for name, text in told.items() if getattr(found, name) != text]
            if other and not change:
                message = (
                    f"{data.identifier} is there with another {', '.join(other)}; --change takes the new"
                )
                raise Permanent(Code.VALIDATION_ERROR, message)
            if other:
                await _changed(pipeline, tx, found, told)
            counts["added" if added else "changed" if other else "same"] += 1
        return Imported(**counts)


async def ensure_product(
    pipeline: PipelineSession, tx: Tx, identifier: str, name: str
) -> tuple[Product, bool]:
    return await _added(pipeline, tx, ProductData(identifier=identifier, name=name))


async def find_product(pipeline: PipelineSession, tx: Tx, identifier: str) -> Product:
    params = {"tenant_id": pipeline.tenant_id, "identifier": identifier}
    found = maybe(await tx.query("products/find", params), Product)
    if found is None:
        hint = "`bpc-worker product list` shows them, `bpc-worker product add` adds one"
        raise Permanent(Code.NOT_FOUND, f"no product {identifier!r}; {hint}")
    return found


async def _added(pipeline: PipelineSession, tx: Tx, data: ProductData) -> tuple[Product, bool]:
    nothing = dict.fromkeys(("model_identifier", "gtin", "commodity_code", "operator_id", "facility_id"))
    key = {"tenant_id": pipeline.tenant_id, "identifier": data.identifier}
    row = await _row(pipeline, tx, data)
    await _refuse_shared_gtin(pipeline, tx, data.identifier, row.get("gtin"))
    added = bool(await tx.query("products/add", {"name": data.identifier} | nothing | row | key))
    return one(await tx.query("products/find", key), Product, "product"), added


async def _changed(pipeline: PipelineSession, tx: Tx, found: Product, told: dict[str, object]) -> Product:
    changed = msgspec.convert(msgspec.structs.asdict(found) | told, Product)
    await _refuse_shared_gtin(pipeline, tx, found.identifier, changed.gtin)
    await tx.query("products/change", {"tenant_id": pipeline.tenant_id} | msgspec.structs.asdict(changed))
    return changed


async def _row(pipeline: PipelineSession, tx: Tx, data: ProductData) -> dict[str, object]:
    """The columns that something is said of."""
    row: dict[str, object] = {}
    if data.name is not None:
        row["name"] = data.name
    if data.model_identifier is not None:
        check_text("model identifier", data.model_identifier)
        row["model_identifier"] = data.model_identifier
    if data.gtin is not None:
        row["gtin"] = _gtin(data.gtin)
    if data.commodity_code is not None:
        row["commodity_code"] = _commodity_code(data.commodity_code)
    if data.operator is not None:
        row["operator_id"] = (await find_operator(pipeline, tx, data.operator)).operator_id
    if data.facility is not None:
        row["facility_id"] = (await find_facility(pipeline, tx, data.facility)).facility_id
    return row


def _gtin(text: str) -> str:
    try:
        return gtin14(text)
    except Gs1Error as error:
        raise Permanent(Code.VALIDATION_ERROR, str(error)) from error


def _commodity_code(text: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) in _COMMODITY_CODES):
        raise Permanent(Code.VALIDATION_ERROR, f"commodity code {text!r}: expected 6 to 10 digits")
    return text


async def _refuse_shared_gtin(pipeline: PipelineSession, tx: Tx, identifier: str, gtin: object) -> None:
    """A GTIN names one product."""
    params = {"tenant_id": pipeline.tenant_id, "gtin": gtin}
    for row in await tx.query("products/with_gtin", params):
        if row["identifier"] != identifier:
            message = f"GTIN {gtin} is that of {row['identifier']}: each product has its own"
            raise Permanent(Code.VALIDATION_ERROR, message)


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
    identifier = new_identifier(pipeline, await host_for_new(pipeline, tx), product, serial)
    await tx.query("passports/add", params | {"unique_identifier": identifier})
    found = maybe(await tx.query("passports/find", params), Passport)
    if found is None:
        raise Permanent(Code.VALIDATION_ERROR, f"{identifier} stands on another battery already")
    return found


async def products(pipeline: PipelineSession) -> list[ListedProduct]:
    """By identifier."""
    return await pipeline.rows("products/list", ListedProduct)
