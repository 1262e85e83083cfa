"""COMPILE_PASSPORT: a sealed snapshot and published rules become payload, proof and receipt."""

from datetime import UTC, date, datetime
from typing import NamedTuple
from uuid import UUID

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.signing import KeyStatus
from bpc_worker.core.passport.compile import COMPILER_BUILD_ID, Evaluated, Identity
from bpc_worker.core.passport.disclosures import lines_of
from bpc_worker.core.passport.receipt import (
    Receipt,
    issuer_of,
    passport_version_id,
    receipt_hash,
    status_list_of,
    status_list_uri,
)
from bpc_worker.domain import builds, failures, status_lists
from bpc_worker.domain.checked_rules import check_shipped
from bpc_worker.domain.compile_inputs import checked, read_inputs
from bpc_worker.domain.compiling import Request, Response, compile_in_child, receipt_over
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.identity import check_about, check_host
from bpc_worker.domain.records import Passport, PassportVersion, RulesText, SigningKey
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
from bpc_worker.rows import all_of, maybe

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


COMPILE = ChildTask(
    name="handlers.compile_passport:COMPILE",
    request=Request,
    response=Response,
    run=compile_in_child,
    warm_up=check_shipped,
)


class Made(NamedTuple):
    """What the child evaluated, and the receipt that was made over it here."""

    evaluated: Evaluated
    receipt: Receipt
    receipt_bytes: bytes
    seconds: float


async def handle(payload: CompilePassport, ctx: Context) -> None:
    try:
        request = await _request(payload, ctx)
        made = await _made(request, ctx)
    except Permanent as error:
        ctx.count(Tally.COMPILES, error.code)
        words = await _words(payload, ctx, error)
        failed = failures.without_values(error)
        await builds.give_up(
            ctx, payload.build_id, failed, BuildStatus.COMPILE, payload.snapshot_id, words=words
        )
    _measure(ctx, made)
    await ctx.complete(
        lambda tx: _write(tx, payload, ctx, request, made),
        result={
            "passport_version_id": str(made.receipt.passport_version_id),
            "payload_bytes": len(made.evaluated.payload),
            "proof_bytes": len(made.evaluated.proof),
        },
    )


async def _words(payload: CompilePassport, ctx: Context, error: Permanent) -> str | None:
    """For the build: with the values that the rules had read, and their documents."""
    if not failures.values_read(error):
        return None
    params = {"tenant_id": ctx.job.tenant_id, "snapshot_id": payload.snapshot_id, "until": ctx.job.created_at}
    sources = all_of(await ctx.read("snapshots/sources", params), failures.Source)
    return failures.in_words(error, sources)


async def _made(request: Request, ctx: Context) -> Made:
    answer = await ctx.child(COMPILE, request)
    receipt, data = receipt_over(request, answer.evaluated, max_bytes=ctx.policy.receipt_bytes)
    return Made(answer.evaluated, receipt, data, answer.seconds)


def _measure(ctx: Context, made: Made) -> None:
    ctx.count(Tally.COMPILES, "ok")
    ctx.observe(Measure.COMPILE_DURATION, made.seconds)
    ctx.observe(Measure.PAYLOAD_BYTES, len(made.evaluated.payload))
    ctx.observe(Measure.PROOF_BYTES, len(made.evaluated.proof))
    ctx.observe(Measure.RECEIPT_BYTES, len(made.receipt_bytes))


async def _request(payload: CompilePassport, ctx: Context) -> Request:
    tenant_id = ctx.job.tenant_id
    async with ctx.reading() as reading:
        rows = await read_inputs(
            reading,
            tenant_id,
            passport_id=payload.passport_id,
            snapshot_id=payload.snapshot_id,
            rule_package_version_id=payload.rule_package_version_id,
        )
        keys = all_of(await reading.query("keys/registry", {"tenant_id": tenant_id}), SigningKey)
    inputs = checked(rows)
    if inputs.rules.status != RulesStatus.PUBLISHED:
        raise Permanent(Code.RULE_PKG_NOT_PUBLISHED, f"the rules are {inputs.rules.status}, not PUBLISHED")
    key_id = (await ctx.signer()).key_id
    _check_key(key_id, keys)
    check_about(inputs.facts, inputs.passport)
    check_host(inputs.passport, stand_in=ctx.policy.stand_in_host)
    version_id, identity = await _identity(payload, ctx, inputs.passport, inputs.rules, key_id)
    return Request(
        identity=identity,
        snapshot_id=inputs.snapshot.snapshot_id,
        snapshot=inputs.snapshot.canonical,
        snapshot_hash=inputs.snapshot.snapshot_hash,
        facts=inputs.facts,
        dsl=inputs.rules.dsl,
        disclosure_seed=ctx.disclosure_seed(version_id),
        payload_bytes=ctx.policy.payload_bytes,
        proof_bytes=ctx.policy.proof_bytes,
    )


def _check_key(key_id: str, keys: list[SigningKey]) -> None:
    """Before the work: a receipt that nobody may sign is of no use."""
    found = [key.status for key in keys if key.key_id == key_id]
    if found != [KeyStatus.ACTIVE]:
        state = found[0] if found else "not in the tenant's registry"
        hint = "add it with `bpc-worker keys add`, or configure one that is ACTIVE; then retry the job"
        raise Permanent(Code.SIGNING_KEY_MISSING, f"the worker's key {key_id!r} is {state}: {hint}")


async def _identity(
    payload: CompilePassport, ctx: Context, passport: Passport, rules: RulesText, key_id: str
) -> tuple[UUID, Identity]:
    """The version's id, and all that its receipt says; its place in a status list is given before."""
    issued_at = (payload.issued_at or ctx.job.created_at).astimezone(UTC)
    version_id = passport_version_id(
        tenant_id=ctx.job.tenant_id,
        passport_id=payload.passport_id,
        snapshot_id=payload.snapshot_id,
        rule_package_version_id=payload.rule_package_version_id,
        compiler_build_id=COMPILER_BUILD_ID,
        law_date=payload.law_date,
        issued_at=issued_at,
    )
    issuer = issuer_of(passport.unique_identifier)
    place = await status_lists.allot(ctx, version_id, issuer)
    return version_id, Identity(
        tenant_id=ctx.job.tenant_id,
        passport_id=payload.passport_id,
        battery_product_id=passport.battery_product_id,
        rule_package_version_id=payload.rule_package_version_id,
        dsl_sha256=rules.dsl_sha256,
        tests_sha256=rules.tests_sha256,
        signing_key_id=key_id,
        law_date=payload.law_date,
        issued_at=issued_at,
        unique_identifier=passport.unique_identifier,
        status_list_uri=status_list_uri(issuer, place.status_list),
        status_list_idx=place.status_idx,
        rules_name=rules.name,
    )


async def _write(tx: Tx, payload: CompilePassport, ctx: Context, request: Request, made: Made) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    if build is not None and not builds.waits_for(build, BuildStatus.COMPILE, payload.snapshot_id):
        return  # it went on without this job: what would be compiled here is out of date
    params = _columns(request, made)
    if await tx.query("passports/add_version", params):
        await _tell(tx, ctx, payload, made.receipt)
    else:
        await _check_same(tx, params)
    version = made.receipt.passport_version_id
    await builds.finish(tx, build, BuildStatus.COMPILE, payload.snapshot_id, passport_version_id=version)
    await tx.enqueue(builds.version_job(BuildStatus.SIGN, version, payload.build_id))


def _columns(request: Request, made: Made) -> dict[str, object]:
    receipt, evaluated = made.receipt, made.evaluated
    return {
        "passport_version_id": receipt.passport_version_id,
        "tenant_id": receipt.tenant_id,
        "passport_id": receipt.passport_id,
        "snapshot_id": receipt.snapshot_id,
        "rule_package_version_id": receipt.rule_package_version_id,
        "compiler_build_id": receipt.compiler_build_id,
        "law_date": receipt.law_date,
        "issued_at": receipt.issued_at,
        "payload": evaluated.payload,
        "proof": evaluated.proof,
        "receipt": made.receipt_bytes,
        "payload_hash": receipt.payload_hash,
        "proof_root_hash": receipt.proof_root_hash,
        "unique_identifier": receipt.unique_identifier,
        "status_list": status_list_of(receipt.issuer)(receipt.status_list_uri),
        "status_idx": receipt.status_list_idx,
        "fields": evaluated.fields,
        "disclosures": lines_of(evaluated.disclosures),
        "gaps": evaluated.gaps,
        "receipt_hash": sha256(made.receipt_bytes),
        "disclosure_seed": request.disclosure_seed,
        "signing_key_id": receipt.signing_key_id,
    }


async def _check_same(tx: Tx, params: dict[str, object]) -> None:
    """It was compiled before; the same inputs have given the same bytes, or something is very wrong."""
    there = maybe(await tx.query("passports/read_version", params), PassportVersion)
    if there is None or there.receipt_hash != params["receipt_hash"]:
        raise Permanent(
            Code.IDEMPOTENCY_CONFLICT, "this version is there with another receipt: was a key changed?"
        )


async def _tell(tx: Tx, ctx: Context, payload: CompilePassport, receipt: Receipt) -> None:
    happened = Happened(
        event_type="PASSPORT_COMPILED",
        aggregate_type="passport",
        aggregate_id=payload.passport_id,
        payload={
            "passport_version_id": str(receipt.passport_version_id),
            "snapshot_id": str(payload.snapshot_id),
            "rule_package_version_id": str(payload.rule_package_version_id),
            "payload_hash": receipt.payload_hash.hex(),
            "proof_root_hash": receipt.proof_root_hash.hex(),
            "receipt_hash": receipt_hash(receipt).hex(),
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
