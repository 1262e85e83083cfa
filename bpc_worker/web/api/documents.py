"""Suppliers' documents: sent in, looked at, their facts and their bytes."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

import msgspec

from bpc_worker.documents.attachment_kinds import ATTACHMENT
from bpc_worker.documents.attachments import described
from bpc_worker.documents.mapping import titles
from bpc_worker.documents.mime_types import by_ending, of_attachment
from bpc_worker.documents.model import KINDS
from bpc_worker.documents.reading.decimal_text import SPELLINGS
from bpc_worker.domain.states import DocumentStatus
from bpc_worker.handler_api import Priority
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.attachments import content_of
from bpc_worker.pipeline.documents import (
    BuildRef,
    FactFound,
    Mistake,
    SnapshotRef,
    Upload,
    document_facts,
    register_document,
    sent_detail,
)
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.web.api.bodies import Part, as_json, media_type_of, parts_of
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.cursors import PageQuery, page
from bpc_worker.web.api.described import MULTIPART, ApiRoute
from bpc_worker.web.api.once import once
from bpc_worker.web.api.preferences import idempotency_key, priority, wait_seconds
from bpc_worker.web.api.shown import as_type
from bpc_worker.web.api.waiting import Awaited
from bpc_worker.web.layer.answers import Answer, Data, Raw
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

_ABOUT = "Documents"
_MOST_BESIDE = 64 * 1024  # of what is said about a document
_FIELDS = ("external_ref", "kind", "mime_type", "number_format", "mapping", "priority")
_HEADERS = {
    "BPC-Kind": f"What it is: {', '.join(KINDS)}.",
    "BPC-External-Ref": "Its name with whoever sends it, percent-encoded.",
    "BPC-Number-Format": "Of a CSV: 1.234,56 or 1,234.56.",
    "BPC-Mapping": "What its own titles mean, or what an attachment is: JSON.",
    "BPC-Priority": "0 to 3.",
}


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a document."""

    document_version_id: UUID
    document_id: UUID
    kind: str
    external_ref: str
    sha256: str
    mime_type: str
    number_format: str | None
    bytes: int
    status: DocumentStatus
    created_at: datetime


class DocumentDetail(Document, frozen=True, kw_only=True):
    """`errors`: all of a rejected one; of another the single values that were not taken."""

    facts: int
    errors: list[Mistake]
    snapshots: list[SnapshotRef]
    builds: list[BuildRef]


class DocumentSent(msgspec.Struct, frozen=True):
    job_id: UUID
    document: DocumentDetail


class DocumentPage(msgspec.Struct, frozen=True):
    items: list[Document]
    next: str | None


class Fact(msgspec.Struct, frozen=True):
    """`payload` is canonical JSON: decimals are texts. `pointer`: its cell, or JSON pointer."""

    fact_type: str
    fact_key: str
    schema_version: int
    pointer: str
    payload_hash: str
    payload: Any


class Facts(msgspec.Struct, frozen=True):
    document_version_id: UUID
    facts: list[Fact]


class DocumentsQuery(PageQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    status: DocumentStatus | None = None
    kind: str | None = None


class UploadForm(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Parts of multipart/form-data; `file` has the bytes, and a name that is `external_ref` by default."""

    file: bytes
    kind: str
    external_ref: str | None = None
    mime_type: str | None = None
    number_format: str | None = None
    mapping: str | None = None
    priority: str | None = None


@dataclass(frozen=True, slots=True)
class Documents:
    api: Api

    def routes(self) -> list[ApiRoute]:
        read, values = needs("read"), needs("values")
        return [
            ApiRoute(
                "POST", "/v1/documents", self.send, needs("write", changes=True), body=bytes,
                answers=DocumentSent, says="Send a document in; the same bytes again are the same version.",
                most_bytes=self.api.settings.limits.document_bytes + _MOST_BESIDE, about=_ABOUT,
                statuses=(200, 202), takes={MULTIPART: UploadForm, "*/*": bytes}, headers=_HEADERS,
                waits=True,
            ),
            ApiRoute("GET", "/v1/documents", self.listed, read, query=DocumentsQuery, answers=DocumentPage,
                     says="Documents, newest first.", about=_ABOUT),
            ApiRoute("GET", "/v1/documents/{id}", self.shown, read, answers=DocumentDetail,
                     says="By the id of a version or of a document, or by the sha256 of its bytes.",
                     about=_ABOUT, waits=True),
            ApiRoute("GET", "/v1/documents/{id}/facts", self.facts, values, answers=Facts,
                     says="What was read from it, each with its place.", about=_ABOUT),
            ApiRoute("GET", "/v1/documents/{id}/content", self.content, values, about=_ABOUT,
                     says="Its bytes, as they came.", gives={"application/octet-stream": bytes}),
        ]  # fmt: skip

    async def send(self, request: Request) -> Answer:
        upload, urgent = _upload(request)
        key = idempotency_key(request)

        async def act(one: OneTransaction) -> Data:
            sent = await register_document(one, upload, priority=urgent, idempotency_key=key)
            return _sent(sent.job_id, as_type(await _detail(one, sent.document_version_id), DocumentDetail))

        asked = (upload.sha256, upload.kind, upload.mime_type, upload.number_format, upload.mapping)
        async with self.api.pipeline(request) as pipeline:
            answer = await once(pipeline, request, (*asked, upload.external_ref, urgent), act)
        sent = msgspec.json.decode(answer.body, type=DocumentSent)
        if not wait_seconds(request):
            return answer
        found = await self._waited(request, sent.document)
        return _sent(sent.job_id, found)

    async def shown(self, request: Request) -> Answer:
        found = as_type(await self.api.read(request, sent_detail, request.path_args["id"]), DocumentDetail)
        return Data(await self._waited(request, found))

    async def _waited(self, request: Request, found: DocumentDetail) -> DocumentDetail:
        seconds = wait_seconds(request)
        if not seconds or found.status is not DocumentStatus.UPLOADED:
            return found
        await self.api.watch.ended(Awaited.DOCUMENT, found.document_version_id, seconds=seconds)
        again = await self.api.read(request, sent_detail, str(found.document_version_id))
        return as_type(again, DocumentDetail)

    async def listed(self, request: Request) -> Answer:
        query = request.asked(DocumentsQuery)
        found = await self.api.read(request, partial(_list, query=query))
        return page("documents", query, found, lambda each: each.document_version_id, request)

    async def facts(self, request: Request) -> Answer:
        found = await self.api.read(request, sent_detail, request.path_args["id"])
        read = await self.api.read(request, document_facts, str(found.document_version_id))
        return Data(
            {"document_version_id": found.document_version_id, "facts": [_fact(each) for each in read]}
        )

    async def content(self, request: Request) -> Answer:
        """Never shown by a browser as what it claims to be."""
        found = await self.api.read(request, sent_detail, request.path_args["id"])
        document, content = await self.api.read(request, content_of, str(found.document_version_id))
        name = quote(document.external_ref, safe="")
        disposition = f"attachment; filename*=UTF-8''{name}"
        return Raw(content, "application/octet-stream", headers={"Content-Disposition": disposition})


async def _detail(pipeline: PipelineSession, version_id: UUID) -> object:
    return await sent_detail(pipeline, str(version_id))


async def _list(pipeline: PipelineSession, *, query: DocumentsQuery) -> list[Document]:
    async with pipeline.reading() as tx:
        params: dict[str, object] = {
            "tenant_id": pipeline.tenant_id,
            "after": query.behind("documents", UUID),
            "status": query.status,
            "kind": query.kind,
            "limit": query.limit + 1,
        }
        rows = await tx.query("api/documents", params)
    return [as_type(dict(row), Document) for row in rows]


def _fact(found: FactFound) -> Fact:
    return Fact(
        found.fact_type,
        found.fact_key,
        found.schema_version,
        found.pointer,
        found.payload_hash.hex(),
        msgspec.Raw(found.canonical),
    )


def _sent(job_id: UUID, document: DocumentDetail) -> Data:
    status = 202 if document.status is DocumentStatus.UPLOADED else 200
    location = {"Location": f"/v1/documents/{document.document_version_id}"}
    return Data(DocumentSent(job_id, document), status, headers=location)


def _upload(request: Request) -> tuple[Upload, Priority | None]:
    """Its bytes and what is said about them, in parts or in headers."""
    if media_type_of(request) == MULTIPART:
        content, said = _of_parts(parts_of(request))
    else:
        content, said = request.given(bytes), _of_headers(request)
    kind, name = said.get("kind"), said.get("external_ref")
    if kind not in KINDS:
        raise Permanent(Code.VALIDATION_ERROR, f"kind: one of {', '.join(KINDS)}")
    if not name or len(name) > 500 or not name.isprintable():  # noqa: PLR2004 - as the table has it
        raise Permanent(Code.VALIDATION_ERROR, "external_ref: the name of the document, 1 to 500 characters")
    ending = of_attachment if kind == ATTACHMENT else by_ending
    mime_type = said.get("mime_type") or ending(name)
    if mime_type is None:
        raise Permanent(Code.VALIDATION_ERROR, "mime_type is missing: the name does not tell what it is")
    number_format = said.get("number_format")
    if number_format not in SPELLINGS:
        raise Permanent(Code.VALIDATION_ERROR, "number_format: 1.234,56 or 1,234.56")
    upload = Upload(
        content=content,
        kind=kind,
        mime_type=mime_type,
        number_format=number_format,
        mapping=_mapping(kind, said.get("mapping")),
        external_ref=name,
    )
    return upload, priority(request, said.get("priority"))


def _mapping(kind: str, text: str | None) -> dict[str, object] | None:
    """What the sender's own titles mean; of an attachment, what it is."""
    found = None if text is None else as_json(text.encode(), dict[str, object], "mapping")
    try:
        if kind == ATTACHMENT:
            described(found)
        elif found is not None:
            titles(found)
    except ValueError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"mapping: {error}") from error
    return found


def _of_parts(parts: list[Part]) -> tuple[bytes, dict[str, str]]:
    files = [each for each in parts if each.name == "file"]
    if len(files) != 1:
        raise Permanent(Code.VALIDATION_ERROR, "one part called `file` is expected, with the document")
    [file] = files
    said: dict[str, str] = {} if file.file is None else {"external_ref": file.file}
    for each in parts:
        if each.name == "file":
            continue
        if each.name not in _FIELDS:
            raise Permanent(
                Code.VALIDATION_ERROR, f"the part {each.name[:100]!r} is not known here: {', '.join(_FIELDS)}"
            )
        if len(each.content) > _MOST_BESIDE:
            raise Permanent(Code.PAYLOAD_TOO_LARGE, f"the part {each.name!r} is too long")
        said[each.name] = each.text()
    return file.content, said


def _of_headers(request: Request) -> dict[str, str]:
    names = {"BPC-Kind": "kind", "BPC-Number-Format": "number_format", "BPC-Mapping": "mapping",
             "BPC-Priority": "priority"}  # fmt: skip
    said = {field: request.headers[name] for name, field in names.items() if name in request.headers}
    if "BPC-External-Ref" in request.headers:
        said["external_ref"] = unquote(request.headers["BPC-External-Ref"])
    media_type = media_type_of(request)
    return said | ({"mime_type": media_type} if media_type else {})
