"""The bundle of a passport version: what is kept in archives, and how a stranger checks it.

The same version is the same bytes, whatever has happened to its status or to the tenant's keys since.
"""

from base64 import b64encode
from importlib.resources import files
from textwrap import wrap

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.forms import timestamp
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.bundle import verify_bundle
from bpc_worker.core.passport.qr_text import qr_text
from bpc_worker.core.passport.receipt import Receipt
from bpc_worker.core.passport.replay import ReplayMismatchError
from bpc_worker.domain.stored import Row, StoredVersion
from bpc_worker.files.bundles import SOURCES
from bpc_worker.handler_api import Code, Permanent

PUBLIC_KEY, QR_IMAGE, README = "public-key.pem", "qr.png", "README.txt"

_SPKI_ED25519 = bytes.fromhex(
    "302a300506032b6570032100"
)  # RFC 8410: what stands before the 32 bytes of the key
_PEM_WIDTH = 64
# Read with the module: a child that makes bundles reads no files.
_TEXT = (files("bpc_worker.domain") / "bundle_texts" / "full.txt").read_text(encoding="utf-8")


def bundle_of(version: StoredVersion) -> dict[str, bytes]:
    """The parts, verified; BundleError or ReplayMismatchError for what does not hold."""
    row = version.row
    if row.qr_payload is None or row.qr_png is None:
        raise Permanent(
            Code.VALIDATION_ERROR, "its QR code is not drawn yet: GENERATE_QR follows the signature"
        )
    parts = version.parts()
    registry = version.registry
    receipt = verify_bundle(parts, registry).receipt
    check_code(row)
    key = registry.key(receipt.signing_key_id, Kind.RECEIPT).public_key
    return parts | {
        SOURCES: _sources(version),
        QR_IMAGE: row.qr_png,
        PUBLIC_KEY: _public_key(receipt.signing_key_id, key),
        README: _readme(receipt),
    }


def check_code(row: Row) -> None:
    """The text of the code, and every module of its picture; how the picture is packed does not matter."""
    if row.qr_payload is None or row.qr_png is None:
        return
    expected = qr_text(
        passport_version_id=row.passport_version_id,
        payload_hash=row.payload_hash,
        proof_root_hash=row.proof_root_hash,
        receipt_hash=row.receipt_hash,
    )
    if row.qr_payload != expected:
        raise ReplayMismatchError("qr", f"qr_payload: stored {row.qr_payload}, expected {expected}")
    from bpc_worker.domain.qr_image import qr_png, same_picture

    drawn = qr_png(expected)
    if row.qr_png != drawn and not same_picture(row.qr_png, drawn):
        raise ReplayMismatchError("qr", "the picture is not that of the code")


def _sources(version: StoredVersion) -> bytes:
    """Documents by their ids: the hash of one, which has no salt, stays in the house."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in version.sources:
        place = f"{each.document} {each.pointer} (version {each.document_version_id})"
        found.setdefault((each.fact_type, each.fact_key), []).append(place)
    return canonical_json.encode(
        [
            {"fact_type": fact_type, "fact_key": fact_key, "pointers": places}
            for (fact_type, fact_key), places in sorted(found.items())
        ]
    )


def _public_key(key_id: str, public_key: bytes) -> bytes:
    """PEM (RFC 7468), which may have words before its first line."""
    body = "\n".join(wrap(b64encode(_SPKI_ED25519 + public_key).decode("ascii"), _PEM_WIDTH))
    words = (
        f"Ed25519 public key {_plain(key_id)}, as the receipt names it.\n"
        "A convenience: it proves nothing until you have compared it with what the issuer says,\n"
        "by a way you trust.\n"
    )
    return f"{words}-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n".encode()


def _readme(receipt: Receipt) -> bytes:
    text = _TEXT
    for name, value in (
        ("PASSPORT_ID", str(receipt.passport_id)),
        ("PASSPORT_VERSION_ID", str(receipt.passport_version_id)),
        ("ISSUED_AT", timestamp(receipt.issued_at)),
        ("SIGNING_KEY_ID", _plain(receipt.signing_key_id)),  # last: what is in it is not looked at again
    ):
        text = text.replace(f"@{name}@", value)
    return text.encode()


def _plain(text: str) -> str:
    """On one line, and no command: it stands among words that people copy from."""
    return "".join(letter if letter.isprintable() and letter != "`" else "?" for letter in text)
