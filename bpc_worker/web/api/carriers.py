"""The codes on batteries, drawn: one as a picture, or sheets of labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from bpc_worker.carrier.errors import CarrierError
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.carriers import identifiers
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.api.once import Keeps, once
from bpc_worker.web.api.products import find_product
from bpc_worker.web.layer.answers import Answer, Raw
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

if TYPE_CHECKING:  # fonts and PDF, which other routes do without
    from bpc_worker.carrier.order import Order

_MOST_LABELS = 1000
_MOST_NAMED = 10


class Picture(StrEnum):
    PNG = "png"
    SVG = "svg"
    PDF = "pdf"
    ZIP = "zip"  # all of them, with a list of what is where


_MEDIA_TYPES: Final[Mapping[Picture, str]] = {
    Picture.PNG: "image/png",
    Picture.SVG: "image/svg+xml",
    Picture.PDF: "application/pdf",
    Picture.ZIP: "application/zip",
}


class NewCarriers(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Of batteries that have their identifiers. A png and a svg are of one battery."""

    product: str
    serials: Annotated[list[str], msgspec.Meta(min_length=1, max_length=_MOST_LABELS)]
    format: Picture
    category: Literal["ev", "industrial", "lmt"] = "ev"
    capacity: str | None = None
    metals: list[Literal["Cd", "Pb"]] = []
    values: dict[str, str] = {}
    one_per_page: bool = False
    level: Literal["M", "Q"] = "M"
    module_mm: Annotated[float, msgspec.Meta(ge=0.33, le=10)] = 0.396
    side_mm: Annotated[float, msgspec.Meta(ge=5, le=200)] | None = None
    dpi: Annotated[int, msgspec.Meta(ge=72, le=2400)] = 300


@dataclass(frozen=True, slots=True)
class Carriers:
    api: Api

    def routes(self) -> list[ApiRoute]:
        return [
            ApiRoute("POST", "/v1/carriers", self.make, needs("write", changes=True), body=NewCarriers,
                     says="Draw the codes of batteries: pictures, sheets of labels, or all in a zip.",
                     about="Carriers", gives=dict.fromkeys(_MEDIA_TYPES.values(), bytes)),
        ]  # fmt: skip

    async def make(self, request: Request) -> Answer:
        told = request.given(NewCarriers)
        if told.format in {Picture.PNG, Picture.SVG} and len(set(told.serials)) != 1:
            raise Permanent(Code.VALIDATION_ERROR, f"a {told.format} is of one battery; ask for a zip")

        async def act(one: OneTransaction) -> Raw:
            known = await _known(one, told)
            return Raw(await self.api.apart(_drawn, told, known), _MEDIA_TYPES[told.format])

        async with self.api.pipeline(request) as pipeline:
            return await once(pipeline, request, told, act, keeps=Keeps.NOTHING)


async def _known(one: OneTransaction, told: NewCarriers) -> dict[str, dict[str, str]]:
    """What may stand on each label, by serial."""
    product = await find_product(one, told.product)
    _, urls = await identifiers(one, product.identifier, told.serials)
    unknown = [each for each in told.serials if each not in urls]
    if unknown:
        named = ", ".join(unknown[:_MOST_NAMED]) + (" …" if len(unknown) > _MOST_NAMED else "")
        raise Permanent(Code.NOT_FOUND, f"{product.identifier} has no {named}; add its serials first")
    about = {
        "product": product.name, "model": product.model_identifier or "", "gtin": product.gtin or "",
    }  # fmt: skip
    return {
        serial: {**about, "serial": serial, "identifier": urls[serial]}
        for serial in dict.fromkeys(told.serials)
    }


def _drawn(told: NewCarriers, known: Mapping[str, dict[str, str]]) -> bytes:
    from bpc_worker.carrier.code import code_of, png, svg
    from bpc_worker.carrier.drawing import archive, drawn

    try:
        order = _order(told, known)
        if told.format is Picture.ZIP:
            return archive(order)
        if told.format is Picture.PDF:
            [sheets] = [data for name, data in drawn(order).items() if name.startswith("pdf/")]
            return sheets
        draw = png if told.format is Picture.PNG else svg
        return draw(code_of(order.labels[0].identifier, order.printing))
    except CarrierError as error:
        raise Permanent(Code.VALIDATION_ERROR, "; ".join(error.problems)) from error


def _order(told: NewCarriers, known: Mapping[str, dict[str, str]]) -> "Order":
    from bpc_worker.carrier.code import Printing
    from bpc_worker.carrier.label import FORMATS, Format
    from bpc_worker.carrier.lists import Entry, labels_of
    from bpc_worker.carrier.order import Order
    from bpc_worker.carrier.template import of_category

    found = of_category(told.category)
    template = found.one_per_page() if told.one_per_page else found
    formats: frozenset[Format] = frozenset(FORMATS if told.format is Picture.ZIP else ("pdf",))
    entries = [Entry(number, values) for number, values in enumerate(known.values(), start=1)]
    common = told.values | ({} if told.capacity is None else {"capacity": told.capacity})
    return Order(
        labels=labels_of(entries, told.metals, common),
        template=template,
        printing=Printing(
            level=told.level,
            module_mm=told.module_mm,
            side_mm=told.side_mm or template.code.side_mm,
            dpi=told.dpi,
        ),
        formats=formats,
        sheets_per_file=_MOST_LABELS,
    )
