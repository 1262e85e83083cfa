"""SIGN_PASSPORT: Ed25519 over the receipt hash, with the key that the receipt names."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import msgspec

from bpc_worker.core.base import signing
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.receipt import parse_receipt
from bpc_worker.core.passport.view import claims
from bpc_worker.domain import builds
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.records import Build, PassportVersion, SigningKey
from bpc_worker.domain.signing import key_registry, sign_document
from bpc_worker.domain.states import BuildStatus, PassportStatus
from bpc_worker.handler_api import (
    Code,
    Context,
    HandlerSpec,
    Payload,
    Permanent,
    Priority,
    Retryable,
    Signer,
    Snooze,
    Tx,
)
from bpc_worker.rows import all_of, one

_NO_KEY = {
    signing.Fault.UNKNOWN_KEY,
    signing.Fault.OTHER_KEY,
    signing.Fault.NOT_ACTIVE,
    signing.Fault.REVOKED,
    signing.Fault.OTHER_PURPOSE,
}
_RESTRICT_VIOLATION = "23001"
_ANOTHER_TURN_SECONDS = 1.0


class SignPassport(Payload, frozen=True):
    passport_version_id: UUID
    build_id: UUID | None = None


class Documents(msgspec.Struct, frozen=True):
    """What is signed, and what the other thing that is signed follows from."""

    receipt: bytes
    fields: bytes


async def handle(payload: SignPassport, ctx: Context) -> None:
    tenant: dict[str, object] = {"tenant_id": ctx.job.tenant_id}
    async with ctx.reading() as reading:
        wanted = tenant | {"passport_version_id": payload.passport_version_id}
        found = await reading.query("passports/read_version", wanted)
        version = one(found, PassportVersion, "passport version")
        documents = one(await reading.query("passports/read_receipt", wanted), Documents, "passport version")
        keys = all_of(await reading.query("keys/registry", tenant), SigningKey)
    if version.status != PassportStatus.COMPILING:
        await ctx.complete(lambda tx: _go_on(tx, payload, ctx))
        return
    signer = ctx.signer_of(version.signing_key_id)
    ctx.check_lease()
    try:
        signatures = await _signatures(version, documents, keys, signer)
    except Permanent as error:
        await builds.give_up(ctx, payload.build_id, error, BuildStatus.SIGN, payload.passport_version_id)
    await _complete(ctx, lambda tx: _sign(tx, payload, ctx, version, signatures, signer.public_key))


async def _signatures(
    version: PassportVersion, documents: Documents, keys: list[SigningKey], signer: Signer
) -> tuple[bytes, bytes]:
    """Over the receipt, and over the view."""
    try:
        registry = key_registry(keys)
        key_id = version.signing_key_id
        view = claims(parse_receipt(documents.receipt), documents.fields)
        return (
            await sign_document(signer, registry, Kind.RECEIPT, documents.receipt, key_id=key_id),
            await sign_document(signer, registry, Kind.VIEW, view, key_id=key_id),
        )
    except signing.SignatureError as error:
        if error.fault is signing.Fault.OTHER_KEY and signer.key_id != version.signing_key_id:
            message = f"{error.message}; another worker may have it"
            raise Snooze(_ANOTHER_TURN_SECONDS, Code.SIGNING_KEY_MISSING, message) from error
        code = Code.SIGNING_KEY_MISSING if error.fault in _NO_KEY else Code.SIGNATURE_INVALID
        raise Permanent(code, error.message) from error


async def _complete(ctx: Context, write: Callable[[Tx], Awaitable[None]]) -> None:
    """A key that was revoked since it was read is found so by the next attempt, which tells the build."""
    try:
        await ctx.complete(write)
    except Permanent as error:
        if (error.detail or {}).get("sqlstate") != _RESTRICT_VIOLATION:
            raise
        raise Retryable(Code.SIGNING_KEY_MISSING, "the key was revoked while it signed") from error


async def _sign(
    tx: Tx,
    payload: SignPassport,
    ctx: Context,
    version: PassportVersion,
    signatures: tuple[bytes, bytes],
    public_key: bytes,
) -> None:
    signature, view_signature = signatures
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    signed = {
        "tenant_id": ctx.job.tenant_id,
        "passport_version_id": version.passport_version_id,
        "receipt_hash": version.receipt_hash,
        "signature": signature,
        "view_signature": view_signature,
        "public_key": public_key,
    }
    if await tx.query("passports/sign", signed):
        happened = Happened(
            event_type="PASSPORT_SIGNED",
            aggregate_type="passport",
            aggregate_id=version.passport_id,
            payload={
                "passport_version_id": str(version.passport_version_id),
                "receipt_hash": version.receipt_hash.hex(),
                "signing_key_id": version.signing_key_id,
                "signature": signature.hex(),
            },
        )
        await tell(tx, ctx.job, happened)
    await _then(tx, payload, build)


async def _go_on(tx: Tx, payload: SignPassport, ctx: Context) -> None:
    await _then(tx, payload, await builds.hold(tx, payload.build_id, ctx.job.tenant_id))


async def _then(tx: Tx, payload: SignPassport, build: Build | None) -> None:
    await builds.finish(tx, build, BuildStatus.SIGN, payload.passport_version_id)
    await tx.enqueue(builds.version_job(BuildStatus.QR, payload.passport_version_id, payload.build_id))


SPEC = HandlerSpec(job_type="SIGN_PASSPORT", payload=SignPassport, handle=handle, priority=Priority.HIGH)
