"""The bundle of a passport version: what is handed out, and how a stranger checks it.

The same version is the same bytes, whatever has happened to its status or to the tenant's keys since.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from textwrap import wrap
from uuid import UUID

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.audience import Audience
from bpc_worker.core.base.forms import timestamp
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport import bundle, disclosure
from bpc_worker.core.passport.bundle import BundleError, Verified, verify_bundle
from bpc_worker.core.passport.receipt import Receipt
from bpc_worker.core.passport.replay import ReplayMismatchError
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
    """A zip with everything, or with the view of one audience; it is verified before it is handed out."""
    version = await read_version(pipeline, wanted)
    row = version.row
    try:
        parts = bundle_of(version, audience)
    except (BundleError, ReplayMismatchError) as error:
        hint = "`bpc-worker passport replay` says more; nothing was handed out"
        raise Permanent(Code.REPLAY_MISMATCH, f"{error}; {hint}") from error
    name = f"passport-{row.passport_version_id}{'' if audience is None else f'-{audience}'}.zip"
    return Exported(row.passport_version_id, row.status, name, write_zip(parts))


def bundle_of(version: StoredVersion, audience: str | None) -> dict[str, bytes]:
    """The parts, verified; BundleError for what does not hold."""
    row = version.row
    if row.signature is None:
        raise Permanent(Code.VALIDATION_ERROR, f"the passport version is {row.status}: not signed yet")
    if row.qr_payload is None or row.qr_png is None:
        raise Permanent(
            Code.VALIDATION_ERROR, "its QR code is not drawn yet: GENERATE_QR follows the signature"
        )
    parts = version.parts()
    verified = verify_bundle(parts, version.registry)
    check_code(row)
    if audience is None:
        parts[SOURCES] = _sources(version)
    else:
        shown = {bundle.VIEW: canonical_json.encode(_view(version, verified, audience))}
        parts = {name: parts[name] for name in (bundle.RECEIPT, bundle.QR_TEXT)} | shown
        verify_bundle(parts, version.registry)
    receipt = verified.receipt
    key = version.registry.key(receipt.signing_key_id, Kind.RECEIPT).public_key
    return parts | {
        QR_IMAGE: row.qr_png,
        PUBLIC_KEY: _public_key(receipt.signing_key_id, key),
        README: _readme(receipt, audience),
    }


def _view(version: StoredVersion, verified: Verified, audience: str) -> Mapping[str, object]:
    """Of the published values and the audiences in the proof; it is then verified like any other."""
    if audience not in frozenset(Audience):
        known = ", ".join(Audience)
        raise Permanent(Code.VALIDATION_ERROR, f"{audience!r} is no audience; there are {known}")
    fields = {} if verified.proof is None else verified.proof.fields
    published = version.published()["fields"]
    tree = disclosure.tree(
        [
            disclosure.Field(path, frozenset(field.audiences), _at(published, path))
            for path, field in fields.items()
        ],
        version.row.disclosure_seed,
    )
    return disclosure.view(tree, audience)


def _at(published: object, path: str) -> object:
    """The payload has been verified: every field of the proof is in it."""
    for name in path.split("."):
        published = published[name] if isinstance(published, dict) else None
    return published


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


def _readme(receipt: Receipt, audience: str | None) -> bytes:
    template = (
        files("bpc_worker.pipeline") / "bundle_texts" / ("full.txt" if audience is None else "view.txt")
    )
    text = template.read_text(encoding="utf-8")
    for name, value in (
        ("AUDIENCE", audience or ""),
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
