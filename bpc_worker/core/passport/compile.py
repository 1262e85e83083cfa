"""Sealed snapshot + rules -> payload, proof and disclosures; and the receipt over them, not yet signed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol
from uuid import UUID

from bpc_worker.core.base import build_id, canonical_json
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.base.forms import salt_text, uuid_text
from bpc_worker.core.base.hashing import sha256, sha256_hex
from bpc_worker.core.passport.disclosures import STATEMENTS, Disclosed, Shown, disclose
from bpc_worker.core.passport.gaps import report, report_bytes
from bpc_worker.core.passport.receipt import Receipt, issuer_of, passport_version_id
from bpc_worker.core.passport.salts import SaltSource
from bpc_worker.core.passport.snapshot import FactRef, SealedSnapshot, SnapshotError, check_facts
from bpc_worker.core.rules.audiences import RESERVED_MEMBERS
from bpc_worker.core.rules.evaluate import Evaluator, Statement
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact, published

COMPILER_BUILD_ID = build_id.COMPILER_BUILD_ID
PASSPORT_SCHEMA = "BPC-PASSPORT-2"


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
    unique_identifier: str
    status_list_uri: str
    status_list_idx: int
    rules_name: str
    compiler_build_id: str = COMPILER_BUILD_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What rules and facts give, before anybody vouches for it."""

    payload: bytes
    proof: bytes
    proof_root: bytes
    fields: bytes  # the claim `fields` of the view, canonical
    disclosures: tuple[str, ...]
    audiences: tuple[str, ...]
    gaps: bytes  # what the law asks for and it lacks, canonical


class HashedSnapshot(Protocol):
    """All that a receipt says of a snapshot."""

    @property
    def snapshot_id(self) -> UUID: ...

    @property
    def snapshot_hash(self) -> bytes: ...


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


def evaluate_passport(
    snapshot: SealedSnapshot,
    facts: Iterable[Fact],
    rules: TypedModule,
    identity: Identity,
    *,
    salts: SaltSource,
    limits: Limits | None = None,
    sizes: Sizes | None = None,
) -> Evaluated:
    """The passport's bytes: the same for the same inputs, on any machine. RuleError or CompileError."""
    if identity.compiler_build_id != COMPILER_BUILD_ID:
        unknown = f"unknown compiler build {identity.compiler_build_id}"
        raise CompileError("VALIDATION_ERROR", f"{unknown}; this release is {COMPILER_BUILD_ID}")
    held = tuple(facts)
    _check_inputs(snapshot, held, rules)
    evaluator = Evaluator(rules, FactSet(held), identity.law_date, limits)
    evaluated = evaluator.run()
    proof, root = evaluator.proof.finish(salts.proof)
    fields = {path: _publishable(path, published(value)) for path, value in evaluated.fields.items()}
    payload = payload_bytes(identity, fields, evaluated.statements, salts.payload)
    bounds = sizes or Sizes()
    _check_size("PAYLOAD_TOO_LARGE", "payload", len(payload), bounds.payload)
    _check_size("PROOF_TOO_LARGE", "proof", len(proof), bounds.proof)
    disclosed = _disclosed(rules, fields, evaluated.statements, salts)
    found = report(rules.law, evaluated.fields, evaluated.statements, identity.law_date)
    return Evaluated(
        payload=payload,
        proof=proof,
        proof_root=bytes.fromhex(root),
        fields=disclosed.fields,
        disclosures=disclosed.disclosures,
        audiences=rules.audiences,
        gaps=report_bytes(found, salts.payload),
    )


def receipt_of(identity: Identity, snapshot: HashedSnapshot, evaluated: Evaluated) -> Receipt:
    """What is to be signed: made from the inputs themselves and the hashes of what they gave."""
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
        payload_hash=sha256(evaluated.payload),
        proof_root_hash=evaluated.proof_root,
        fields_sha256=sha256(evaluated.fields),
        signing_key_id=identity.signing_key_id,
        law_date=identity.law_date,
        unique_identifier=identity.unique_identifier,
        issuer=issuer_of(identity.unique_identifier),
        status_list_uri=identity.status_list_uri,
        status_list_idx=identity.status_list_idx,
        rules_name=identity.rules_name,
        audiences=evaluated.audiences,
    )


def payload_bytes(
    identity: Identity, fields: Mapping[str, object], statements: Iterable[Statement], salt: bytes
) -> bytes:
    """BPC-PASSPORT-2, of fields as they are published and statements in order of emission."""
    return canonical_json.encode(
        {
            "schema": PASSPORT_SCHEMA,
            "salt": salt_text(salt),
            "passport_id": uuid_text(identity.passport_id),
            "battery_product_id": uuid_text(identity.battery_product_id),
            "fields": nested(fields),
            "compliance": [{"code": each.code, **_stated(each)} for each in statements],
        }
    )


def _stated(statement: Statement) -> dict[str, object]:
    return {"holds": statement.holds, "message": statement.message, "severity": statement.severity}


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


def _disclosed(
    rules: TypedModule, fields: Mapping[str, object], statements: Iterable[Statement], salts: SaltSource
) -> Disclosed:
    shown = [
        Shown(path, rules.fields[path].audiences, value, salts.field(path))
        for path, value in fields.items()
        if rules.fields[path].audiences
    ]
    shown += [
        Shown(
            f"{STATEMENTS}{each.code}",
            rules.statements[each.code],
            _stated(each),
            salts.statement(each.code),
        )
        for each in statements
        if rules.statements[each.code]
    ]
    return disclose(shown, rules.sets, salts)


def _publishable(path: str, value: object) -> object:
    """Readers of views drop members of certain names in silence: a value that has one is refused."""
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        place, found = stack.pop()
        if isinstance(found, dict):
            if taken := sorted(RESERVED_MEMBERS.intersection(found)):
                where = f"the field {path} has a member {taken[0]!r}" + (f" at {place}" if place else "")
                raise CompileError("VALIDATION_ERROR", f"{where}: a view has this name for itself")
            stack += [(f"{place}/{key}", each) for key, each in found.items()]
        elif isinstance(found, list):
            stack += [(f"{place}/{at}", each) for at, each in enumerate(found)]
    return value


def _check_inputs(snapshot: SealedSnapshot, facts: tuple[Fact, ...], rules: TypedModule) -> None:
    if not rules.fields:
        raise CompileError("RULE_TYPE_ERROR", "the rules have no field, and a passport has at least one")
    try:
        refs = (FactRef(each.fact_type, each.fact_key, bytes.fromhex(each.payload_hash)) for each in facts)
        check_facts(snapshot, refs)
    except SnapshotError as error:
        raise CompileError("SNAPSHOT_NOT_READY", str(error)) from error
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
