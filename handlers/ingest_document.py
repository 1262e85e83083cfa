"""INGEST_DOCUMENT: a supplier's file becomes an immutable document version."""

import asyncio
import errno
import os
import stat
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from bpc_worker.core.base.hashing import sha256
from bpc_worker.documents.attachment_kinds import ATTACHMENT
from bpc_worker.documents.attachments import described
from bpc_worker.documents.mapping import titles
from bpc_worker.documents.model import Declared
from bpc_worker.domain import builds
from bpc_worker.domain.events import of_job
from bpc_worker.domain.ingesting import KnownVersion, Owner, folders_of, version_key, version_of
from bpc_worker.domain.states import BuildStatus, DocumentStatus
from bpc_worker.handler_api import (
    Code,
    Context,
    HandlerSpec,
    NewJob,
    Payload,
    Permanent,
    Policy,
    Retryable,
    Tx,
)
from bpc_worker.rows import maybe, one

Kind = Literal["BOM", "PCF", "DUE_DILIGENCE", "DATA_SHEET", "SERIALS", "MEASUREMENTS", "ATTACHMENT", "OTHER"]
NumberFormat = Literal["1.234,56", "1,234.56"]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]

_PLACES = ("path", "content_base64", "content_sha256")
_MOST_INSIDE = 256 * 1024  # bytes in base64: whatever is in a job is claimed, kept and shown with it


class IngestDocument(Payload, frozen=True):
    kind: Kind
    mime_type: str
    external_ref: str
    path: str | None = None
    content_base64: str | None = None
    content_sha256: Sha256 | None = None  # of a blob
    number_format: NumberFormat | None = None
    mapping: dict[str, object] | None = None
    build_id: UUID | None = None

    def __post_init__(self) -> None:
        if [self.path, self.content_base64, self.content_sha256].count(None) != len(_PLACES) - 1:
            raise ValueError(f"give one of {', '.join(_PLACES)}")
        if not self.external_ref or not self.mime_type:
            raise ValueError("external_ref and mime_type are not empty")
        if self.kind == ATTACHMENT:
            described(self.mapping)
        else:
            titles(self.mapping)


@dataclass(frozen=True, slots=True)
class Content:
    sha256: bytes
    size: int
    new: bytes | None = None  # None: it is a blob already


class Blob(msgspec.Struct, frozen=True):
    size: int


async def handle(payload: IngestDocument, ctx: Context) -> None:
    try:
        content = await _content(payload, ctx)
    except Permanent as error:
        await builds.give_up(ctx, payload.build_id, error, BuildStatus.DOCUMENTS)
    declared = Declared(
        kind=payload.kind,
        mime_type=payload.mime_type,
        number_format=payload.number_format,
        mapping=payload.mapping,
    )
    params = version_key(ctx.job.tenant_id, declared, content.sha256)
    known = maybe(await ctx.read("documents/known", params), KnownVersion)
    if known is not None and known.status == DocumentStatus.REJECTED:
        await _refuse(payload, known, ctx)
    await ctx.complete(
        lambda tx: _write(tx, payload, ctx, content, params),
        result={"bytes": content.size},
    )


async def _write(
    tx: Tx, payload: IngestDocument, ctx: Context, content: Content, params: dict[str, object]
) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    version = await version_of(tx, params, payload.external_ref, content.new)
    await _is_sent(tx, payload, ctx, version)
    if build is None:
        if version.status != DocumentStatus.VALIDATED:
            await tx.enqueue(_parse(payload, ctx, version))
    elif await builds.take_document(tx, build, payload.external_ref, version.document_version_id):
        if version.status == DocumentStatus.VALIDATED:
            await builds.documents_done(tx, build, actor_id=of_job(ctx.job))
        else:
            await tx.enqueue(_parse(payload, ctx, version))


async def _refuse(payload: IngestDocument, known: KnownVersion, ctx: Context) -> None:
    """The same bytes are the same version, so what was found out about them still holds."""

    async def write(tx: Tx) -> None:
        build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
        await _is_sent(tx, payload, ctx, known)
        taken = build is not None and await builds.take_document(
            tx, build, payload.external_ref, known.document_version_id
        )
        if taken:
            await builds.stop_rejected(tx, build, actor_id=of_job(ctx.job))

    message = f"{payload.external_ref}: the same bytes were rejected before; send a corrected file"
    await ctx.reject(write, Permanent(Code.VALIDATION_ERROR, message, detail={"errors": known.errors}))


async def _is_sent(tx: Tx, payload: IngestDocument, ctx: Context, version: KnownVersion) -> None:
    """From now on the name means this version, whether its bytes are new or came before."""
    name = {"tenant_id": ctx.job.tenant_id, "kind": payload.kind, "external_ref": payload.external_ref}
    await tx.query("documents/add", name)
    sent = {"document_version_id": version.document_version_id, "sent_at": ctx.job.created_at}
    await tx.query("documents/sent", name | sent)


def _parse(payload: IngestDocument, ctx: Context, version: KnownVersion) -> NewJob:
    """One for each time it was brought: an earlier one may have been cancelled."""
    return NewJob(
        type="PARSE_FACTS",
        payload={
            "document_version_id": str(version.document_version_id),
            "build_id": None if payload.build_id is None else str(payload.build_id),
        },
        idempotency_key=f"after {ctx.job.job_id}",
    )


async def _folders(ctx: Context) -> tuple[Path, ...]:
    """Those of the job's tenant: from another's nothing is read, whatever the path."""
    found = await ctx.read("tenants/find", {"wanted": str(ctx.job.tenant_id)})
    return folders_of(ctx.policy, one(found, Owner, "tenant"))


async def _content(payload: IngestDocument, ctx: Context) -> Content:
    if payload.content_sha256 is not None:
        return await _blob(bytes.fromhex(payload.content_sha256), ctx)
    if payload.path is None:
        new = _inside(payload.content_base64 or "", ctx.policy)
    else:
        path, folders = Path(payload.path), await _folders(ctx)
        await ctx.hold_bytes(min(await asyncio.to_thread(_size, path), ctx.policy.document_bytes))
        new = await asyncio.to_thread(_file, path, ctx.policy, folders)
    return Content(await asyncio.to_thread(sha256, new), len(new), new)


async def _blob(digest: bytes, ctx: Context) -> Content:
    """Its bytes are not needed here."""
    params = {"tenant_id": ctx.job.tenant_id, "sha256": digest, "whole_up_to": 0}
    found = maybe(await ctx.read("blobs/find", params), Blob)
    if found is None:
        hint = "put its bytes there with bpc_put_blob, then queue the job again"
        raise Permanent(Code.NOT_FOUND, f"content_sha256: no blob {digest.hex()}; {hint}")
    _check_size(found.size, ctx.policy)
    return Content(digest, found.size)


def _inside(text: str, policy: Policy) -> bytes:
    try:
        content = b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise Permanent(Code.VALIDATION_ERROR, "content_base64 is not base64") from error
    _check_size(len(content), policy)
    if len(content) > _MOST_INSIDE:
        message = f"content_base64 has {len(content)} bytes, the limit inside a job is {_MOST_INSIDE}"
        hint = "put them into a blob (SELECT bpc_put_blob(…)) and send its hash as content_sha256"
        raise Permanent(Code.PAYLOAD_TOO_LARGE, f"{message}; {hint}")
    return content


def _size(path: Path) -> int:
    """As far as it can be seen; what is wrong with it is said when it is read."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def _file(path: Path, policy: Policy, folders: tuple[Path, ...]) -> bytes:
    """A regular file in one of the folders, wherever its links lead; read only after its size is known."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            # Of what was opened, not of the name: a folder on the way may become a link at any moment.
            real = Path(f"/proc/self/fd/{number}").readlink()
            if not any(real.is_relative_to(folder.resolve()) for folder in folders):
                raise _not_allowed(path)
            found = os.fstat(number)
            if not stat.S_ISREG(found.st_mode):
                raise Permanent(Code.VALIDATION_ERROR, f"{path} is not a regular file")
            _check_size(found.st_size, policy)
            content = file.read(policy.document_bytes + 1)
    except ValueError as error:  # a NUL in the name
        raise Permanent(Code.VALIDATION_ERROR, f"path: {error}") from error
    except OSError as error:
        raise _cannot_be_read(path, error, folders) from error
    _check_size(len(content), policy)
    return content


def _not_allowed(path: Path) -> Permanent:
    hint = "name its folder in ingest.folders, with several tenants as TENANT=/folder"
    return Permanent(Code.FORBIDDEN, f"{path} is not inside an allowed folder of the job's tenant; {hint}")


def _cannot_be_read(path: Path, error: OSError, folders: tuple[Path, ...]) -> Permanent | Retryable:
    """Outside the allowed folders, whether something is there is nobody's business."""
    written = Path(os.path.normpath(path))
    if not any(written.is_relative_to(folder) for folder in folders):
        return _not_allowed(path)
    if error.errno == errno.ENOENT:
        return Permanent(Code.NOT_FOUND, f"{path} is not there")
    if error.errno in {errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO}:
        return Permanent(Code.VALIDATION_ERROR, f"{path}: {error.strerror}")
    return Retryable(Code.INTERNAL_ERROR, f"{path}: {error.strerror}")


def _check_size(size: int, policy: Policy) -> None:
    if size > policy.document_bytes:
        message = f"the document has {size} bytes, the limit is {policy.document_bytes}"
        raise Permanent(Code.PAYLOAD_TOO_LARGE, message)


SPEC = HandlerSpec(job_type="INGEST_DOCUMENT", payload=IngestDocument, handle=handle)
