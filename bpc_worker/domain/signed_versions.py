"""Whether a version may come into force: its row is what SIGN_PASSPORT compared and what its receipt says."""

from collections.abc import Mapping

from bpc_worker.core.base import canonical_json, signing
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.base.forms import FormError, signature_text
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.receipt import Receipt, parse_signed
from bpc_worker.domain.event_chain import StoredChain
from bpc_worker.domain.mismatch import Mismatch, check_same
from bpc_worker.domain.records import CompiledVersion
from bpc_worker.handler_api import Code, Permanent

# What a row says beside its receipt.
COLUMNS = (
    "passport_version_id", "tenant_id", "passport_id", "snapshot_id", "rule_package_version_id",
    "compiler_build_id", "law_date", "issued_at", "signing_key_id", "payload_hash", "proof_root_hash",
    "disclosure_root",
)  # fmt: skip


def compared(version: CompiledVersion) -> dict[str, str]:
    """The bytes that were made again before they were signed, as PASSPORT_SIGNED names them."""
    return {"payload": sha256(version.payload).hex(), "proof": sha256(version.proof).hex()}


def check_signed(version: CompiledVersion, registry: signing.KeyRegistry, chain: StoredChain) -> None:
    """SIGNATURE_INVALID, or RECEIPT_MISMATCH with the member."""
    check_same("receipt", sha256(version.receipt), version.receipt_hash)
    _check_signature(version, registry)
    receipt = _receipt(version)
    for column in COLUMNS:
        check_same(column, getattr(version, column), getattr(receipt, column))
    check_same("payload", sha256(version.payload), receipt.payload_hash)
    _check_compared(version, chain)


def _check_signature(version: CompiledVersion, registry: signing.KeyRegistry) -> None:
    try:
        signature = version.signature or b""
        signing.verify(registry, version.signing_key_id, Kind.RECEIPT, version.receipt, signature)
    except signing.SignatureError as error:
        raise Permanent(Code.SIGNATURE_INVALID, error.message) from error


def _receipt(version: CompiledVersion) -> Receipt:
    try:
        members = canonical_json.decode(version.receipt)
        if not isinstance(members, dict):
            raise Mismatch("receipt", "it is no object")
        signature = signature_text(version.signature or b"")
        return parse_signed(canonical_json.encode(members | {"signature": signature})).receipt
    except (CanonicalJsonError, FormError) as error:
        raise Mismatch("receipt", str(error)) from error


def _check_compared(version: CompiledVersion, chain: StoredChain) -> None:
    """Who signs tells what was compared, in the transaction of the signature; the chain keeps it."""
    if flaw := chain.flaw():
        raise Mismatch("receipt_hash", f"the passport's chain of events is not whole: {flaw}")
    said = [told for told in chain.payloads("PASSPORT_SIGNED") if _is_of(told, version)]
    if not said:
        raise Mismatch("receipt_hash", "no event PASSPORT_SIGNED tells that this was compared and signed")
    for member, digest in compared(version).items():
        if not any(_compared(told).get(member) == digest for told in said):
            raise Mismatch(member, "it is not what was compared before it was signed")


def _is_of(told: Mapping[str, object], version: CompiledVersion) -> bool:
    return (told.get("passport_version_id"), told.get("receipt_hash")) == (
        str(version.passport_version_id),
        version.receipt_hash.hex(),
    )


def _compared(told: Mapping[str, object]) -> Mapping[str, object]:
    found = told.get("compared")
    return found if isinstance(found, dict) else {}
