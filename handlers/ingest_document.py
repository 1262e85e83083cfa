"""INGEST_DOCUMENT: a supplier's file becomes an immutable document version."""

import asyncio
import os
import stat
from base64 import b64decode
from binascii import Error as Base64Error
from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec

from bpc_worker import builds
from bpc_worker.core.hashing import sha256
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

Kind = Literal["BOM", "PCF", "DUE_DILIGENCE", "OTHER"]
NumberFormat = Literal["1.234,56", "1,234.56"]


class IngestDocument(Payload, frozen=True):
    kind: Kind
    mime_type: str
    external_ref: str
    path: str | None = None
    content_base64: str | None = None
    number_format: NumberFormat | None = None
    build_id: UUID | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.content_base64 is None):
            raise ValueError("give either path or content_base64")
        if not self.external_ref or not self.mime_type:
            raise ValueError("external_ref and mime_type are not empty")


class Known(msgspec.Struct, frozen=True):
    document_version_id: UUID
    kind: str
    external_ref: str
    status: str
    errors: list[object] | None


async def handle(payload: IngestDocument, ctx: Context) -> None:
    content = await asyncio.to_thread(_content, payload, ctx.policy)
    params: dict[str, object] = {"tenant_id": ctx.job.tenant_id, "sha256": sha256(content)}
    async with ctx.reading() as reading:
        known = maybe(await reading.query("documents/known", params), Known)
    if known is not None:
        await _refuse_what_was_refused(payload, known, ctx)

    async def write(tx: Tx) -> None:
        build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
        version = await _keep(tx, payload, content, params)
        if build is not None:
            await builds.take_document(tx, build, payload.external_ref, version.document_version_id)
        if version.status != "VALIDATED":
            await tx.enqueue(_parse(payload, version))
        elif build is not None:
            await builds.documents_done(tx, build)

    await ctx.complete(write, result={"sha256": sha256(content).hex(), "bytes": len(content)})


async def _refuse_what_was_refused(payload: IngestDocument, known: Known, ctx: Context) -> None:
    """The same bytes are the same version, so what was found out about them still holds."""
    if known.kind != payload.kind:
        said = f"the same bytes came before as {known.kind} {known.external_ref!r}"
        raise Permanent(Code.VALIDATION_ERROR, f"{said}; a file has one kind")
    if known.status != "REJECTED":
        return

    async def write(tx: Tx) -> None:
        build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
        if build is not None:
            await builds.take_document(tx, build, payload.external_ref, known.document_version_id)
        await builds.stop_rejected(tx, build)

    message = f"{payload.external_ref}: the same bytes were rejected before; send a corrected file"
    await ctx.reject(write, Permanent(Code.VALIDATION_ERROR, message, detail={"errors": known.errors}))


async def _keep(tx: Tx, payload: IngestDocument, content: bytes, params: dict[str, object]) -> Known:
    """The version with these bytes, whoever was first to bring them."""
    document = params | {"kind": payload.kind, "external_ref": payload.external_ref}
    rows = await tx.query("documents/known", params)
    if not rows:
        await tx.query("documents/add", document)
        version = {"mime_type": payload.mime_type, "number_format": payload.number_format, "content": content}
        await tx.query("documents/add_version", document | version)
        rows = await tx.query("documents/known", params)
    return one(rows, Known, "document version")


def _parse(payload: IngestDocument, version: Known) -> NewJob:
    build = None if payload.build_id is None else str(payload.build_id)
    return NewJob(
        type="PARSE_FACTS",
        payload={"document_version_id": str(version.document_version_id), "build_id": build},
        idempotency_key=f"{version.document_version_id} {build or ''}".strip(),
    )


def _content(payload: IngestDocument, policy: Policy) -> bytes:
    if payload.path is not None:
        return _file(Path(payload.path), policy)
    try:
        content = b64decode(payload.content_base64 or "", validate=True)
    except (Base64Error, ValueError) as error:
        raise Permanent(Code.VALIDATION_ERROR, "content_base64 is not base64") from error
    _check_size(len(content), policy)
    return content


def _file(path: Path, policy: Policy) -> bytes:
    """A regular file inside an allowed folder, wherever its links lead; read only after its size is known."""
    try:
        real = path.resolve(strict=True)
        if not any(real.is_relative_to(folder.resolve()) for folder in policy.ingest_folders):
            raise Permanent(
                Code.FORBIDDEN,
                f"{path} is not inside an allowed folder; name its folder in ingest.folders",
            )
        number = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            found = os.fstat(number)
            if not stat.S_ISREG(found.st_mode):
                raise Permanent(Code.VALIDATION_ERROR, f"{path} is not a regular file")
            _check_size(found.st_size, policy)
            content = file.read(policy.document_bytes + 1)
    except FileNotFoundError as error:
        raise Permanent(Code.NOT_FOUND, f"{path} is not there") from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name, a loop of links
        raise Permanent(Code.VALIDATION_ERROR, f"path: {error}") from error
    except OSError as error:
        raise Retryable(Code.INTERNAL_ERROR, f"{path}: {error.strerror}") from error
    _check_size(len(content), policy)
    return content


def _check_size(size: int, policy: Policy) -> None:
    if size > policy.document_bytes:
        message = f"the document has {size} bytes, the limit is {policy.document_bytes}"
        raise Permanent(Code.PAYLOAD_TOO_LARGE, message)


SPEC = HandlerSpec(job_type="INGEST_DOCUMENT", payload=IngestDocument, handle=handle)
