"""BPC-REPLAY-1: make a passport again from its inputs, and say whether and where it differs."""

from collections.abc import Sequence
from dataclasses import dataclass

from bpc_worker.core.base import signing
from bpc_worker.core.base.canonical_json import CanonicalJsonError, decode
from bpc_worker.core.base.differences import first_difference
from bpc_worker.core.base.forms import shown
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.compile import (
    COMPILER_BUILD_ID,
    CompileError,
    Evaluated,
    Identity,
    Sizes,
    evaluate_passport,
    receipt_of,
)
from bpc_worker.core.passport.disclosures import parse_disclosure
from bpc_worker.core.passport.receipt import Receipt, SignedReceipt, receipt_bytes, signed_receipt_bytes
from bpc_worker.core.passport.salts import SaltError, SaltSource
from bpc_worker.core.passport.snapshot import SealedSnapshot, SnapshotError, open_snapshot
from bpc_worker.core.passport.view import claims
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.core.passport.view_text import ViewError, ViewText
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact


class ReplayMismatchError(Exception):
    """What was stored is not what its inputs give; `what` says which part."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(f"REPLAY_MISMATCH {what}: {message}")
        self.what = what
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was kept of a passport version, and what it was made from."""

    signed: SignedReceipt
    payload: bytes
    proof: bytes
    view: str  # with all disclosures
    snapshot: bytes
    facts: tuple[Fact, ...]
    rules: TypedModule
    salts: SaltSource


def replay(
    stored: Stored,
    registry: signing.KeyRegistry,
    *,
    limits: Limits | None = None,
    sizes: Sizes | None = None,
) -> Evaluated:
    """The passport, made again; ReplayMismatchError at the first part that differs."""
    receipt = stored.signed.receipt
    if receipt.compiler_build_id != COMPILER_BUILD_ID:
        known = f"this release knows {COMPILER_BUILD_ID}; the changelog says which release knows others"
        raise ReplayMismatchError("build", f"made by {receipt.compiler_build_id}: {known}")
    _check_rules(stored.rules, receipt)
    snapshot = _snapshot(stored)
    made = _made(stored, snapshot, limits, sizes)
    _same_json("payload", stored.payload, made.payload)
    _same_json("proof", stored.proof, made.proof)
    # Last of these: what differs here, and nowhere above, is a salt that came with the payload.
    _same_hash("payload", "/salt", sha256(made.payload), receipt.payload_hash)
    _same_hash("proof", "/root_hash", made.proof_root, receipt.proof_root_hash)
    _same_receipt(stored.signed, receipt_of(_identity(receipt), snapshot, made))
    _check_signatures(stored, made, registry)
    return made


def _check_rules(rules: TypedModule, receipt: Receipt) -> None:
    _same_hash("rules", "the text", sha256(rules.source.encode()), receipt.dsl_sha256)
    tests = text_of_tests(rules.source)
    _same_hash("rules", "its tests", sha256(tests.encode()), receipt.tests_sha256)


def _snapshot(stored: Stored) -> SealedSnapshot:
    try:
        return open_snapshot(stored.snapshot, stored.signed.receipt.snapshot_hash)
    except SnapshotError as error:
        raise ReplayMismatchError("snapshot", str(error)) from error


def _made(stored: Stored, snapshot: SealedSnapshot, limits: Limits | None, sizes: Sizes | None) -> Evaluated:
    try:
        return evaluate_passport(
            snapshot,
            stored.facts,
            stored.rules,
            _identity(stored.signed.receipt),
            salts=stored.salts,
            limits=limits,
            sizes=sizes,
        )
    except RuleError as error:
        raise ReplayMismatchError("rules", str(error)) from error
    except CompileError as error:
        what = "facts" if error.code == "SNAPSHOT_NOT_READY" else "rules"
        raise ReplayMismatchError(what, str(error)) from error
    except SaltError as error:
        raise ReplayMismatchError("view", str(error)) from error


def _identity(receipt: Receipt) -> Identity:
    return Identity(
        tenant_id=receipt.tenant_id,
        passport_id=receipt.passport_id,
        battery_product_id=receipt.battery_product_id,
        rule_package_version_id=receipt.rule_package_version_id,
        dsl_sha256=receipt.dsl_sha256,
        tests_sha256=receipt.tests_sha256,
        signing_key_id=receipt.signing_key_id,
        law_date=receipt.law_date,
        issued_at=receipt.issued_at,
        unique_identifier=receipt.unique_identifier,
        status_list_uri=receipt.status_list_uri,
        status_list_idx=receipt.status_list_idx,
        rules_name=receipt.rules_name,
        compiler_build_id=receipt.compiler_build_id,
    )


def _same_json(what: str, stored: bytes, made: bytes) -> None:
    """With the place where they differ first."""
    if stored == made:
        return
    try:
        found = first_difference(decode(stored), decode(made))
    except CanonicalJsonError as error:
        raise ReplayMismatchError(what, str(error)) from error
    place, reason = found or ("", "other bytes")
    raise ReplayMismatchError(what, f"{place}: the rules do not give this: {reason}")


def _same_receipt(stored: SignedReceipt, made: Receipt) -> None:
    """With the member in which they differ."""
    same = SignedReceipt(made, stored.signature)
    _same_json("receipt", signed_bytes(stored), signed_bytes(same))


def signed_bytes(signed: SignedReceipt) -> bytes:
    return signed_receipt_bytes(signed.receipt, signed.signature)


def _check_signatures(stored: Stored, made: Evaluated, registry: signing.KeyRegistry) -> None:
    receipt = stored.signed.receipt
    try:
        document, signature = receipt_bytes(receipt), stored.signed.signature
        signing.verify(registry, receipt.signing_key_id, Kind.RECEIPT, document, signature)
    except signing.SignatureError as error:
        raise ReplayMismatchError("signature", str(error)) from error
    try:
        view = verify_view(stored.view, registry).text
    except ViewError as error:
        raise ReplayMismatchError("view", str(error)) from error
    if view.key_id != receipt.signing_key_id:
        raise ReplayMismatchError("view", f"/header/kid: signed by {view.key_id}, not by the receipt's key")
    check_view(view, receipt, made.fields, made.disclosures)


def check_view(view: ViewText, receipt: Receipt, fields: bytes, disclosures: Sequence[str]) -> None:
    """It says what receipt and disclosures say, and has them all."""
    expected = claims(receipt, fields)
    if view.canonical_claims != expected:
        place, reason = first_difference(decode(view.canonical_claims), decode(expected)) or (
            "",
            "other bytes",
        )
        raise ReplayMismatchError("view", f"/claims{place}: {reason}")
    if view.disclosures != tuple(disclosures):
        raise ReplayMismatchError("view", _differing(view.disclosures, disclosures))


def _differing(found: Sequence[str], expected: Sequence[str]) -> str:
    """Which disclosure is another one; what is not signed by digest cannot come here but by order."""
    pairs = zip(found, expected, strict=False)
    at = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(found), len(expected)))
    name = f"that of {shown(parse_disclosure(expected[at]).name)}" if at < len(expected) else "nothing"
    return f"/disclosures/{at}: expected {name} here"


def _same_hash(what: str, name: str, found: bytes, expected: bytes) -> None:
    if found != expected:
        raise ReplayMismatchError(what, f"{name}: sha256 {found.hex()}, the receipt says {expected.hex()}")
