"""Suppliers' documents: sent in, looked at, their facts and their bytes."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote
from uuid import UUID

import msgspec

from bpc_worker.domain.states import DocumentStatus
from bpc_worker.pipeline.attachments import content_of
from bpc_worker.pipeline.documents import (
    BuildRef,
    FactFound,
    Mistake,
    SnapshotRef,
    document_facts,
    register_document,
    sent_detail,
)
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.cursors import PageQuery, page
from bpc_worker.web.api.described import MULTIPART, ApiRoute
from bpc_worker.web.api.once import once
from bpc_worker.web.api.preferences import idempotency_key, wait_seconds
from bpc_worker.web.api.shown import as_type
from bpc_worker.web.api.uploads import HEADERS, MOST_BESIDE, UploadForm, upload_of
from bpc_worker.web.api.waiting import Awaited
from bpc_worker.web.layer.answers import Answer, Data, Raw
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

_ABOUT = "Documents"
_TAKES = {MULTIPART: UploadForm, "text/csv": bytes, "application/octet-stream": bytes}  # or its own type


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


@dataclass(frozen=True, slots=True)
class Documents:
    api: Api

    def routes(self) -> list[ApiRoute]:
        read, values = needs("read"), needs("values")
        return [
            ApiRoute(
                "POST", "/v1/documents", self.send, needs("write", changes=True), body=bytes,
                answers=DocumentSent, says="Send a document in; the same bytes again are the same version.",
                most_bytes=self.api.settings.limits.document_bytes + MOST_BESIDE, about=_ABOUT,
                statuses=(200, 202), takes=_TAKES, headers=HEADERS,
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
        upload, urgent = upload_of(request)
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
