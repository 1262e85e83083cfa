"""The door of the standard read interface, after EN 18222: on the listener of the API."""

import re
from datetime import UTC, datetime
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec

from bpc_worker.core.base.gs1 import Gs1Error
from bpc_worker.core.base.identifier import IdentifierError, host_of
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.rows import as_uuid
from bpc_worker.web.dpp import passports
from bpc_worker.web.dpp.passports import Document, Passports
from bpc_worker.web.layer.answers import Answer, Data, Raw
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Door, Lock, Route, needs
from bpc_worker.web.parts import Parts

_ID: Final = re.compile(r"(?:urn:uuid:)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_NOT_IMPLEMENTED: Final = "passports here are compiled from documents, never edited: send a document instead"
_PAGE: Final = 100


class Representation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    representation: Literal["compressed", "full"] = "compressed"


class OnDate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    date: str
    representation: Literal["compressed", "full"] = "compressed"


class PageOfIds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = _PAGE
    cursor: str = ""


class ProductIds(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"product_ids": "productIds"}
):
    product_ids: Annotated[list[str], msgspec.Meta(min_length=1, max_length=10_000)]


class DppDoor:
    def __init__(self, parts: Parts) -> None:
        self._database = parts.database
        self._passports = Passports(parts.database)

    def routes(self) -> list[Route]:
        never = Lock(None, changes=True)  # to nobody, whoever he is
        edits = (("POST", "/v1/dpps"), ("PATCH", "/v1/dpps/{dppId}"), ("DELETE", "/v1/dpps/{dppId}"),
                 ("PATCH", "/v1/dpps/{dppId}/elements/{path}"))  # fmt: skip
        return [
            Route("GET", "/v1/dpps/{dppId}", self._by_id, OPEN, query=Representation,
                  says="A passport by its id, for the audience of the token."),
            Route("GET", "/v1/dppsByProductId/{productId}", self._by_product, OPEN, query=Representation,
                  says="The passport of a battery, by its unique identifier."),
            Route("GET", "/v1/dppsByIdAndDate/{dppId}", self._by_date, OPEN, query=OnDate,
                  says="The version of a passport that was in force then."),
            Route("GET", "/v1/dpps/{dppId}/elements/{path}", self._element, OPEN,
                  says="One data element of a passport."),
            Route("POST", "/v1/dppsByProductIds", self._ids, needs("read"), body=ProductIds, query=PageOfIds,
                  says="The ids of the passports of these batteries."),
            *(Route(method, path, _refuse, never, body=bytes, says="Refused: nothing here is edited.")
              for method, path in edits),
        ]  # fmt: skip

    async def _by_id(self, request: Request) -> Answer:
        found = await self._passports.document(
            request.identity, passports.in_force, passport_id=_passport_id(request)
        )
        return _answer(found, request.asked(Representation).representation)

    async def _by_product(self, request: Request) -> Answer:
        identifier = request.path_args["productId"]
        try:
            host_of(identifier)
        except (IdentifierError, Gs1Error) as error:
            raise Permanent(Code.VALIDATION_ERROR, f"productId: {error}") from error
        found = await self._passports.document(request.identity, passports.in_force, identifier=identifier)
        return _answer(found, request.asked(Representation).representation)

    async def _by_date(self, request: Request) -> Answer:
        asked = request.asked(OnDate)
        found = await self._passports.document(
            request.identity, passports.on(_moment(asked.date)), passport_id=_passport_id(request)
        )
        return _answer(found, asked.representation)

    async def _element(self, request: Request) -> Answer:
        found = await self._passports.document(
            request.identity, passports.in_force, passport_id=_passport_id(request)
        )
        return Data(passports.element(found, request.path_args["path"]))

    async def _ids(self, request: Request) -> Answer:
        """Of what the caller's tenant has."""
        asked = request.asked(PageOfIds)
        params = {
            "identifiers": request.given(ProductIds).product_ids,
            "after": asked.cursor,
            "page": asked.limit,
        }
        async with self._database.reader(request.identity) as reading:
            rows = await reading.query("public/ids_of", params)
        found = [f"urn:uuid:{as_uuid(row['passport_id'])}" for row in rows]
        more = {"cursor": str(rows[-1]["unique_identifier"])} if len(rows) == asked.limit else {}
        return Data({"digitalProductPassportIds": found, **more})


async def _refuse(_: Request) -> Answer:
    raise Refused(501, "ServerNotImplemented", _NOT_IMPLEMENTED, next_="POST /v1/documents, then a build")


def _passport_id(request: Request) -> UUID:
    found = _ID.fullmatch(request.path_args["dppId"])
    if found is None:
        raise Permanent(Code.VALIDATION_ERROR, "dppId is urn:uuid: and the id of a passport, percent-encoded")
    return UUID(found[1])


def _moment(text: str) -> datetime:
    """A day is its last moment."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"date: {error}") from error
    if len(text) == len("2027-02-18"):
        found = found.replace(hour=23, minute=59, second=59, microsecond=999_999)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _answer(document: Document, representation: str) -> Answer:
    if representation == "full":
        return Data(passports.full(document))
    return Raw(document.compressed, "application/json")


def dpp_door(parts: Parts) -> Door:
    return Door(name="dpp", routes=DppDoor(parts).routes(), cache="private, no-cache")
