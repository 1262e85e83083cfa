"""Check a passport bundle part by part: what holds, and the first thing that does not."""

from collections.abc import Mapping
from dataclasses import dataclass

from bpc_worker.core import canonical_json, disclosure, qr_text, signing
from bpc_worker.core.compile import PASSPORT_SCHEMA, nested
from bpc_worker.core.hashing import sha256
from bpc_worker.core.receipt import Receipt, SignedReceipt, parse_signed, receipt_hash
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.values import published
from bpc_worker.core.snapshot import FactRef, seal
from bpc_worker.core.verify import OPAQUE, Opaque, ProofError, VerifiedProof, verify_proof

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


def verify_bundle(
    parts: Mapping[str, bytes], registry: signing.KeyRegistry, *, limits: Limits | None = None
) -> Verified:
    """Everything the bundle claims, checked; BundleError at the first thing that does not hold."""
    signed = _receipt(parts)
    checks = [("receipt", f"sha256 {receipt_hash(signed.receipt).hex()}")]
    checks.append(("signature", _signature(signed, registry)))
    proved = None
    if VIEW not in parts and PAYLOAD not in parts:
        raise BundleError(PAYLOAD, f"neither {PAYLOAD} nor {VIEW} is in the bundle")
    if VIEW in parts:
        checks.append(("view", _view(parts[VIEW], signed.receipt)))
    if PAYLOAD in parts:
        checks.append(("payload", _payload(parts[PAYLOAD], signed.receipt)))
    if PROOF in parts:
        facts = _facts(parts, signed.receipt)
        proved = _proof(parts[PROOF], signed.receipt, facts, limits)
        level = "arithmetic" if facts is None else "full, with the facts"
        checks.append(("proof", f"{len(proved.nodes)} steps, {level}"))
        if PAYLOAD in parts:
            _agree(parts[PAYLOAD], proved)
            checks.append(("fields", f"{len(proved.fields)} fields are what the proof gives"))
    if QR_TEXT in parts:
        checks.append(("qr", _qr(parts[QR_TEXT], signed.receipt)))
    return Verified(signed.receipt, tuple(checks), proved)


def _receipt(parts: Mapping[str, bytes]) -> SignedReceipt:
    if RECEIPT not in parts:
        raise BundleError(RECEIPT, "it is not in the bundle")
    try:
        return parse_signed(parts[RECEIPT])
    except ValueError as error:
        raise BundleError(RECEIPT, str(error)) from error


def _signature(signed: SignedReceipt, registry: signing.KeyRegistry) -> str:
    key_id = signed.receipt.signing_key_id
    try:
        signing.verify(registry, key_id, receipt_hash(signed.receipt), signed.signature)
    except signing.SignatureError as error:
        raise BundleError(RECEIPT, f"signature: {error}") from error
    return f"Ed25519, key {key_id}"


def _view(data: bytes, receipt: Receipt) -> str:
    try:
        found = canonical_json.decode(data)
        disclosure.verify_view(found, receipt.disclosure_root)
    except ValueError as error:
        raise BundleError(VIEW, str(error)) from error
    shown = found.get("fields") if isinstance(found, dict) else None
    audience = found.get("audience") if isinstance(found, dict) else None
    return f"{len(shown) if isinstance(shown, list) else 0} fields for {audience}"


def _payload(data: bytes, receipt: Receipt) -> str:
    found = sha256(data)
    if found != receipt.payload_hash:
        raise BundleError(
            PAYLOAD, f"its sha256 is {found.hex()}, the receipt says {receipt.payload_hash.hex()}"
        )
    return f"sha256 {found.hex()}"


def _facts(parts: Mapping[str, bytes], receipt: Receipt) -> FactSet | None:
    """The facts, if they are those of the snapshot in the receipt."""
    if FACTS not in parts:
        return None
    try:
        listed = canonical_json.decode(parts[FACTS])
        facts = [
            make_fact(str(each["fact_type"]), str(each["fact_key"]), each["payload"])
            for each in listed  # type: ignore[union-attr]  # anything else raises below
            if isinstance(each, dict) and isinstance(each["payload"], dict)
        ]
        refs = [FactRef(each.fact_type, each.fact_key, bytes.fromhex(each.payload_hash)) for each in facts]
        sealed = seal(receipt.snapshot_id, refs)
    except (ValueError, TypeError, KeyError) as error:
        raise BundleError(FACTS, f"not a list of facts: {error}") from error
    if sealed.snapshot_hash != receipt.snapshot_hash:
        found, wanted = sealed.snapshot_hash.hex(), receipt.snapshot_hash.hex()
        raise BundleError(FACTS, f"they give snapshot {found}, the receipt says {wanted}")
    return FactSet(facts)


def _proof(data: bytes, receipt: Receipt, facts: FactSet | None, limits: Limits | None) -> VerifiedProof:
    try:
        proved = verify_proof(data, law_date=receipt.law_date, facts=facts, limits=limits)
    except ProofError as error:
        raise BundleError(PROOF, str(error)) from error
    if proved.root_hash != receipt.proof_root_hash.hex():
        wanted = receipt.proof_root_hash.hex()
        raise BundleError(PROOF, f"its root hash is {proved.root_hash}, the receipt says {wanted}")
    return proved


def _agree(payload: bytes, proved: VerifiedProof) -> None:
    """The payload's fields and statements are the proof's, value by value where the value is known."""
    document = canonical_json.decode(payload)
    if not isinstance(document, dict) or document.get("schema") != PASSPORT_SCHEMA:
        raise BundleError(PAYLOAD, f"its schema is not {PASSPORT_SCHEMA}")
    for path, field in proved.fields.items():
        found = _at(document.get("fields"), path)
        if not isinstance(field.value, Opaque) and found != published(field.value):
            raise BundleError(PAYLOAD, f"field {path} is not what the proof gives")
    given: dict[str, object] = dict.fromkeys(proved.fields, OPAQUE)
    if _shape(document.get("fields"), given) != _shape(nested(given), given):
        raise BundleError(PAYLOAD, "it has other fields than the proof")
    statements = [{"code": code, "holds": holds, "message": text} for code, holds, text in proved.statements]
    if document.get("compliance") != statements:
        raise BundleError(PAYLOAD, "its compliance statements are not the proof's")


def _at(fields: object, path: str) -> object:
    place = fields
    for name in path.split("."):
        if not isinstance(place, dict) or name not in place:
            raise BundleError(PAYLOAD, f"field {path} is missing")
        place = place[name]
    return place


def _shape(place: object, known: Mapping[str, object], prefix: str = "") -> object:
    """The names of the fields, without what is inside them."""
    if prefix in known or not isinstance(place, dict):
        return None
    return {name: _shape(inner, known, f"{prefix}.{name}".removeprefix(".")) for name, inner in place.items()}


def _qr(data: bytes, receipt: Receipt) -> str:
    try:
        found = qr_text.parse(data.decode("ascii").strip())
    except ValueError as error:
        raise BundleError(QR_TEXT, str(error)) from error
    wanted = (
        receipt.passport_version_id,
        receipt.payload_hash,
        receipt.proof_root_hash,
        receipt_hash(receipt),
    )
    if (found.passport_version_id, found.payload_hash, found.proof_root_hash, found.receipt_hash) != wanted:
        raise BundleError(QR_TEXT, "it names another passport")
    return "names this passport"
