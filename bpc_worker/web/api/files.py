"""What is handed out of a version: bundle, views, the document after EN 18223, derivations, the code."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from bpc_worker.carrier.code import Printing, code_of, svg
from bpc_worker.core.base.audience import AUDIENCES, PUBLIC
from bpc_worker.core.passport.bundle import BundleError, verify_bundle
from bpc_worker.core.proof.explain import explain, summary
from bpc_worker.domain.exporting import File, Format, Wanted, check_signed, files_of
from bpc_worker.domain.stored import StoredVersion
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.export import tell
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.stored import read_version
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.api.passports import ABOUT
from bpc_worker.web.api.versions import ids_of, version_of
from bpc_worker.web.layer.answers import Answer, Data, Headers, Raw
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import Lock, needs

SD_JWT: Final = "application/dc+sd-jwt"
_ZIP, _PDF, _SVG = "application/zip", "application/pdf", "image/svg+xml"
_PATH = "/v1/passports/{id}/versions/{v}"
_BUNDLE: Final = Wanted(format=Format.BUNDLE)


class ViewQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    audience: str = PUBLIC


class ExplainQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`full`: every step; else the value and what it rests on."""

    field: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    full: bool = False


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """`steps`: from the published value down to the cells, each indented under what it gives."""

    field: str
    signed_by: str
    steps: list[str]


@dataclass(frozen=True, slots=True)
class Files:
    api: Api

    def routes(self) -> list[ApiRoute]:
        read, values = needs("read"), needs("values")
        return [
            _route("bundle", self.bundle, values, "Everything, with which it is made again offline.", _ZIP),
            _route("view", self.view, read, "What an audience may see, signed (SD-JWT).", SD_JWT, ViewQuery),
            _route("dpp", self.dpp, read, "The same as JSON after EN 18223.", "application/json", ViewQuery),
            ApiRoute("GET", f"{_PATH}/explain", self.explain, values, query=ExplainQuery, answers=Explained,
                     says="How a field got its value, down to the cells of the documents.", about=ABOUT),
            _route("qr.svg", self.code, read, "The code of this version.", _SVG),
            _route("label.pdf", self.label, read, "A label with the code of the battery.", _PDF),
        ]  # fmt: skip

    async def bundle(self, request: Request) -> Answer:
        """Handed out, and told in the audit trail."""
        stored = await self._stored(request)
        files = await self.api.apart(_files, stored, _BUNDLE)
        async with self.api.pipeline(request) as pipeline:
            await tell(pipeline, stored.row, _BUNDLE, files)
        return Raw(files[0].data, _ZIP, headers=_attached(files[0]))

    async def view(self, request: Request) -> Answer:
        files = await self._for_audience(request, Format.VIEW)
        return Raw(files[0].data, SD_JWT)

    async def dpp(self, request: Request) -> Answer:
        files = await self._for_audience(request, Format.DPP)
        return Raw(files[0].data, "application/json")

    async def explain(self, request: Request) -> Answer:
        query = request.asked(ExplainQuery)
        return Data(await self.api.apart(_explained, await self._stored(request), query))

    async def code(self, request: Request) -> Answer:
        found = await self.api.read(request, version_of, *ids_of(request))
        if found.qr_payload is None:
            raise Permanent(Code.VALIDATION_ERROR, f"the version is {found.status}: it has no code yet")
        return Raw(await self.api.apart(_drawn, found.qr_payload), _SVG)

    async def label(self, request: Request) -> Answer:
        stored = await self._stored(request)
        file = await self.api.apart(_label, stored)
        return Raw(file.data, _PDF, headers=_attached(file))

    async def _for_audience(self, request: Request, form: Format) -> list[File]:
        """The public's for everybody; others for whom the token is, or who may see all values."""
        audience = request.asked(ViewQuery).audience
        if audience not in AUDIENCES:
            raise Permanent(Code.VALIDATION_ERROR, f"audience: one of {', '.join(AUDIENCES)}")
        who = request.identity
        if audience not in {PUBLIC, who.audience} and not who.may("values"):
            raise Permanent(Code.FORBIDDEN, f"the token is for the audience {who.audience}, not {audience}")
        return await self.api.apart(
            _files, await self._stored(request), Wanted(format=form, audience=audience)
        )

    async def _stored(self, request: Request) -> StoredVersion:
        return await self.api.read(request, partial(_read, ids=ids_of(request)))


def _route(
    name: str, handle: Any, lock: Lock, says: str, media_type: str, query: type | None = None
) -> ApiRoute:
    return ApiRoute(
        "GET", f"{_PATH}/{name}", handle, lock, query=query, says=says, about=ABOUT,
        gives={media_type: Any if media_type == "application/json" else bytes},
    )  # fmt: skip


async def _read(pipeline: PipelineSession, *, ids: Any) -> StoredVersion:
    version = await version_of(pipeline, *ids)
    return await read_version(pipeline, str(version.passport_version_id))


def _files(stored: StoredVersion, wanted: Wanted) -> list[File]:
    return files_of(stored, wanted)


def _label(stored: StoredVersion) -> File:
    from bpc_worker.carrier.of_version import label_of

    return label_of(stored)


def _drawn(text: str) -> bytes:
    return svg(code_of(text, Printing()))


def _explained(stored: StoredVersion, query: ExplainQuery) -> Explained:
    """Verified first: made again from its facts, and every part compared."""
    check_signed(stored.row)
    try:
        verified = verify_bundle(stored.parts(), stored.registry)
    except BundleError as error:
        raise Permanent(Code.REPLAY_MISMATCH, f"{error}; nothing is explained") from error
    if query.field not in verified.proof.fields:
        raise Permanent(Code.NOT_FOUND, f"the passport has no field {query.field[:200]!r}")
    tree = explain if query.full else summary
    steps = tree(verified.proof, query.field, stored.places())
    return Explained(field=query.field, signed_by=verified.receipt.signing_key_id, steps=steps)


def _attached(file: File) -> Headers:
    return {"Content-Disposition": f'attachment; filename="{file.name}"'}
