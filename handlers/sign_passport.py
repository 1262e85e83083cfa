"""SIGN_PASSPORT: the version is made again from its inputs, and signed if it is the same, byte for byte.

What is signed, the worker builds itself; the key is the one that the version names.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from bpc_worker.core.base import signing
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.disclosures import from_lines
from bpc_worker.core.passport.view import assemble, jws
from bpc_worker.domain import builds, recompiling
from bpc_worker.domain.compile_inputs import InputRows, checked, read_inputs
from bpc_worker.domain.compiling import Request, Response, compile_in_child
from bpc_worker.domain.event_chain import StoredChain, read_chain
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.mismatch import Mismatch
from bpc_worker.domain.publishing import PublicPart, public_part, publish
from bpc_worker.domain.records import Build, CompiledVersion, SigningKey
from bpc_worker.domain.signed_versions import compared
from bpc_worker.domain.signing import key_registry, sign_document
from bpc_worker.domain.states import BuildStatus, PassportStatus
from bpc_worker.domain.status_lists import AllottedPlace
from bpc_worker.handler_api import (
    ChildTask,
    Code,
    Context,
    HandlerSpec,
    Payload,
    Permanent,
    Priority,
    Reading,
    Retryable,
    Signer,
    Snooze,
    Tally,
    Tx,
)
from bpc_worker.rows import all_of, maybe, one

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


# Not the compiler's task: a child that was taken over while it compiled has no say here.
RECOMPILE = ChildTask(
    name="handlers.sign_passport:RECOMPILE", request=Request, response=Response, run=compile_in_child
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What the version was made from, and what tells that it may be."""

    inputs: InputRows
    sealed: StoredChain
    published: StoredChain
    place: AllottedPlace | None
    keys: list[SigningKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signed:
    """The signatures of what was built from bytes that were compared."""

    receipt_hash: bytes
    signature: bytes
    view_signature: bytes
    public_key: bytes
    public: PublicPart | None


async def handle(payload: SignPassport, ctx: Context) -> None:
    wanted = {"tenant_id": ctx.job.tenant_id, "passport_version_id": payload.passport_version_id}
    async with ctx.reading() as reading:
        rows = await reading.query("passports/read_compiled", wanted)
        version = one(rows, CompiledVersion, "passport version")
        waits = version.status == PassportStatus.COMPILING
        found = await _read(reading, version) if waits else None
    if found is None:
        await ctx.complete(lambda tx: _go_on(tx, payload, ctx))
        return
    try:
        signed = await _signed(ctx, version, found)
    except Permanent as error:
        ctx.count(Tally.SIGNINGS, error.code)
        refused = _refused(version, error)
        step, about = BuildStatus.SIGN, payload.passport_version_id
        await builds.give_up(ctx, payload.build_id, error, step, about, refused)
    await _complete(ctx, lambda tx: _sign(tx, payload, ctx, version, signed))
    ctx.count(Tally.SIGNINGS, "ok")


async def _read(reading: Reading, version: CompiledVersion) -> _Found:
    tenant: dict[str, object] = {"tenant_id": version.tenant_id}
    rules = version.rule_package_version_id
    inputs = await read_inputs(
        reading,
        version.tenant_id,
        passport_id=version.passport_id,
        snapshot_id=version.snapshot_id,
        rule_package_version_id=rules,
    )
    of_version = tenant | {"passport_version_id": version.passport_version_id}
    return _Found(
        inputs=inputs,
        sealed=await read_chain(reading, version.tenant_id, "snapshot", version.snapshot_id),
        published=await read_chain(reading, version.tenant_id, "rules", rules),
        place=maybe(await reading.query("status/place", of_version), AllottedPlace),
        keys=all_of(await reading.query("keys/registry", tenant), SigningKey),
    )


async def _signed(ctx: Context, version: CompiledVersion, found: _Found) -> _Signed:
    signer = await ctx.signer_of(version.signing_key_id)
    registry = _registry(signer, found.keys, version.signing_key_id)  # before the work: nobody may sign it
    inputs = checked(found.inputs)
    recompiling.check_told(inputs, sealed=found.sealed, published=found.published)
    request = recompiling.request_of(version, inputs, found.place, ctx.policy)
    made = (await ctx.child(RECOMPILE, request)).evaluated
    built = recompiling.documents_of_same(version, request, made, max_bytes=ctx.policy.receipt_bytes)
    ctx.check_lease()
    key_id = version.signing_key_id
    signature = await _signature(signer, registry, Kind.RECEIPT, built.receipt, key_id)
    view_signature = await _signature(signer, registry, Kind.VIEW, built.view, key_id)
    whole = assemble(jws(built.view, key_id, view_signature), from_lines(version.disclosures))
    return _Signed(
        receipt_hash=sha256(built.receipt),
        signature=signature,
        view_signature=view_signature,
        public_key=signer.public_key,
        public=public_part(whole, inputs.facts),
    )


def _registry(signer: Signer, keys: list[SigningKey], key_id: str) -> signing.KeyRegistry:
    try:
        registry = key_registry(keys)
        signing.check_may_sign(signer, registry, Kind.RECEIPT, key_id=key_id)
    except signing.SignatureError as error:
        if error.fault is signing.Fault.OTHER_KEY and signer.key_id != key_id:
            message = f"{error.message}; another worker may have it"
            raise Snooze(_ANOTHER_TURN_SECONDS, Code.SIGNING_KEY_MISSING, message) from error
        code = Code.SIGNING_KEY_MISSING if error.fault in _NO_KEY else Code.SIGNATURE_INVALID
        raise Permanent(code, error.message) from error
    return registry


async def _signature(
    signer: Signer, registry: signing.KeyRegistry, kind: Kind, document: bytes, key_id: str
) -> bytes:
    try:
        return await sign_document(signer, registry, kind, document, key_id=key_id)
    except signing.SignatureError as error:
        raise Permanent(Code.SIGNATURE_INVALID, error.message) from error


async def _complete(ctx: Context, write: Callable[[Tx], Awaitable[None]]) -> None:
    """A key that was revoked since it was read is found so by the next attempt, which tells the build."""
    try:
        await ctx.complete(write)
    except Permanent as error:
        if (error.detail or {}).get("sqlstate") != _RESTRICT_VIOLATION:
            raise
        raise Retryable(Code.SIGNING_KEY_MISSING, "the key was revoked while it signed") from error


async def _sign(
    tx: Tx, payload: SignPassport, ctx: Context, version: CompiledVersion, signed: _Signed
) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    row = {
        "tenant_id": ctx.job.tenant_id,
        "passport_version_id": version.passport_version_id,
        "receipt_hash": signed.receipt_hash,
        "signature": signed.signature,
        "view_signature": signed.view_signature,
        "public_key": signed.public_key,
    }
    if await tx.query("passports/sign", row):
        await tell(tx, ctx.job, _told(version, signed))
        if signed.public is not None:
            await publish(tx, version.passport_version_id, signed.public)
    await _then(tx, payload, build)


def _told(version: CompiledVersion, signed: _Signed) -> Happened:
    return _about(
        version,
        "PASSPORT_SIGNED",
        {
            "receipt_hash": signed.receipt_hash.hex(),
            "signing_key_id": version.signing_key_id,
            "signature": signed.signature.hex(),
            "view_signature": signed.view_signature.hex(),
            "compared": compared(version),
        },
    )


def _refused(version: CompiledVersion, error: Permanent) -> Happened:
    member = error.member if isinstance(error, Mismatch) else None
    return _about(version, "SIGNING_REFUSED", {"code": error.code, "member": member})


def _about(version: CompiledVersion, event_type: str, told: dict[str, object]) -> Happened:
    return Happened(
        event_type=event_type,
        aggregate_type="passport",
        aggregate_id=version.passport_id,
        payload={"passport_version_id": str(version.passport_version_id)} | told,
    )


async def _go_on(tx: Tx, payload: SignPassport, ctx: Context) -> None:
    await _then(tx, payload, await builds.hold(tx, payload.build_id, ctx.job.tenant_id))


async def _then(tx: Tx, payload: SignPassport, build: Build | None) -> None:
    await builds.finish(tx, build, BuildStatus.SIGN, payload.passport_version_id)
    await tx.enqueue(builds.version_job(BuildStatus.QR, payload.passport_version_id, payload.build_id))


SPEC = HandlerSpec(
    job_type="SIGN_PASSPORT",
    payload=SignPassport,
    handle=handle,
    priority=Priority.HIGH,
    child_tasks=(RECOMPILE,),
)
