"""Whether a version may come into force: its row is what SIGN_PASSPORT compared and what its receipt says."""

from collections.abc import Mapping

from bpc_worker.core.base import signing
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.base.forms import FormError
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.disclosures import from_lines
from bpc_worker.core.passport.receipt import Receipt, parse_receipt, status_list_uri
from bpc_worker.core.passport.view import assemble, claims, jws
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.domain.event_chain import StoredChain
from bpc_worker.domain.mismatch import Mismatch, check_same
from bpc_worker.domain.records import CompiledVersion
from bpc_worker.handler_api import Code, Permanent

# What a row says beside its receipt, under the same names.
COLUMNS = (
    "passport_version_id", "tenant_id", "passport_id", "snapshot_id", "rule_package_version_id",
    "compiler_build_id", "law_date", "issued_at", "signing_key_id", "unique_identifier", "payload_hash",
    "proof_root_hash",
)  # fmt: skip


def compared(version: CompiledVersion) -> dict[str, str]:
    """What was made again before it was signed, as PASSPORT_SIGNED names them; all have salts."""
    return {
        "payload": sha256(version.payload).hex(),
        "proof": sha256(version.proof).hex(),
        "fields": sha256(version.fields).hex(),
        "disclosures": sha256(version.disclosures).hex(),
        "gaps": sha256(version.gaps).hex(),
    }


def check_signed(version: CompiledVersion, registry: signing.KeyRegistry, chain: StoredChain) -> None:
    """SIGNATURE_INVALID, or RECEIPT_MISMATCH with the member."""
    check_same("receipt", sha256(version.receipt), version.receipt_hash)
    _check_signature(version, registry)
    receipt = _receipt(version)
    for column in COLUMNS:
        check_same(column, getattr(version, column), getattr(receipt, column))
    uri = status_list_uri(receipt.issuer, version.status_list)
    check_same("status_list_uri", uri, receipt.status_list_uri)
    check_same("status_list_idx", version.status_idx, receipt.status_list_idx)
    check_same("payload", sha256(version.payload), receipt.payload_hash)
    check_same("fields", sha256(version.fields), receipt.fields_sha256)
    _check_view(version, receipt, registry)
    _check_compared(version, chain)


def _check_signature(version: CompiledVersion, registry: signing.KeyRegistry) -> None:
    signature = version.signature or b""
    try:
        signing.verify(registry, version.signing_key_id, Kind.RECEIPT, version.receipt, signature)
    except signing.SignatureError as error:
        raise Permanent(Code.SIGNATURE_INVALID, error.message) from error


def _receipt(version: CompiledVersion) -> Receipt:
    try:
        return parse_receipt(version.receipt)
    except (CanonicalJsonError, FormError) as error:
        raise Mismatch("receipt", str(error)) from error


def _check_view(version: CompiledVersion, receipt: Receipt, registry: signing.KeyRegistry) -> None:
    """It is signed, follows from the receipt, and all of its disclosures are there, each as it was signed."""
    signature, key_id = version.view_signature or b"", version.signing_key_id
    try:
        signed = claims(receipt, version.fields)
        signing.verify(registry, key_id, Kind.VIEW, signed, signature)
        whole = assemble(jws(signed, key_id, signature), from_lines(version.disclosures))
        if not verify_view(whole, registry).is_whole:
            raise Mismatch("disclosures", "some are missing")
    except signing.SignatureError as error:
        raise Permanent(Code.SIGNATURE_INVALID, f"the view: {error.message}") from error
    except (CanonicalJsonError, FormError) as error:
        raise Mismatch("disclosures", str(error)) from error


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
