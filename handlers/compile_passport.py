"""COMPILE_PASSPORT: a sealed snapshot and published rules become payload, proof and receipt."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from time import perf_counter
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.compile import (
    COMPILER_BUILD_ID,
    CompileError,
    Identity,
    Sizes,
    compile_passport,
)
from bpc_worker.core.passport.receipt import ReceiptError, passport_version_id, receipt_bytes
from bpc_worker.core.passport.snapshot import SnapshotError, open_snapshot
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, render
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.domain import builds
from bpc_worker.domain.events import Happened, record
from bpc_worker.handler_api import (
    ChildTask,
    Code,
    Context,
    HandlerSpec,
    Measure,
    NewJob,
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
    law_date: date | None = None  # unset: the day it is issued
    issued_at: datetime | None = None  # unset: when the job was queued, so that a retry makes the same bytes
    build_id: UUID | None = None

    def __post_init__(self) -> None:
        if self.issued_at is not None and self.issued_at.tzinfo is None:
            raise ValueError("issued_at has no time zone")
        years = [moment.year for moment in (self.issued_at, self.law_date) if moment is not None]
        if not all(_FIRST_YEAR <= year <= _LAST_YEAR for year in years):
            raise ValueError(f"issued_at and law_date lie in the years {_FIRST_YEAR} to {_LAST_YEAR}")


class Passport(msgspec.Struct, frozen=True):
    passport_id: UUID
    battery_product_id: UUID


class Snapshot(msgspec.Struct, frozen=True):
    status: str
    canonical: bytes | None
    snapshot_hash: bytes | None


class Rules(msgspec.Struct, frozen=True):
    dsl: str
    dsl_sha256: bytes
    tests_sha256: bytes
    status: str


class FactBytes(msgspec.Struct, frozen=True):
    fact_type: str
    fact_key: str
    canonical: bytes


class Key(msgspec.Struct, frozen=True):
    key_id: str
    status: str


class Version(msgspec.Struct, frozen=True):
    passport_version_id: UUID
    receipt_hash: bytes


class Who(msgspec.Struct, frozen=True):
    """Identity, as it travels to a child."""

    tenant_id: UUID
    passport_id: UUID
    battery_product_id: UUID
    rule_package_version_id: UUID
    dsl_sha256: bytes
    tests_sha256: bytes
    signing_key_id: str
    law_date: date
    issued_at: datetime


class Request(msgspec.Struct, frozen=True):
    who: Who
    snapshot: bytes
    snapshot_hash: bytes
    facts: list[FactBytes]
    dsl: str
    disclosure_seed: bytes
    payload_bytes: int
    proof_bytes: int
    receipt_bytes: int


class Response(msgspec.Struct, frozen=True):
    passport_version_id: UUID
    payload: bytes
    proof: bytes
    receipt: bytes
    payload_hash: bytes
    proof_root_hash: bytes
    disclosure_root: bytes
    seconds: float  # how long it took


_rules = lru_cache(maxsize=16)(load)  # parsed and checked once per version and child


def compile_in_child(request: Request) -> Response:
    try:
        return _compiled(request, _rules(request.dsl))
    except RuleError as error:
        raise Permanent(error.code, render(request.dsl, error)) from error
    except CompileError as error:
        raise Permanent(error.code, error.message) from error
    except SnapshotError as error:
        raise Permanent(Code.SNAPSHOT_NOT_READY, str(error)) from error
    except ReceiptError as error:
        raise Permanent(Code.RECEIPT_TOO_LARGE, str(error)) from error


def _compiled(request: Request, rules: TypedModule) -> Response:
    began = perf_counter()
    made = compile_passport(
        open_snapshot(request.snapshot, request.snapshot_hash),
        [make_fact(fact.fact_type, fact.fact_key, _payload(fact)) for fact in request.facts],
        rules,
        Identity(**msgspec.structs.asdict(request.who), compiler_build_id=COMPILER_BUILD_ID),
        disclosure_seed=request.disclosure_seed,
        sizes=Sizes(payload=request.payload_bytes, proof=request.proof_bytes),
    )
    return Response(
        passport_version_id=made.receipt.passport_version_id,
        payload=made.payload,
        proof=made.proof,
        receipt=receipt_bytes(made.receipt, max_bytes=request.receipt_bytes),
        payload_hash=made.receipt.payload_hash,
        proof_root_hash=made.receipt.proof_root_hash,
        disclosure_root=made.receipt.disclosure_root,
        seconds=perf_counter() - began,
    )


def _payload(fact: FactBytes) -> Mapping[str, object]:
    payload = canonical_json.decode(fact.canonical)
    if not isinstance(payload, dict):
        raise SnapshotError("", f"fact {fact.fact_type} {fact.fact_key} is not an object")
    return payload


COMPILE = ChildTask(
    name="handlers.compile_passport:COMPILE", request=Request, response=Response, run=compile_in_child
)


async def handle(payload: CompilePassport, ctx: Context) -> None:
    try:
        request = await _request(payload, ctx)
        made = await ctx.child(COMPILE, request)
    except Permanent as error:
        ctx.count(Tally.COMPILES, error.code)
        await builds.give_up(ctx, payload.build_id, error, lambda build: _comes_next(build, payload))
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
    async with ctx.reading() as reading:
        passports = await reading.query("passports/read", tenant | {"passport_id": payload.passport_id})
        passport = one(passports, Passport, "passport")
        snapshots = await reading.query("snapshots/read", tenant | {"snapshot_id": payload.snapshot_id})
        snapshot = one(snapshots, Snapshot, "snapshot")
        version = {"rule_package_version_id": payload.rule_package_version_id}
        rules = one(await reading.query("rules/read", tenant | version), Rules, "version of a rule package")
        facts = await reading.query("snapshots/facts", tenant | {"snapshot_id": payload.snapshot_id})
        keys = all_of(await reading.query("keys/registry", tenant), Key)
    if snapshot.canonical is None or snapshot.snapshot_hash is None:
        raise Permanent(Code.SNAPSHOT_NOT_READY, f"the snapshot is {snapshot.status}, not SEALED")
    if rules.status != "PUBLISHED":
        raise Permanent(Code.RULE_PKG_NOT_PUBLISHED, f"the rules are {rules.status}, not PUBLISHED")
    _check_key(ctx.signer.key_id, keys)
    who = _who(payload, ctx, passport, rules)
    return Request(
        who=who,
        snapshot=snapshot.canonical,
        snapshot_hash=snapshot.snapshot_hash,
        facts=all_of(facts, FactBytes),
        dsl=rules.dsl,
        disclosure_seed=ctx.disclosure_seed(_version_id(who, payload.snapshot_id)),
        payload_bytes=ctx.policy.payload_bytes,
        proof_bytes=ctx.policy.proof_bytes,
        receipt_bytes=ctx.policy.receipt_bytes,
    )


def _check_key(key_id: str, keys: list[Key]) -> None:
    """Before the work: a receipt that nobody may sign is of no use."""
    found = [key.status for key in keys if key.key_id == key_id]
    if found != ["ACTIVE"]:
        state = found[0] if found else "not in the tenant's registry"
        hint = "add it with `bpc-worker keys add`, or configure one that is ACTIVE; then retry the job"
        raise Permanent(Code.SIGNING_KEY_MISSING, f"the worker's key {key_id!r} is {state}: {hint}")


def _who(payload: CompilePassport, ctx: Context, passport: Passport, rules: Rules) -> Who:
    issued_at = (payload.issued_at or ctx.job.created_at).astimezone(UTC)
    return Who(
        tenant_id=ctx.job.tenant_id,
        passport_id=payload.passport_id,
        battery_product_id=passport.battery_product_id,
        rule_package_version_id=payload.rule_package_version_id,
        dsl_sha256=rules.dsl_sha256,
        tests_sha256=rules.tests_sha256,
        signing_key_id=ctx.signer.key_id,
        law_date=payload.law_date or issued_at.date(),
        issued_at=issued_at,
    )


def _version_id(who: Who, snapshot_id: UUID) -> UUID:
    return passport_version_id(
        tenant_id=who.tenant_id,
        passport_id=who.passport_id,
        snapshot_id=snapshot_id,
        rule_package_version_id=who.rule_package_version_id,
        compiler_build_id=COMPILER_BUILD_ID,
        law_date=who.law_date,
        issued_at=who.issued_at,
    )


def _comes_next(build: builds.Build, payload: CompilePassport) -> bool:
    return builds.waits_for(build, "COMPILE", snapshot_id=payload.snapshot_id)


async def _write(tx: Tx, payload: CompilePassport, ctx: Context, request: Request, made: Response) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    if build is not None and not _comes_next(build, payload):
        return  # it went on without this job: what would be compiled here is out of date
    params = _columns(payload, request, made)
    if await tx.query("passports/add_version", params):
        await _tell(tx, ctx, payload, made)
    else:
        await _check_same(tx, params)
    await builds.move(tx, build, "SIGN", passport_version_id=made.passport_version_id)
    await tx.enqueue(
        NewJob(
            type="SIGN_PASSPORT",
            payload={
                "passport_version_id": str(made.passport_version_id),
                "build_id": None if build is None else str(build.build_id),
            },
            idempotency_key=f"{made.passport_version_id} {payload.build_id or ''}".strip(),
        )
    )


def _columns(payload: CompilePassport, request: Request, made: Response) -> dict[str, object]:
    who = request.who
    return {
        "passport_version_id": made.passport_version_id,
        "tenant_id": who.tenant_id,
        "passport_id": who.passport_id,
        "snapshot_id": payload.snapshot_id,
        "rule_package_version_id": who.rule_package_version_id,
        "compiler_build_id": COMPILER_BUILD_ID,
        "law_date": who.law_date,
        "issued_at": who.issued_at,
        "payload": made.payload,
        "proof": made.proof,
        "receipt": made.receipt,
        "payload_hash": made.payload_hash,
        "proof_root_hash": made.proof_root_hash,
        "disclosure_root": made.disclosure_root,
        "receipt_hash": sha256(made.receipt),
        "disclosure_seed": request.disclosure_seed,
        "signing_key_id": who.signing_key_id,
    }


async def _check_same(tx: Tx, params: dict[str, object]) -> None:
    """It was compiled before; the same inputs have given the same bytes, or something is very wrong."""
    there = maybe(await tx.query("passports/read_version", params), Version)
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
    await record(tx, happened, tenant_id=ctx.job.tenant_id, actor_id=f"job:{ctx.job.job_id}")


SPEC = HandlerSpec(
    job_type="COMPILE_PASSPORT",
    payload=CompilePassport,
    handle=handle,
    priority=Priority.HIGH,
    child_tasks=(COMPILE,),
)
