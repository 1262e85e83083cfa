"""Builds: documents and what they are become a signed passport."""

from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from bpc_worker.config.yaml import load_plain
from bpc_worker.core.base.hashing import sha256
from bpc_worker.domain.builds import ENDED
from bpc_worker.domain.states import BuildStatus
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import Priority
from bpc_worker.pipeline.builds.folder import Document, Manifest, read_manifest
from bpc_worker.pipeline.builds.listing import ListedBuild, ShownBuild, list_builds, show_build
from bpc_worker.pipeline.builds.sent import with_sent
from bpc_worker.pipeline.builds.start import start_build
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.web.api.bodies import as_json, media_type_of, parts_of, refuse_media_type
from bpc_worker.web.api.context import Api, id_of
from bpc_worker.web.api.cursors import PageQuery, page
from bpc_worker.web.api.described import JSON, MULTIPART, ApiRoute
from bpc_worker.web.api.once import once
from bpc_worker.web.api.preferences import priority, wait_seconds
from bpc_worker.web.api.shown import plain
from bpc_worker.web.api.waiting import Awaited
from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

ABOUT = "Builds"
_MANIFEST = "manifest"
_FILES = 4  # of the largest documents in one call


class BuildProduct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    identifier: str
    name: str


class BuildSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A document of a build: one that was sent before (`document`: an id, or a sha256), or a file beside it.

    Of one that was sent, what is not said is as it was sent. `mapping`: what its own titles mean.
    """

    document: str | None = None
    file: str | None = None
    kind: str | None = None
    mime_type: str | None = None
    number_format: str | None = None
    mapping: dict[str, Any] | str | None = None
    attachment: dict[str, str] | None = None


class BuildManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As a passport.yaml: `passport` is the serial number of the battery."""

    product: BuildProduct
    passport: str
    rules: str
    law_date: date
    documents: list[BuildSource]


class BuildFiles(msgspec.Struct, frozen=True):
    """`manifest`: a passport.yaml, as YAML or JSON; the other parts are the files that it names."""

    manifest: str
    files: list[bytes]


class BuildPage(msgspec.Struct, frozen=True):
    items: list[ListedBuild]
    next: str | None


class BuildsQuery(PageQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    state: BuildStatus | None = None
    passport_id: UUID | None = None


class BuildQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`again`: another version, even if nothing has changed."""

    again: bool = False
    priority: str | None = None


@dataclass(frozen=True, slots=True)
class Builds:
    api: Api

    def routes(self) -> list[ApiRoute]:
        read = needs("read")
        return [
            ApiRoute(
                "POST", "/v1/builds", self.start, needs("write", changes=True), body=bytes, query=BuildQuery,
                answers=ShownBuild, says="Have a passport made; the same again is the same build.",
                most_bytes=_FILES * self.api.settings.limits.document_bytes, about=ABOUT,
                statuses=(200, 202), takes={JSON: BuildManifest, MULTIPART: BuildFiles}, waits=True,
            ),
            ApiRoute("GET", "/v1/builds", self.listed, read, query=BuildsQuery, answers=BuildPage,
                     says="Builds, newest first.", about=ABOUT),
            ApiRoute("GET", "/v1/builds/{id}", self.shown, read, answers=ShownBuild, about=ABOUT, waits=True,
                     says="One, with its stages, their jobs, and what is wrong with its documents."),
        ]  # fmt: skip

    async def start(self, request: Request) -> Answer:
        query = request.asked(BuildQuery)
        urgent = priority(request, query.priority)
        manifest = _manifest(request, self.api.settings.limits.document_bytes)
        asked = [manifest.recipe, [_asked(each) for each in manifest.documents]]
        async with self.api.pipeline(request) as pipeline:
            act = partial(begin, manifest, again=query.again, priority=urgent)
            answer = await once(pipeline, request, asked, act)
        seconds = wait_seconds(request)
        if not seconds:
            return answer
        build_id = msgspec.json.decode(answer.body, type=ShownBuild).build_id
        await self.api.watch.ended(Awaited.BUILD, build_id, seconds=seconds)
        return _told(await self.api.read(request, show_build, build_id))

    async def listed(self, request: Request) -> Answer:
        query = request.asked(BuildsQuery)
        found = await self.api.read(
            request,
            list_builds,
            state=query.state,
            passport_id=query.passport_id,
            after=query.behind("builds", UUID),
            limit=query.limit + 1,
        )
        return page("builds", query, found, lambda each: each.build_id, request)

    async def shown(self, request: Request) -> Answer:
        build_id, seconds = id_of(request, "id", "build"), wait_seconds(request)
        found = await self.api.read(request, show_build, build_id)
        if seconds and found.state not in ENDED:
            await self.api.watch.ended(Awaited.BUILD, build_id, seconds=seconds)
            found = await self.api.read(request, show_build, build_id)
        return Data(plain(found))


async def begin(
    manifest: Manifest, one: OneTransaction, *, again: bool = False, priority: Priority | None = None
) -> Data:
    folder = await with_sent(one, manifest)
    started = await start_build(one, folder, again=again, priority=priority)
    return _told(await show_build(one, started.build_id))


def manifest_of(told: BuildManifest) -> Manifest:
    """All of whose documents were sent before."""
    return read_manifest(msgspec.to_builtins(told), {}, document_bytes=0)


def _told(build: ShownBuild) -> Data:
    location = {"Location": f"/v1/builds/{build.build_id}"}
    return Data(plain(build), 200 if build.state in ENDED else 202, headers=location)


def _manifest(request: Request, document_bytes: int) -> Manifest:
    media_type = media_type_of(request)
    if media_type == JSON:
        return manifest_of(as_json(request.given(bytes), BuildManifest))
    if media_type != MULTIPART:
        raise refuse_media_type(JSON, MULTIPART)
    files: dict[str, bytes] = {}
    told: object = None
    for part in parts_of(request):
        if part.name == _MANIFEST:
            told = _loaded(part.content)
        else:
            name = part.file or part.name
            if name in files:
                raise Permanent(Code.VALIDATION_ERROR, f"two files are called {name[:100]!r}")
            files[name] = part.content
    if told is None:
        raise Permanent(Code.VALIDATION_ERROR, "a part called `manifest` is expected: a passport.yaml")
    return read_manifest(told, files, document_bytes=document_bytes)


def _loaded(text: bytes) -> object:
    """JSON is YAML, too."""
    try:
        return load_plain(text)
    except ValueError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"manifest: {error}") from error


def _asked(document: object) -> object:
    """For the digest of the call: of a file its hash."""
    if isinstance(document, Document) and document.content is not None:
        return [document.entry, sha256(document.content)]
    return document
