"""Sealed snapshot + rules -> payload, proof, disclosure tree and unsigned receipt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from bpc_worker.core.base import build_id, canonical_json
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.base.forms import uuid_text
from bpc_worker.core.base.hashing import sha256, sha256_hex
from bpc_worker.core.passport import disclosure
from bpc_worker.core.passport.receipt import Receipt, passport_version_id
from bpc_worker.core.passport.snapshot import SealedSnapshot
from bpc_worker.core.rules.evaluate import Evaluator, Statement
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact, published

COMPILER_BUILD_ID = build_id.COMPILER_BUILD_ID
PASSPORT_SCHEMA = "BPC-PASSPORT-1"

_NAMED_AT_MOST = 5


class CompileError(Exception):
    """The inputs do not make a passport; the code is one of the worker's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The most bytes that may come out."""

    payload: int = 131_072
    proof: int = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose passport it is, and what makes this version of it."""

    tenant_id: UUID
    passport_id: UUID
    battery_product_id: UUID
    rule_package_version_id: UUID
    dsl_sha256: bytes
    tests_sha256: bytes
    signing_key_id: str
    law_date: date
    issued_at: datetime
    compiler_build_id: str = COMPILER_BUILD_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    payload: bytes
    proof: bytes
    disclosure: disclosure.Disclosure
    receipt: Receipt


def version_id(identity: Identity, snapshot_id: UUID) -> UUID:
    return passport_version_id(
        tenant_id=identity.tenant_id,
        passport_id=identity.passport_id,
        snapshot_id=snapshot_id,
        rule_package_version_id=identity.rule_package_version_id,
        compiler_build_id=identity.compiler_build_id,
        law_date=identity.law_date,
        issued_at=identity.issued_at,
    )


def compile_passport(
    snapshot: SealedSnapshot,
    facts: Iterable[Fact],
    rules: TypedModule,
    identity: Identity,
    *,
    disclosure_seed: bytes,
    limits: Limits | None = None,
    sizes: Sizes | None = None,
) -> Compiled:
    """The passport's bytes: the same for the same inputs, on any machine. RuleError or CompileError."""
    if identity.compiler_build_id != COMPILER_BUILD_ID:
        unknown = f"unknown compiler build {identity.compiler_build_id}"
        raise CompileError("VALIDATION_ERROR", f"{unknown}; this release is {COMPILER_BUILD_ID}")
    held = tuple(facts)
    _check_inputs(snapshot, held, rules)
    evaluator = Evaluator(rules, FactSet(held), identity.law_date, limits)
    evaluated = evaluator.run()
    proof, root = evaluator.proof.finish()
    fields = {path: published(value) for path, value in evaluated.fields.items()}
    payload = payload_bytes(identity, fields, evaluated.statements)
    bounds = sizes or Sizes()
    _check_size("PAYLOAD_TOO_LARGE", "payload", len(payload), bounds.payload)
    _check_size("PROOF_TOO_LARGE", "proof", len(proof), bounds.proof)
    tree = disclosure.tree(
        [
            disclosure.Field(path, frozenset(rules.fields[path].audiences), value)
            for path, value in fields.items()
        ],
        disclosure_seed,
    )
    receipt = receipt_of(identity, snapshot, payload, bytes.fromhex(root), tree.root)
    return Compiled(payload=payload, proof=proof, disclosure=tree, receipt=receipt)


def payload_bytes(identity: Identity, fields: Mapping[str, object], statements: Iterable[Statement]) -> bytes:
    """BPC-PASSPORT-1, of fields as they are published and statements in order of emission."""
    return canonical_json.encode(
        {
            "schema": PASSPORT_SCHEMA,
            "passport_id": uuid_text(identity.passport_id),
            "battery_product_id": uuid_text(identity.battery_product_id),
            "fields": nested(fields),
            "compliance": [
                {"code": each.code, "holds": each.holds, "message": each.message} for each in statements
            ],
        }
    )


def nested(fields: Mapping[str, object]) -> dict[str, object]:
    """`a.b` becomes {"a": {"b": …}}. No field lies inside another: whoever made the paths has seen to it."""
    root: dict[str, object] = {}
    for path, value in fields.items():
        *parents, leaf = path.split(".")
        place = root
        for parent in parents:
            inner = place.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise CompileError("RULE_TYPE_ERROR", f"the field {path} lies inside another one")
            place = inner
        place[leaf] = value
    return root


def _check_inputs(snapshot: SealedSnapshot, facts: tuple[Fact, ...], rules: TypedModule) -> None:
    if not rules.fields:
        raise CompileError("RULE_TYPE_ERROR", "the rules have no field, and a passport has at least one")
    named = {(ref.fact_type, ref.fact_key): ref.payload_hash.hex() for ref in snapshot.facts}
    given = {(fact.fact_type, fact.fact_key): fact.payload_hash for fact in facts}
    if named != given or len(given) != len(facts):
        differing = sorted({f"{kind} {key}" for (kind, key), _ in named.items() ^ given.items()})
        shown = ", ".join(differing[:_NAMED_AT_MOST]) or "some are there twice"
        raise CompileError("SNAPSHOT_NOT_READY", f"the facts are not the snapshot's: {shown}")
    for fact in facts:
        _check_fact(fact)


def _check_fact(fact: Fact) -> None:
    """Its hash is that of its content: whoever made it may have taken the hash from elsewhere."""
    try:
        found = sha256_hex(canonical_json.encode(fact.payload))
    except CanonicalJsonError as error:
        raise _unfit(fact, f": {error}") from error
    if found != fact.payload_hash:
        raise _unfit(fact, " is not what its hash says")


def _unfit(fact: Fact, why: str) -> CompileError:
    return CompileError("SNAPSHOT_NOT_READY", f"fact {fact.fact_type} {fact.fact_key}{why}")


def _check_size(code: str, what: str, found: int, limit: int) -> None:
    if found > limit:
        raise CompileError(code, f"the {what} has {found} bytes, the limit is {limit}")


def receipt_of(
    identity: Identity, snapshot: SealedSnapshot, payload: bytes, proof_root: bytes, tree: bytes
) -> Receipt:
    return Receipt(
        issued_at=identity.issued_at,
        tenant_id=identity.tenant_id,
        passport_version_id=version_id(identity, snapshot.snapshot_id),
        passport_id=identity.passport_id,
        battery_product_id=identity.battery_product_id,
        snapshot_id=snapshot.snapshot_id,
        snapshot_hash=snapshot.snapshot_hash,
        rule_package_version_id=identity.rule_package_version_id,
        dsl_sha256=identity.dsl_sha256,
        tests_sha256=identity.tests_sha256,
        compiler_build_id=identity.compiler_build_id,
        payload_hash=sha256(payload),
        proof_root_hash=proof_root,
        disclosure_root=tree,
        signing_key_id=identity.signing_key_id,
        law_date=identity.law_date,
    )
