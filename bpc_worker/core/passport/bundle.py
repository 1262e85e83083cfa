"""Check a passport bundle part by part: what holds, and the first thing that does not."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bpc_worker.core.base import canonical_json, signing
from bpc_worker.core.base.forms import FormError, members, parse_list, parse_text, read, shown
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport import disclosure, qr_text
from bpc_worker.core.passport.agreement import (
    check_payload,
    check_view_with_payload,
    check_view_with_proof,
    view_leaves,
)
from bpc_worker.core.passport.compile import COMPILER_BUILD_ID
from bpc_worker.core.passport.receipt import Receipt, SignedReceipt, parse_signed, receipt_bytes, receipt_hash
from bpc_worker.core.passport.snapshot import FactRef, seal
from bpc_worker.core.proof.verify import ProofError, VerifiedProof, verify_proof
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.values import Fact

RECEIPT, PAYLOAD, PROOF = "receipt.json", "payload.json", "proof.json"
VIEW, FACTS, QR_TEXT = "view.json", "facts.json", "qr.txt"
KNOWN = frozenset({RECEIPT, PAYLOAD, PROOF, VIEW, FACTS, QR_TEXT})


class BundleError(Exception):
    """The bundle does not hold; `part` names the file in it."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(f"{part}: {message}")
        self.part = part
        self.message = message


@dataclass(frozen=True, slots=True)
class Verified:
    receipt: Receipt
    checks: tuple[tuple[str, str], ...]  # (what, how it was found)
    proof: VerifiedProof | None
    unchecked: tuple[str, ...]  # files that nothing was found out about


def verify_bundle(
    parts: Mapping[str, bytes], registry: signing.KeyRegistry, *, limits: Limits | None = None
) -> Verified:
    """Everything the bundle claims, checked; BundleError at the first thing that does not hold."""
    signed = _receipt(parts)
    receipt = signed.receipt
    checks = [("receipt", f"sha256 {receipt_hash(receipt).hex()}")]
    checks.append(("signature", _signature(signed, registry)))
    if VIEW not in parts and PAYLOAD not in parts:
        raise BundleError(PAYLOAD, f"neither {PAYLOAD} nor {VIEW} is in the bundle")
    facts = _facts(parts[FACTS], receipt) if FACTS in parts else None
    if facts is not None:
        checks.append(("facts", "those of the snapshot"))
    proved = _proof(parts[PROOF], receipt, facts, limits) if PROOF in parts else None
    if proved is not None:
        level = "arithmetic" if facts is None else "full, with the facts"
        checks.append(("proof", f"{len(proved.nodes)} steps, {level}"))
    payload = _payload(parts[PAYLOAD], receipt, proved) if PAYLOAD in parts else None
    if payload is not None:
        agreed = "" if proved is None else f", {len(proved.fields)} fields as the proof gives them"
        checks.append(("payload", f"as signed{agreed}"))
    if VIEW in parts:
        checks.append(("view", _view(parts[VIEW], receipt, proved, payload)))
    if QR_TEXT in parts:
        checks.append(("qr", _qr(parts[QR_TEXT], receipt)))
    return Verified(receipt, tuple(checks), proved, tuple(sorted(set(parts) - KNOWN)))


@contextmanager
def _part(name: str) -> Iterator[None]:
    """Errors of what is read inside, as errors of this part of the bundle."""
    try:
        yield
    except (ValueError, ProofError) as error:
        raise BundleError(name, str(error)) from error


def _receipt(parts: Mapping[str, bytes]) -> SignedReceipt:
    if RECEIPT not in parts:
        raise BundleError(RECEIPT, "it is not in the bundle")
    with _part(RECEIPT):
        return parse_signed(parts[RECEIPT])


def _signature(signed: SignedReceipt, registry: signing.KeyRegistry) -> str:
    key_id = signed.receipt.signing_key_id
    with _part(RECEIPT):
        signing.verify(registry, key_id, Kind.RECEIPT, receipt_bytes(signed.receipt), signed.signature)
    return f"Ed25519, key {key_id}"


def _facts(data: bytes, receipt: Receipt) -> FactSet:
    """The facts, which are those of the snapshot in the receipt."""
    with _part(FACTS):
        facts = parse_list(_fact)(canonical_json.decode(data))
        refs = [FactRef(each.fact_type, each.fact_key, bytes.fromhex(each.payload_hash)) for each in facts]
        found = seal(receipt.snapshot_id, refs).snapshot_hash
        _expect("they give the snapshot hash", found, receipt.snapshot_hash)
        return FactSet(facts)


def _fact(value: object) -> Fact:
    found = members(value, ("fact_type", "fact_key", "payload"))
    payload = found["payload"]
    if not isinstance(payload, dict):
        raise FormError("/payload", f"expected an object, found {shown(payload)}")
    return make_fact(read(found, "fact_type", parse_text), read(found, "fact_key", parse_text), payload)


def _proof(data: bytes, receipt: Receipt, facts: FactSet | None, limits: Limits | None) -> VerifiedProof:
    with _part(PROOF):
        if receipt.compiler_build_id != COMPILER_BUILD_ID:
            made = f"made by {receipt.compiler_build_id}"
            raise FormError("", f"{made}; this release computes as {COMPILER_BUILD_ID} does")
        proved = verify_proof(data, law_date=receipt.law_date, facts=facts, limits=limits)
        _expect("its root hash is", bytes.fromhex(proved.root_hash), receipt.proof_root_hash)
        return proved


def _payload(data: bytes, receipt: Receipt, proved: VerifiedProof | None) -> dict[str, object]:
    with _part(PAYLOAD):
        payload = check_payload(canonical_json.decode(data), receipt, proved)
        _expect("its sha256 is", sha256(data), receipt.payload_hash)  # last: it cannot say which field
        return payload


def _view(
    data: bytes, receipt: Receipt, proved: VerifiedProof | None, payload: Mapping[str, object] | None
) -> str:
    with _part(VIEW):
        found = canonical_json.decode(data)
        disclosure.verify_view(found, receipt.disclosure_root)
        view = members(found, ("disclosure_version", "audience", "tree_size", "fields"))
        if proved is not None:
            check_view_with_proof(view, proved)
        if payload is not None:
            check_view_with_payload(view, payload)
        return f"{len(view_leaves(view))} fields for {view['audience']}"


def _qr(data: bytes, receipt: Receipt) -> str:
    with _part(QR_TEXT):
        expected = qr_text.qr_text(
            passport_version_id=receipt.passport_version_id,
            payload_hash=receipt.payload_hash,
            proof_root_hash=receipt.proof_root_hash,
            receipt_hash=receipt_hash(receipt),
        )
        if data != expected.encode("ascii"):
            raise FormError("", f"expected {expected}, found {shown(data.decode('utf-8', 'replace'))}")
    return "names this passport"


def _expect(what: str, found: bytes, wanted: bytes) -> None:
    if found != wanted:
        raise FormError("", f"{what} {found.hex()}, the receipt says {wanted.hex()}")
