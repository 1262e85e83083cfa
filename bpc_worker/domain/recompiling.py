"""Make a passport version again before it is signed; the worker itself compares, and builds what is signed.

A child's answer is never signed. It is one of two, of children that never shared a process, and counts for
nothing unless both are the same bytes.
"""

from dataclasses import fields
from datetime import UTC

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.passport.compile import COMPILER_BUILD_ID, Identity, receipt_of, version_id
from bpc_worker.core.passport.receipt import MAX_RECEIPT_BYTES, Receipt, receipt_bytes
from bpc_worker.domain.compile_inputs import CompileInputs
from bpc_worker.domain.compiling import Request, Response
from bpc_worker.domain.event_chain import StoredChain
from bpc_worker.domain.mismatch import Mismatch, check_same
from bpc_worker.domain.records import CompiledVersion
from bpc_worker.handler_api import Policy


def check_told(inputs: CompileInputs, *, sealed: StoredChain, published: StoredChain) -> None:
    """Snapshot and rules count by the events that told of them: a row alone is anybody's."""
    _check_told("snapshot_hash", inputs.snapshot.snapshot_hash, sealed, "SNAPSHOT_SEALED")
    _check_told("dsl_sha256", inputs.rules.dsl_sha256, published, "RULES_PUBLISHED")


def _check_told(member: str, digest: bytes, chain: StoredChain, event_type: str) -> None:
    if flaw := chain.flaw():
        raise Mismatch(member, f"its chain of events is not whole: {flaw}")
    if not any(told.get(member) == digest.hex() for told in chain.payloads(event_type)):
        raise Mismatch(member, f"no event {event_type} names {digest.hex()}")


def identity_of(version: CompiledVersion, inputs: CompileInputs) -> Identity:
    """Whose version it is by its row; its id says so, too."""
    check_same("compiler_build_id", version.compiler_build_id, COMPILER_BUILD_ID)
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
    )
    expected = version_id(identity, version.snapshot_id)
    check_same("passport_version_id", version.passport_version_id, expected)
    return identity


def request_of(
    version: CompiledVersion, inputs: CompileInputs, identity: Identity, policy: Policy
) -> Request:
    return Request(
        identity=identity,
        snapshot=inputs.snapshot.canonical,
        snapshot_hash=inputs.snapshot.snapshot_hash,
        facts=inputs.facts,
        dsl=inputs.rules.dsl,
        disclosure_seed=version.disclosure_seed,
        payload_bytes=policy.payload_bytes,
        proof_bytes=policy.proof_bytes,
        receipt_bytes=policy.receipt_bytes,
    )


def receipt_of_same(
    version: CompiledVersion, inputs: CompileInputs, identity: Identity, made: Response
) -> bytes:
    """The receipt of what was made again, which is what is stored, byte for byte."""
    _check_bytes("payload", version.payload, made.payload)
    _check_bytes("proof", version.proof, made.proof)
    receipt = receipt_of(
        identity, inputs.snapshot, version.payload, made.proof_root_hash, made.disclosure_root
    )
    _check_receipt(version.receipt, receipt)
    for column in ("payload_hash", "proof_root_hash", "disclosure_root"):
        check_same(column, getattr(version, column), getattr(receipt, column))
    return receipt_bytes(receipt)


def _check_bytes(member: str, stored: bytes, made: bytes) -> None:
    if stored == made:
        return
    pairs = enumerate(zip(stored, made, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(stored), len(made)))
    raise Mismatch(member, f"from byte {at} on not what its inputs give")


def _check_receipt(stored: bytes, expected: Receipt) -> None:
    canonical = receipt_bytes(expected)
    if stored == canonical:
        return
    said, made = _members(stored), _members(canonical)
    if said.keys() != made.keys():
        raise Mismatch("receipt", "it does not have the members of a receipt")
    for member in (each.name for each in fields(expected)):
        check_same(member, said[member], made[member])
    raise Mismatch("receipt", "its members are not in their canonical form")


def _members(receipt: bytes) -> dict[str, object]:
    try:
        found = canonical_json.decode(receipt) if len(receipt) <= MAX_RECEIPT_BYTES else None
    except CanonicalJsonError as error:
        raise Mismatch("receipt", str(error)) from error
    return dict(found) if isinstance(found, dict) else {}
