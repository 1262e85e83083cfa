"""Products, and the batteries of one: their serial numbers, each with its passport and its identifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TypeVar
from uuid import UUID

import msgspec

from bpc_worker.domain.records import Passport
from bpc_worker.domain.states import Granularity
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.documents import sent_before
from bpc_worker.pipeline.identifiers import Leave
from bpc_worker.pipeline.items import Versions, count_items, take_list
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.pipeline.products import ProductData, add_product, change_product
from bpc_worker.pipeline.serials import Serials, add_serials, make_serials
from bpc_worker.pipeline.session import PipelineSession, uuid_or_none
from bpc_worker.web.api.bodies import as_json, lines_of, media_type_of, refuse_media_type
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.cursors import PageQuery, page
from bpc_worker.web.api.described import JSON, NDJSON, ApiRoute
from bpc_worker.web.api.once import once
from bpc_worker.web.api.shown import as_type
from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

T = TypeVar("T")

_ABOUT = "Products"
_MOST_SERIALS = 10_000
_MOST_BYTES = 4 * 1024 * 1024


class Product(msgspec.Struct, frozen=True, kw_only=True):
    battery_product_id: UUID
    identifier: str
    name: str
    model_identifier: str | None
    gtin: str | None
    commodity_code: str | None
    operator: str | None
    facility: str | None


class ProductPage(msgspec.Struct, frozen=True):
    items: list[Product]
    next: str | None


class NewProduct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`change`: what is there already becomes as it is told here; else it must be so."""

    identifier: str
    name: str
    model_identifier: str | None = None
    gtin: str | None = None
    commodity_code: str | None = None
    operator: str | None = None
    facility: str | None = None
    change: bool = False


class Battery(msgspec.Struct, frozen=True, kw_only=True):
    passport_id: UUID
    serial: str
    granularity: Granularity
    unique_identifier: str


class BatteryPage(msgspec.Struct, frozen=True):
    items: list[Battery]
    next: str | None


class NewSerials(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of `serials`, your own; `count`, so many that are drawn; `document`, those that a list names.

    A list is a document of the kind SERIALS; with `rules` and `law_date` every battery of it gets a version.
    """

    serials: list[str] | None = None
    count: int | None = None
    document: str | None = None
    rules: str | None = None
    law_date: date | None = None
    granularity: Granularity = Granularity.ITEM
    longer_than_registry: bool = False
    set_82: bool = False


class SerialsTaken(msgspec.Struct, frozen=True, kw_only=True):
    """`jobs`: of a list, those that make its snapshots."""

    product: str
    added: int
    warnings: list[str]
    passports: list[Battery]
    jobs: list[UUID] = []


@dataclass(frozen=True, slots=True)
class Products:
    api: Api

    def routes(self) -> list[ApiRoute]:
        read, write = needs("read"), needs("write", changes=True)
        return [
            ApiRoute("GET", "/v1/products", self.listed, read, query=PageQuery, answers=ProductPage,
                     says="Products, by identifier.", about=_ABOUT),
            ApiRoute("POST", "/v1/products", self.add, write, body=NewProduct, answers=Product,
                     says="Add a product, or change one.", about=_ABOUT, statuses=(200, 201)),
            ApiRoute("GET", "/v1/products/{id}", self.shown, read, answers=Product,
                     says="By its id, or by its identifier, percent-encoded.", about=_ABOUT),
            ApiRoute("GET", "/v1/products/{id}/serials", self.serials, read, query=PageQuery,
                     answers=BatteryPage, says="Its batteries, in the order in which they were added.",
                     about=_ABOUT),
            ApiRoute("POST", "/v1/products/{id}/serials", self.add_serials, write, body=bytes,
                     answers=SerialsTaken, most_bytes=_MOST_BYTES, about=_ABOUT, statuses=(200, 201),
                     says="Add batteries: each gets its passport and its identifier, for life.",
                     takes={JSON: NewSerials, NDJSON: str}),
        ]  # fmt: skip

    async def listed(self, request: Request) -> Answer:
        query = request.asked(PageQuery)
        params = {"after": query.behind("products", str), "limit": query.limit + 1}
        found = await self.api.read(request, partial(_rows, "api/products", Product, params))
        return page("products", query, found, lambda each: each.identifier, request)

    async def shown(self, request: Request) -> Answer:
        return Data(await self.api.read(request, find_product, request.path_args["id"]))

    async def add(self, request: Request) -> Answer:
        told = request.given(NewProduct)
        async with self.api.pipeline(request) as pipeline:
            return await once(pipeline, request, told, partial(_add, told))

    async def serials(self, request: Request) -> Answer:
        query = request.asked(PageQuery)
        product = await self.api.read(request, find_product, request.path_args["id"])
        params = {
            "battery_product_id": product.battery_product_id,
            "after": query.behind("serials", UUID),
            "limit": query.limit + 1,
        }
        found = await self.api.read(request, partial(_rows, "api/serials", Battery, params))
        return page("serials", query, found, lambda each: each.passport_id, request)

    async def add_serials(self, request: Request) -> Answer:
        told = _told(request)
        wanted = request.path_args["id"]

        async def act(one: OneTransaction) -> Data:
            product = await find_product(one, wanted)
            return await _take(one, product, told)

        async with self.api.pipeline(request) as pipeline:
            return await once(pipeline, request, told, act)


async def find_product(pipeline: PipelineSession, wanted: str) -> Product:
    found = await _rows("api/product", Product, {"id": uuid_or_none(wanted), "wanted": wanted}, pipeline)
    if not found:
        raise Permanent(Code.NOT_FOUND, "there is no such product")
    return found[0]


async def _rows(name: str, kind: type[T], params: Mapping[str, object], pipeline: PipelineSession) -> list[T]:
    async with pipeline.reading() as tx:
        rows = await tx.query(name, {"tenant_id": pipeline.tenant_id, **params})
    return [as_type(dict(row), kind) for row in rows]


async def _add(told: NewProduct, one: OneTransaction) -> Data:
    members = {name: getattr(told, name) for name in ProductData.__struct_fields__}
    data = ProductData(**members)
    made, is_new = await add_product(one, data)
    if told.change and not is_new:
        await change_product(one, data)
    found = await find_product(one, told.identifier)
    others = [
        name
        for name, text in members.items()
        if text is not None and not _same(name, getattr(found, name), text)
    ]
    if others:
        raise Refused(
            409, Code.VALIDATION_ERROR, f"{told.identifier} is there with another {', '.join(others)}",
            next_='send it with "change": true, if that is meant',
        )  # fmt: skip
    location = {"Location": f"/v1/products/{made.battery_product_id}"}
    return Data(found, 201 if is_new else 200, headers=location)


def _same(name: str, there: str | None, told: str) -> bool:
    """A GTIN may be told without its leading zeros."""
    return there == told or (name == "gtin" and there is not None and there == told.zfill(len(there)))


def _told(request: Request) -> NewSerials:
    raw, media_type = request.given(bytes), media_type_of(request)
    if media_type == NDJSON:
        serials = [
            as_json(line, str, f"line {number}")
            for number, line in enumerate(lines_of(raw, _MOST_SERIALS), start=1)
        ]
        return NewSerials(serials=serials)
    if media_type != JSON:
        raise refuse_media_type(JSON, NDJSON)
    told = as_json(raw, NewSerials)
    if [told.serials, told.count, told.document].count(None) != 2:  # noqa: PLR2004 - of the three, one
        raise Permanent(Code.VALIDATION_ERROR, "say one of serials, count and document")
    if (told.rules is None) != (told.law_date is None) or (told.rules and told.document is None):
        raise Permanent(Code.VALIDATION_ERROR, "rules and law_date go together, and with document")
    return told


async def _take(one: OneTransaction, product: Product, told: NewSerials) -> Data:
    leave = Leave(longer=told.longer_than_registry, set_82=told.set_82)
    if told.document is not None:
        return await _take_list(one, product, told, leave)
    most = len(told.serials or ()) or told.count or 0
    if not 0 < most <= _MOST_SERIALS:
        raise Permanent(Code.VALIDATION_ERROR, f"{most} serials: 1 to {_MOST_SERIALS} at a time")
    if told.serials is not None:
        made = await add_serials(
            one, product.identifier, told.serials, granularity=told.granularity, leave=leave
        )
    else:
        made = await make_serials(one, product.identifier, most, granularity=told.granularity, leave=leave)
    return _taken(product, made.passports, made)


async def _take_list(one: OneTransaction, product: Product, told: NewSerials, leave: Leave) -> Data:
    wanted = told.document or ""
    async with one.reading() as tx:
        found = await sent_before(one, tx, wanted)
    if found is None or found.kind != "SERIALS":
        raise Permanent(Code.NOT_FOUND, "there is no such document of the kind SERIALS")
    document = str(found.document_version_id)
    count = await count_items(one, document)
    if not 0 < count <= _MOST_SERIALS:
        raise Permanent(
            Code.VALIDATION_ERROR,
            f"the list names {count} batteries: 1 to {_MOST_SERIALS} at a time; is it read already?",
        )
    versions = None
    if told.rules is not None and told.law_date is not None:
        versions = Versions(told.rules, told.law_date)
    jobs = await take_list(one, product.identifier, document, versions=versions, leave=leave)
    taken = SerialsTaken(product=product.identifier, added=count, warnings=[], passports=[], jobs=[*jobs])
    return Data(taken, 201)


def _taken(product: Product, passports: Sequence[Passport], made: Serials) -> Data:
    taken = SerialsTaken(
        product=product.identifier,
        added=made.added,
        warnings=made.warnings,
        passports=[as_type(each, Battery) for each in passports],
    )
    return Data(taken, 201 if made.added else 200)
