"""COMPILE_PASSPORT: a sealed snapshot and published rules become payload, proof and receipt."""

from datetime import UTC, date, datetime
from uuid import UUID

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.signing import KeyStatus
from bpc_worker.core.passport.compile import Identity, version_id
from bpc_worker.domain import builds
from bpc_worker.domain.compiling import Request, Response, compile_in_child
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.identity import check_about, check_host
from bpc_worker.domain.records import Fact, Passport, PassportVersion, RulesText, SigningKey, Snapshot
from bpc_worker.domain.states import BuildStatus, RulesStatus
from bpc_worker.handler_api import (
    ChildTask,
    Code,
    Context,
    HandlerSpec,
    Measure,
    Payload,
    Permanent,
    Priority,
    Tally,
    Tx,
)
from bpc_worker.rows import all_of, maybe, one

_FIRST_YEAR, _LAST_YEAR = 1990, 2999  # before there was such a thing; a slip of the pen


class CompilePassport(Payload, frozen=True):
    passport_id: UUID
    snapshot_id: UUID
    rule_package_version_id: UUID
    law_date: date
    issued_at: datetime | None = None  # unset: when the job was queued, so that a retry makes the same bytes
    build_id: UUID | None = None

    def __post_init__(self) -> None:
        if self.issued_at is not None and self.issued_at.tzinfo is None:
            raise ValueError("issued_at has no time zone")
        moments = [self.law_date] if self.issued_at is None else [self.law_date, self.issued_at]
        if not all(_FIRST_YEAR <= moment.year <= _LAST_YEAR for moment in moments):
            raise ValueError(f"issued_at and law_date lie in the years {_FIRST_YEAR} to {_LAST_YEAR}")


class Sealed(Snapshot, frozen=True):
    canonical: bytes | None


COMPILE = ChildTask(
    name="handlers.compile_passport:COMPILE", request=Request, response=Response, run=compile_in_child
)


async def handle(payload: CompilePassport, ctx: Context) -> None:
    try:
        request = await _request(payload, ctx)
        made = await ctx.child(COMPILE, request)
    except Permanent as error:
        ctx.count(Tally.COMPILES, error.code)
        await builds.give_up(ctx, payload.build_id, error, BuildStatus.COMPILE, payload.snapshot_id)
    _measure(ctx, made)
    await ctx.complete(
        lambda tx: _write(tx, payload, ctx, request, made),
        result={
            "passport_version_id": str(made.passport_version_id),
            "payload_bytes": len(made.payload),
            "proof_bytes": len(made.proof),
        },
    )


def _measure(ctx: Context, made: Response) -> None:
    ctx.count(Tally.COMPILES, "ok")
    ctx.observe(Measure.COMPILE_DURATION, made.seconds)
    ctx.observe(Measure.PAYLOAD_BYTES, len(made.payload))
    ctx.observe(Measure.PROOF_BYTES, len(made.proof))
    ctx.observe(Measure.RECEIPT_BYTES, len(made.receipt))


async def _request(payload: CompilePassport, ctx: Context) -> Request:
    tenant: dict[str, object] = {"tenant_id": ctx.job.tenant_id}
    of_snapshot = tenant | {"snapshot_id": payload.snapshot_id}
    version = tenant | {"rule_package_version_id": payload.rule_package_version_id}
    async with ctx.reading() as reading:
        passports = await reading.query("passports/read", tenant | {"passport_id": payload.passport_id})
        passport = one(passports, Passport, "passport")
        snapshot = one(await reading.query("snapshots/read", of_snapshot), Sealed, "snapshot")
        rules = one(await reading.query("rules/read", version), RulesText, "version of a rule package")
        facts = await reading.query("snapshots/facts", of_snapshot)
        keys = all_of(await reading.query("keys/registry", tenant), SigningKey)
    if snapshot.canonical is None or snapshot.snapshot_hash is None:
        raise Permanent(Code.SNAPSHOT_NOT_READY, f"the snapshot is {snapshot.status}, not SEALED")
    if rules.status != RulesStatus.PUBLISHED:
        raise Permanent(Code.RULE_PKG_NOT_PUBLISHED, f"the rules are {rules.status}, not PUBLISHED")
    _check_key(ctx.signer.key_id, keys)
    held = all_of(facts, Fact)
    check_about(held, passport)
    check_host(passport, stand_in=ctx.policy.stand_in_host)
    identity = _identity(payload, ctx, passport, rules)
    return Request(
        identity=identity,
        snapshot=snapshot.canonical,
        snapshot_hash=snapshot.snapshot_hash,
        facts=held,
        dsl=rules.dsl,
        disclosure_seed=ctx.disclosure_seed(version_id(identity, payload.snapshot_id)),
        payload_bytes=ctx.policy.payload_bytes,
        proof_bytes=ctx.policy.proof_bytes,
        receipt_bytes=ctx.policy.receipt_bytes,
    )


def _check_key(key_id: str, keys: list[SigningKey]) -> None:
    """Before the work: a receipt that nobody may sign is of no use."""
    found = [key.status for key in keys if key.key_id == key_id]
    if found != [KeyStatus.ACTIVE]:
        state = found[0] if found else "not in the tenant's registry"
        hint = "add it with `bpc-worker keys add`, or configure one that is ACTIVE; then retry the job"
        raise Permanent(Code.SIGNING_KEY_MISSING, f"the worker's key {key_id!r} is {state}: {hint}")


def _identity(payload: CompilePassport, ctx: Context, passport: Passport, rules: RulesText) -> Identity:
    issued_at = (payload.issued_at or ctx.job.created_at).astimezone(UTC)
    return Identity(
        tenant_id=ctx.job.tenant_id,
        passport_id=payload.passport_id,
        battery_product_id=passport.battery_product_id,
        rule_package_version_id=payload.rule_package_version_id,
        dsl_sha256=rules.dsl_sha256,
        tests_sha256=rules.tests_sha256,
        signing_key_id=ctx.signer.key_id,
        law_date=payload.law_date,
        issued_at=issued_at,
    )


async def _write(tx: Tx, payload: CompilePassport, ctx: Context, request: Request, made: Response) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    if build is not None and not builds.waits_for(build, BuildStatus.COMPILE, payload.snapshot_id):
        return  # it went on without this job: what would be compiled here is out of date
    params = _columns(payload, request, made)
    if await tx.query("passports/add_version", params):
        await _tell(tx, ctx, payload, made)
    else:
        await _check_same(tx, params)
    version = made.passport_version_id
    await builds.finish(tx, build, BuildStatus.COMPILE, payload.snapshot_id, passport_version_id=version)
    await tx.enqueue(builds.version_job(BuildStatus.SIGN, version, payload.build_id))


def _columns(payload: CompilePassport, request: Request, made: Response) -> dict[str, object]:
    identity = request.identity
    return {
        "passport_version_id": made.passport_version_id,
        "tenant_id": identity.tenant_id,
        "passport_id": identity.passport_id,
        "snapshot_id": payload.snapshot_id,
        "rule_package_version_id": identity.rule_package_version_id,
        "compiler_build_id": identity.compiler_build_id,
        "law_date": identity.law_date,
        "issued_at": identity.issued_at,
        "payload": made.payload,
        "proof": made.proof,
        "receipt": made.receipt,
        "payload_hash": made.payload_hash,
        "proof_root_hash": made.proof_root_hash,
        "disclosure_root": made.disclosure_root,
        "receipt_hash": sha256(made.receipt),
        "disclosure_seed": request.disclosure_seed,
        "signing_key_id": identity.signing_key_id,
    }


async def _check_same(tx: Tx, params: dict[str, object]) -> None:
    """It was compiled before; the same inputs have given the same bytes, or something is very wrong."""
    there = maybe(await tx.query("passports/read_version", params), PassportVersion)
    if there is None or there.receipt_hash != params["receipt_hash"]:
        raise Permanent(
            Code.IDEMPOTENCY_CONFLICT, "this version is there with another receipt: was a key changed?"
        )


async def _tell(tx: Tx, ctx: Context, payload: CompilePassport, made: Response) -> None:
    happened = Happened(
        event_type="PASSPORT_COMPILED",
        aggregate_type="passport",
        aggregate_id=payload.passport_id,
        payload={
            "passport_version_id": str(made.passport_version_id),
            "snapshot_id": str(payload.snapshot_id),
            "rule_package_version_id": str(payload.rule_package_version_id),
            "payload_hash": made.payload_hash.hex(),
            "proof_root_hash": made.proof_root_hash.hex(),
            "receipt_hash": sha256(made.receipt).hex(),
        },
    )
    await tell(tx, ctx.job, happened)


SPEC = HandlerSpec(
    job_type="COMPILE_PASSPORT",
    payload=CompilePassport,
    handle=handle,
    priority=Priority.HIGH,
    child_tasks=(COMPILE,),
)
