"""SIGN_PASSPORT: Ed25519 over the receipt hash, with the key that the receipt names."""

from uuid import UUID

import msgspec

from bpc_worker import builds
from bpc_worker.core import signing
from bpc_worker.evidence import Happened, record
from bpc_worker.handler_api import (
    Code,
    Context,
    HandlerSpec,
    NewJob,
    Payload,
    Permanent,
    Priority,
    Retryable,
    Tx,
)
from bpc_worker.rows import all_of, one


class SignPassport(Payload, frozen=True):
    passport_version_id: UUID
    build_id: UUID | None = None


class Version(msgspec.Struct, frozen=True):
    passport_version_id: UUID
    passport_id: UUID
    status: str
    receipt_hash: bytes
    signing_key_id: str


class Key(msgspec.Struct, frozen=True):
    key_id: str
    public_key: bytes
    status: str


async def handle(payload: SignPassport, ctx: Context) -> None:
    tenant: dict[str, object] = {"tenant_id": ctx.job.tenant_id}
    async with ctx.reading() as reading:
        wanted = tenant | {"passport_version_id": payload.passport_version_id}
        version = one(await reading.query("passports/read_version", wanted), Version, "passport version")
        keys = all_of(await reading.query("keys/registry", tenant), Key)
    if version.status != "COMPILING":
        await ctx.complete(lambda tx: _go_on(tx, payload, ctx))
        return
    try:
        signature = _signature(version, keys, ctx.signer)
    except Permanent as error:
        await builds.give_up(ctx, payload.build_id, error, lambda build: _comes_next(build, payload))
    await ctx.complete(lambda tx: _sign(tx, payload, ctx, version, signature))


def _signature(version: Version, keys: list[Key], signer: signing.Signer) -> bytes:
    try:
        registry = signing.KeyRegistry(
            {key.key_id: signing.RegisteredKey(key.public_key, signing.KeyStatus(key.status)) for key in keys}
        )
        return signing.sign_receipt_hash(
            signer, registry, version.receipt_hash, key_id=version.signing_key_id
        )
    except signing.SignatureError as error:
        if error.fault is signing.Fault.OTHER_KEY and signer.key_id != version.signing_key_id:
            raise Retryable(
                Code.SIGNING_KEY_MISSING, f"{error.message}; another worker may have it"
            ) from error
        missing = {signing.Fault.UNKNOWN_KEY, signing.Fault.OTHER_KEY, signing.Fault.NOT_ACTIVE}
        code = Code.SIGNING_KEY_MISSING if error.fault in missing else Code.SIGNATURE_INVALID
        raise Permanent(code, error.message) from error


async def _sign(tx: Tx, payload: SignPassport, ctx: Context, version: Version, signature: bytes) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    signed = {
        "tenant_id": ctx.job.tenant_id,
        "passport_version_id": version.passport_version_id,
        "receipt_hash": version.receipt_hash,
        "signature": signature,
        "public_key": ctx.signer.public_key,
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
        await record(tx, happened, tenant_id=ctx.job.tenant_id, actor_id=f"job:{ctx.job.job_id}")
    await _then(tx, payload, build)


async def _go_on(tx: Tx, payload: SignPassport, ctx: Context) -> None:
    await _then(tx, payload, await builds.hold(tx, payload.build_id, ctx.job.tenant_id))


async def _then(tx: Tx, payload: SignPassport, build: builds.Build | None) -> None:
    if build is not None and _comes_next(build, payload):
        await builds.move(tx, build, "QR")
    await tx.enqueue(
        NewJob(
            type="GENERATE_QR",
            payload={
                "passport_version_id": str(payload.passport_version_id),
                "build_id": None if build is None else str(build.build_id),
            },
            idempotency_key=f"{payload.passport_version_id} {payload.build_id or ''}".strip(),
        )
    )


def _comes_next(build: builds.Build, payload: SignPassport) -> bool:
    return builds.waits_for(build, "SIGN", passport_version_id=payload.passport_version_id)


SPEC = HandlerSpec(job_type="SIGN_PASSPORT", payload=SignPassport, handle=handle, priority=Priority.HIGH)
