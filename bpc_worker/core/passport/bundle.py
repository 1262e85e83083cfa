"""Check the bundle of an archive part by part: what holds, and the first thing that does not.

It has all that a passport was made from, so it is made again here: a signature alone does not tell that the
rules say so.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bpc_worker.core.base import canonical_json, signing
from bpc_worker.core.base.forms import FormError, members, parse_list, parse_text, read, shown
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport import qr_text
from bpc_worker.core.passport.compile import COMPILER_BUILD_ID, Evaluated
from bpc_worker.core.passport.found_salts import found_salts
from bpc_worker.core.passport.receipt import Receipt, SignedReceipt, parse_signed, receipt_bytes, receipt_hash
from bpc_worker.core.passport.replay import ReplayMismatchError, Stored, replay
from bpc_worker.core.passport.snapshot import FactRef, SealedSnapshot, check_facts, open_snapshot
from bpc_worker.core.passport.view_check import VerifiedView, verify_view
from bpc_worker.core.proof.verify import ProofError, VerifiedProof, verify_proof
from bpc_worker.core.proof.whole import shortened
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact

RECEIPT, PAYLOAD, PROOF = "receipt.json", "payload.json", "proof.json"
SNAPSHOT, FACTS, RULES = "snapshot.json", "facts.json", "rules.txt"
VIEW, QR_TEXT = "view.sd-jwt", "qr.txt"
NEEDED = (RECEIPT, SNAPSHOT, FACTS, RULES, PROOF, PAYLOAD, VIEW)
KNOWN = frozenset({*NEEDED, QR_TEXT})

_PART_OF = {
    "payload": PAYLOAD, "proof": PROOF, "view": VIEW, "facts": FACTS, "snapshot": SNAPSHOT, "rules": RULES,
}  # fmt: skip


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
    proof: VerifiedProof
    view: VerifiedView
    unchecked: tuple[str, ...]  # files that nothing was found out about
    gaps: bytes  # what the law asks for and it lacks, as its rules and facts give it


def verify_bundle(
    parts: Mapping[str, bytes], registry: signing.KeyRegistry, *, limits: Limits | None = None
) -> Verified:
    """Everything the bundle claims, checked; BundleError at the first thing that does not hold."""
    for name in NEEDED:
        if name not in parts:
            raise BundleError(name, "it is not in the bundle")
    signed = _receipt(parts[RECEIPT])
    receipt = signed.receipt
    checks = [("receipt", f"sha256 {receipt_hash(receipt).hex()}")]
    checks.append(("signature", _signature(signed, registry)))
    snapshot = _snapshot(parts[SNAPSHOT], receipt)
    facts = _facts(parts[FACTS], snapshot)
    checks.append(("facts", f"{len(facts)}, those of the snapshot"))
    rules = _rules(parts[RULES], receipt, limits)
    with _part(PROOF):
        proof = shortened(parts[PROOF])
    proved = _proof(proof, receipt, FactSet(facts), limits)
    checks.append(("proof", f"{len(proved.nodes)} steps, full, with the facts"))
    view = _view(parts[VIEW], registry)
    made = _made_again({**parts, PROOF: proof}, signed, facts, rules, view, registry, limits)
    checks.append(("payload", f"{len(proved.fields)} fields, as the rules give them"))
    checks.append(("view", f"{len(view.fields)} disclosures of fields and statements, all there are"))
    if QR_TEXT in parts:
        checks.append(("qr", _qr(parts[QR_TEXT], receipt)))
    return Verified(receipt, tuple(checks), proved, view, tuple(sorted(set(parts) - KNOWN)), made.gaps)


@contextmanager
def _part(name: str) -> Iterator[None]:
    """Errors of what is read inside, as errors of this part of the bundle."""
    try:
        yield
    except (ValueError, ProofError, RuleError) as error:
        raise BundleError(name, str(error)) from error


def _receipt(data: bytes) -> SignedReceipt:
    with _part(RECEIPT):
        return parse_signed(data)


def _signature(signed: SignedReceipt, registry: signing.KeyRegistry) -> str:
    key_id = signed.receipt.signing_key_id
    with _part(RECEIPT):
        signing.verify(registry, key_id, Kind.RECEIPT, receipt_bytes(signed.receipt), signed.signature)
    return f"Ed25519, key {key_id}"


def _snapshot(data: bytes, receipt: Receipt) -> SealedSnapshot:
    with _part(SNAPSHOT):
        return open_snapshot(data, receipt.snapshot_hash)


def _facts(data: bytes, snapshot: SealedSnapshot) -> list[Fact]:
    """The facts, which are those of the snapshot."""
    with _part(FACTS):
        facts = parse_list(_fact)(canonical_json.decode(data))
        refs = (FactRef(each.fact_type, each.fact_key, bytes.fromhex(each.payload_hash)) for each in facts)
        check_facts(snapshot, refs)
        return facts


def _fact(value: object) -> Fact:
    found = members(value, ("fact_type", "fact_key", "payload"))
    payload = found["payload"]
    if not isinstance(payload, dict):
        raise FormError("/payload", f"expected an object, found {shown(payload)}")
    return make_fact(read(found, "fact_type", parse_text), read(found, "fact_key", parse_text), payload)


def _rules(data: bytes, receipt: Receipt, limits: Limits | None) -> TypedModule:
    with _part(RULES):
        _expect("its sha256 is", sha256(data), receipt.dsl_sha256)
        return load(data.decode(), limits)


def _proof(data: bytes, receipt: Receipt, facts: FactSet, limits: Limits | None) -> VerifiedProof:
    with _part(PROOF):
        if receipt.compiler_build_id != COMPILER_BUILD_ID:
            made = f"made by {receipt.compiler_build_id}"
            raise FormError("", f"{made}; this release computes as {COMPILER_BUILD_ID} does")
        proved = verify_proof(data, law_date=receipt.law_date, facts=facts, limits=limits)
        _expect("its root hash is", bytes.fromhex(proved.root_hash), receipt.proof_root_hash)
        return proved


def _view(data: bytes, registry: signing.KeyRegistry) -> VerifiedView:
    with _part(VIEW):
        found = verify_view(data.decode("ascii", "replace"), registry)
        if not found.is_whole:
            raise FormError(
                "/disclosures", f"not all are there: it is the view of {', '.join(found.complete)}"
            )
        return found


def _made_again(
    parts: Mapping[str, bytes],
    signed: SignedReceipt,
    facts: list[Fact],
    rules: TypedModule,
    view: VerifiedView,
    registry: signing.KeyRegistry,
    limits: Limits | None,
) -> Evaluated:
    with _part(PAYLOAD):
        salts = found_salts(canonical_json.decode(parts[PAYLOAD]), parts[PROOF], view.text)
    stored = Stored(
        signed=signed,
        payload=parts[PAYLOAD],
        proof=parts[PROOF],
        view=parts[VIEW].decode("ascii"),
        snapshot=parts[SNAPSHOT],
        facts=tuple(facts),
        rules=rules,
        salts=salts,
    )
    try:
        return replay(stored, registry, limits=limits)
    except ReplayMismatchError as error:
        raise BundleError(_PART_OF.get(error.what, RECEIPT), error.message) from error


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
