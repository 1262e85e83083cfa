"""Suppliers' documents: send one in, see what became of it and which facts it has."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import msgspec

from bpc_worker.core.base.hashing import sha256
from bpc_worker.documents.model import Declared
from bpc_worker.domain import blobs
from bpc_worker.domain.ingesting import JOB_TYPE, ingest_payload, version_key, version_of
from bpc_worker.domain.records import DocumentVersion
from bpc_worker.domain.states import BuildStatus, DocumentStatus, SnapshotStatus
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob, Priority
from bpc_worker.pipeline.jobs import find_job, wait_for_job
from bpc_worker.pipeline.session import PipelineSession, uuid_or_none
from bpc_worker.postgres.again import again
from bpc_worker.postgres.queue.job_states import JobState
from bpc_worker.rows import all_of, maybe

_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload(Declared):
    """A file as it was named and read."""

    content: bytes
    external_ref: str

    @property
    def sha256(self) -> bytes:
        return sha256(self.content)


class Document(DocumentVersion, frozen=True):
    facts: int


class Mistake(msgspec.Struct, frozen=True):
    where: str
    message: str


class SnapshotRef(msgspec.Struct, frozen=True):
    snapshot_id: UUID
    status: SnapshotStatus


class BuildRef(msgspec.Struct, frozen=True):
    build_id: UUID
    state: BuildStatus


class _Judged(Document, frozen=True):
    errors: list[Mistake]


class DocumentDetail(_Judged, frozen=True):
    """A version with what is wrong with it, and what it was used for."""

    snapshots: list[SnapshotRef]
    builds: list[BuildRef]


class FactFound(msgspec.Struct, frozen=True):
    fact_id: UUID
    fact_type: str
    fact_key: str
    schema_version: int
    pointer: str
    payload_hash: bytes
    canonical: bytes


class Registered(msgspec.Struct, frozen=True):
    document_version_id: UUID
    job_id: JobId


@dataclass(frozen=True, slots=True)
class Waited:
    """The job that was waited for last, and the document if it came that far."""

    job: JobState
    document: DocumentDetail | None


async def add_document(pipeline: PipelineSession, upload: Upload) -> JobId:
    """Queue its ingestion; the same bytes again are the same version, however often they are sent."""
    _check_size(pipeline, upload)
    return await _queue(pipeline, upload)


def _check_size(pipeline: PipelineSession, upload: Upload) -> None:
    limit = pipeline.settings.limits.document_bytes
    if len(upload.content) > limit:
        message = (
            f"the document has {len(upload.content)} bytes, the limit is {limit} (limits.document_bytes)"
        )
        raise Permanent(Code.PAYLOAD_TOO_LARGE, message)


@again
async def _queue(pipeline: PipelineSession, upload: Upload) -> JobId:
    async with pipeline.transaction() as tx:
        digest = blobs.keep(tx, upload.content)
        return await tx.enqueue(
            NewJob(type=JOB_TYPE, payload=ingest_payload(upload, upload.external_ref, digest))
        )


@again
async def register_document(
    pipeline: PipelineSession,
    upload: Upload,
    *,
    priority: Priority | None = None,
    idempotency_key: str | None = None,
) -> Registered:
    """The version is there at once, UPLOADED, and its ingestion is queued."""
    _check_size(pipeline, upload)
    async with pipeline.transaction() as tx:
        digest = blobs.keep(tx, upload.content)
        key = version_key(pipeline.tenant_id, upload, digest)
        version = await version_of(tx, key, upload.external_ref)
        job = NewJob(
            type=JOB_TYPE,
            payload=ingest_payload(upload, upload.external_ref, digest),
            priority=priority,
            idempotency_key=idempotency_key,
        )
        return Registered(version.document_version_id, await tx.enqueue(job))


async def wait_for_document(
    pipeline: PipelineSession,
    job_id: UUID,
    upload: Upload,
    *,
    seconds: float,
    looked: Callable[[JobState], None] | None = None,
) -> Waited:
    """Until its facts are read or it is rejected: first the ingestion, then the job that reads it.

    The same bytes may have come with another declaration: what is told is of the one that was given.
    """
    clock = asyncio.get_running_loop().time
    ends_at = clock() + seconds
    job = await wait_for_job(pipeline, job_id, seconds=seconds, looked=looked)
    document = await _if_there(pipeline, upload)
    if job.succeeded and document is not None and document.status == DocumentStatus.UPLOADED:
        parsing = await find_job(pipeline, "PARSE_FACTS", f"after {job_id}")
        if parsing is not None:
            job = await wait_for_job(pipeline, parsing, seconds=ends_at - clock(), looked=looked)
            document = await _if_there(pipeline, upload)
    return Waited(job, document)


async def _if_there(pipeline: PipelineSession, upload: Upload) -> DocumentDetail | None:
    key = version_key(pipeline.tenant_id, upload, upload.sha256)
    async with pipeline.reading() as tx:
        found = maybe(await tx.query("documents/known", key), DocumentVersion)
    if found is None:
        return None
    detail = await document_detail(pipeline, str(found.document_version_id))
    return msgspec.structs.replace(detail, external_ref=upload.external_ref)


async def find_document(pipeline: PipelineSession, tx: Tx, wanted: str) -> Document:
    """By the id of a version or its sha256; by a document's id or name, the version that was sent last."""
    return await _found(pipeline, tx, wanted)


async def sent_before(pipeline: PipelineSession, tx: Tx, wanted: str) -> Document | None:
    """By the id of a version or of a document, or by a hash; never by a name, so however many there are."""
    return await _sent_before(pipeline, tx, wanted)


async def sent_detail(pipeline: PipelineSession, wanted: str) -> DocumentDetail:
    """The same, with what is wrong with it, and what it was used for."""
    async with pipeline.reading() as tx:
        found = await _sent_before(pipeline, tx, wanted)
        if found is None:
            raise Permanent(Code.NOT_FOUND, "there is no such document")
        return await _detail(pipeline, tx, found)


async def document_detail(pipeline: PipelineSession, wanted: str) -> DocumentDetail:
    async with pipeline.reading() as tx:
        return await _detail(pipeline, tx, await _found(pipeline, tx, wanted))


async def _detail(pipeline: PipelineSession, tx: Tx, found: _Judged) -> DocumentDetail:
    params = {"tenant_id": pipeline.tenant_id, "document_version_id": found.document_version_id}
    return DocumentDetail(
        **msgspec.structs.asdict(found),
        snapshots=all_of(await tx.query("documents/snapshots", params), SnapshotRef),
        builds=all_of(await tx.query("documents/builds", params), BuildRef),
    )


async def _sent_before(pipeline: PipelineSession, tx: Tx, wanted: str) -> _Judged | None:
    digest = bytes.fromhex(wanted) if _SHA256.fullmatch(wanted) else None
    params = {"tenant_id": pipeline.tenant_id, "id": uuid_or_none(wanted), "sha256": digest}
    return maybe(await tx.query("documents/sent_before", params), _Judged)


async def _found(pipeline: PipelineSession, tx: Tx, wanted: str) -> _Judged:
    rows = await tx.query("documents/find", {"tenant_id": pipeline.tenant_id, "wanted": wanted})
    found = maybe(rows, _Judged)
    if found is None:
        raise Permanent(Code.NOT_FOUND, f"no document {wanted!r}; `bpc-worker document list` shows them")
    return found


async def list_documents(
    pipeline: PipelineSession, *, status: str | None = None, limit: int = 1000
) -> list[Document]:
    """Newest first."""
    return await pipeline.rows("documents/list", Document, status=status, limit=limit)


async def document_facts(pipeline: PipelineSession, wanted: str) -> list[FactFound]:
    """In order of type and key; one that stands at several places comes once for each."""
    async with pipeline.reading() as tx:
        document = await find_document(pipeline, tx, wanted)
        params = {"tenant_id": pipeline.tenant_id, "document_version_id": document.document_version_id}
        return all_of(await tx.query("facts/of_document", params), FactFound)
