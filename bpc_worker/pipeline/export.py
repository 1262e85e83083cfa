"""The bundle of a passport version: what is handed out, and how a stranger checks it.

The same version is the same bytes, whatever has happened to its status or to the tenant's keys since.
"""

from base64 import b64encode
from dataclasses import dataclass
from importlib.resources import files
from textwrap import wrap
from uuid import UUID

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.forms import timestamp
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.bundle import BundleError, verify_bundle
from bpc_worker.core.passport.receipt import Receipt
from bpc_worker.core.passport.replay import ReplayMismatchError
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_text import ViewError
from bpc_worker.files.bundles import SOURCES, write_zip
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.replays import check_code
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.stored import StoredVersion, read_version

PUBLIC_KEY, QR_IMAGE, README = "public-key.pem", "qr.png", "README.txt"

_SPKI_ED25519 = bytes.fromhex(
    "302a300506032b6570032100"
)  # RFC 8410: what stands before the 32 bytes of the key
_PEM_WIDTH = 64


@dataclass(frozen=True, slots=True)
class Exported:
    passport_version_id: UUID
    status: str
    name: str
    data: bytes


async def export(pipeline: PipelineSession, wanted: str, audience: str | None = None) -> Exported:
    """A zip with everything, or the view of one audience; it is verified before it is handed out."""
    version = await read_version(pipeline, wanted)
    row = version.row
    try:
        parts = bundle_of(version)
        data = write_zip(parts) if audience is None else cut(version.view(), audience).encode()
    except ViewError as error:
        raise Permanent(Code.VALIDATION_ERROR, str(error)) from error
    except (BundleError, ReplayMismatchError) as error:
        hint = "`bpc-worker passport replay` says more; nothing was handed out"
        raise Permanent(Code.REPLAY_MISMATCH, f"{error}; {hint}") from error
    name = f"passport-{row.passport_version_id}" + (".zip" if audience is None else f"-{audience}.sd-jwt")
    return Exported(row.passport_version_id, row.status, name, data)


def bundle_of(version: StoredVersion) -> dict[str, bytes]:
    """The parts, verified; BundleError for what does not hold."""
    row = version.row
    if row.signature is None:
        raise Permanent(Code.VALIDATION_ERROR, f"the passport version is {row.status}: not signed yet")
    if row.qr_payload is None or row.qr_png is None:
        raise Permanent(
            Code.VALIDATION_ERROR, "its QR code is not drawn yet: GENERATE_QR follows the signature"
        )
    parts = version.parts()
    receipt = verify_bundle(parts, version.registry).receipt
    check_code(row)
    key = version.registry.key(receipt.signing_key_id, Kind.RECEIPT).public_key
    return parts | {
        SOURCES: _sources(version),
        QR_IMAGE: row.qr_png,
        PUBLIC_KEY: _public_key(receipt.signing_key_id, key),
        README: _readme(receipt),
    }


def _sources(version: StoredVersion) -> bytes:
    listed = [
        {"fact_type": fact_type, "fact_key": fact_key, "pointers": places}
        for (fact_type, fact_key), places in sorted(version.places().items())
    ]
    return canonical_json.encode(listed)


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
    template = files("bpc_worker.pipeline") / "bundle_texts" / "full.txt"
    text = template.read_text(encoding="utf-8")
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
