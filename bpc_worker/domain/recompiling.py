"""Make a passport version again before it is signed; the worker itself compares, and builds what is signed.

A child's answer is never signed. It is one of two, of children that never shared a process, and counts for
nothing unless both are the same bytes.
"""

from dataclasses import dataclass
from datetime import UTC

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.passport.compile import COMPILER_BUILD_ID, Evaluated, Identity, version_id
from bpc_worker.core.passport.disclosures import lines_of
from bpc_worker.core.passport.receipt import MAX_RECEIPT_BYTES, issuer_of, status_list_uri
from bpc_worker.core.passport.view import claims
from bpc_worker.domain.compile_inputs import CompileInputs
from bpc_worker.domain.compiling import Request, receipt_over
from bpc_worker.domain.event_chain import StoredChain
from bpc_worker.domain.identity import about_whom
from bpc_worker.domain.mismatch import Mismatch, check_same
from bpc_worker.domain.records import CompiledVersion
from bpc_worker.domain.status_lists import AllottedPlace
from bpc_worker.handler_api import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """What is signed of a version, canonical."""

    receipt: bytes
    view: bytes


def check_told(inputs: CompileInputs, *, sealed: StoredChain, published: StoredChain) -> None:
    """Snapshot and rules count by the events that told of them: a row alone is anybody's."""
    _check_told("snapshot_hash", inputs.snapshot.snapshot_hash, sealed, "SNAPSHOT_SEALED")
    _check_told("dsl_sha256", inputs.rules.dsl_sha256, published, "RULES_PUBLISHED")


def _check_told(member: str, digest: bytes, chain: StoredChain, event_type: str) -> None:
    if flaw := chain.flaw():
        raise Mismatch(member, f"its chain of events is not whole: {flaw}")
    if not any(told.get(member) == digest.hex() for told in chain.payloads(event_type)):
        raise Mismatch(member, f"no event {event_type} names {digest.hex()}")


def request_of(
    version: CompiledVersion, inputs: CompileInputs, place: AllottedPlace | None, policy: Policy
) -> Request:
    """What is to be compiled again: from the row only what its id follows from, the rest from elsewhere."""
    return Request(
        identity=_identity(version, inputs, place),
        snapshot_id=inputs.snapshot.snapshot_id,
        snapshot=inputs.snapshot.canonical,
        snapshot_hash=inputs.snapshot.snapshot_hash,
        facts=inputs.facts,
        dsl=inputs.rules.dsl,
        disclosure_seed=version.disclosure_seed,
        payload_bytes=policy.payload_bytes,
        proof_bytes=policy.proof_bytes,
    )


def _identity(version: CompiledVersion, inputs: CompileInputs, place: AllottedPlace | None) -> Identity:
    check_same("compiler_build_id", version.compiler_build_id, COMPILER_BUILD_ID)
    identifier = inputs.passport.unique_identifier
    place = _place(version, place, issuer_of(identifier))
    identity = Identity(
        tenant_id=version.tenant_id,
        passport_id=version.passport_id,
        battery_product_id=inputs.passport.battery_product_id,
        rule_package_version_id=version.rule_package_version_id,
        dsl_sha256=inputs.rules.dsl_sha256,
        tests_sha256=inputs.rules.tests_sha256,
        signing_key_id=version.signing_key_id,
        law_date=version.law_date,
        issued_at=version.issued_at.astimezone(UTC),
        unique_identifier=identifier,
        status_list_uri=status_list_uri(place.issuer, place.status_list),
        status_list_idx=place.status_idx,
        rules_name=inputs.rules.name,
    )
    expected = version_id(identity, version.snapshot_id)
    check_same("passport_version_id", version.passport_version_id, expected)
    check_same("unique_identifier", version.unique_identifier, identifier)
    for whose in about_whom(inputs.facts):  # what is told of one battery is not signed for another
        check_same("unique_identifier", whose, identifier)
    return identity


def _place(version: CompiledVersion, place: AllottedPlace | None, issuer: str) -> AllottedPlace:
    """In a list of this issuer, and nobody else's: by another's place a version would not be revoked."""
    if place is None:
        raise Mismatch("status_list_idx", "the version has no place in a status list")
    check_same("status_list_uri", (place.issuer, place.status_list), (issuer, version.status_list))
    check_same("status_list_idx", version.status_idx, place.status_idx)
    return place


def documents_of_same(
    version: CompiledVersion, request: Request, made: Evaluated, *, max_bytes: int
) -> Documents:
    """Receipt and claims of what was made again, which is what is stored, byte for byte."""
    _check_bytes("payload", version.payload, made.payload)
    _check_bytes("proof", version.proof, made.proof)
    _check_bytes("fields", version.fields, made.fields)
    _check_bytes("disclosures", version.disclosures, lines_of(made.disclosures))
    _check_bytes("gaps", version.gaps, made.gaps)
    receipt, canonical = receipt_over(request, made, max_bytes=max_bytes)
    _check_receipt(version.receipt, canonical)
    check_same("proof_root_hash", version.proof_root_hash, receipt.proof_root_hash)
    return Documents(receipt=canonical, view=claims(receipt, version.fields))


def _check_bytes(member: str, stored: bytes, made: bytes) -> None:
    if stored == made:
        return
    pairs = enumerate(zip(stored, made, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(stored), len(made)))
    raise Mismatch(member, f"from byte {at} on not what its inputs give")


def _check_receipt(stored: bytes, canonical: bytes) -> None:
    if stored == canonical:
        return
    said, made = _members(stored), _members(canonical)
    if said.keys() != made.keys():
        raise Mismatch("receipt", "it does not have the members of a receipt")
    for member, expected in made.items():
        check_same(member, said[member], expected)
    raise Mismatch("receipt", "its members are not in their canonical form")


def _members(receipt: bytes) -> dict[str, object]:
    try:
        found = canonical_json.decode(receipt) if len(receipt) <= MAX_RECEIPT_BYTES else None
    except CanonicalJsonError as error:
        raise Mismatch("receipt", str(error)) from error
    return dict(found) if isinstance(found, dict) else {}
