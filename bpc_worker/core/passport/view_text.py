"""The text of a view, taken apart: header, claims, signature and disclosures, each in its one spelling."""

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from bpc_worker.core.base import base64url, messages
from bpc_worker.core.base.canonical_json import decode
from bpc_worker.core.base.forms import (
    SIGNATURE_SIZE,
    FormError,
    below,
    members,
    parse_constant,
    parse_count,
    parse_date,
    parse_hash,
    parse_text,
    parse_uuid,
    raised_as,
    read,
    shown,
)
from bpc_worker.core.passport.disclosures import SetOf, parse_names, parse_sets
from bpc_worker.core.passport.receipt import issuer_of, status_list_of

VIEW_TYPE = "urn:bpc:battery-passport:1"
DIGEST_NAME = "sha-256"
END = "~"

_ALGORITHMS = ("EdDSA", "Ed25519")  # RFC 8037, and the name that RFC 9864 gives it
_PARTS = 3
_CLAIMS = (
    "_sd_alg", "iss", "sub", "iat", "law_date", "rules", "passport_version_id", "status", "vct",
    "receipt_hash", "audiences", "fields",
)  # fmt: skip


class ViewError(FormError):
    """A text that is no view, or not what was signed; the path says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What is signed of a view."""

    issuer: str
    unique_identifier: str
    issued_at: int  # seconds since 1970
    law_date: date
    rules_name: str
    rules_sha256: bytes
    passport_version_id: UUID
    status_list_uri: str
    status_list_idx: int
    receipt_hash: bytes
    audiences: tuple[str, ...]
    sets: tuple[SetOf, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewText:
    """A view in its parts; whether the signature is good, `view_check` says."""

    key_id: str
    claims: Claims
    canonical_claims: bytes
    signed: str  # header.claims.signature
    message: bytes  # what the signature is over
    signature: bytes
    disclosures: tuple[str, ...]


@raised_as(ViewError)
def parse_view(text: str) -> ViewText:
    """ViewError for whatever is not written as a view is."""
    if not text.isascii() or not text.endswith(END):
        raise FormError("/end", f"a view is ASCII, ends with {END!r}, and nothing follows: this one does not")
    signed, *disclosures = text[:-1].split(END)
    parts = signed.split(".")
    if len(parts) != _PARTS:
        raise FormError("/jws", f"expected header.claims.signature, found {len(parts)} parts")
    canonical = below("claims", base64url.decode, parts[1])
    return ViewText(
        key_id=below("header", _header, parts[0]),
        claims=below("claims", _claims, canonical),
        canonical_claims=canonical,
        signed=signed,
        message=f"{parts[0]}.{parts[1]}".encode("ascii"),
        signature=below("signature", _signature, parts[2]),
        disclosures=tuple(disclosures),
    )


def _header(text: str) -> str:
    """The id of the key."""
    found = members(decode(base64url.decode(text)), ("alg", "kid", "typ"))
    read(found, "typ", parse_constant(messages.VIEW_TYPE))
    if found["alg"] not in _ALGORITHMS:
        raise FormError("/alg", f"expected {' or '.join(_ALGORITHMS)}, found {shown(found['alg'])}")
    return read(found, "kid", parse_text)


def _signature(text: str) -> bytes:
    signature = base64url.decode(text)
    if len(signature) != SIGNATURE_SIZE:
        raise FormError("", f"expected {SIGNATURE_SIZE} bytes, found {len(signature)}")
    return signature


def _claims(canonical: bytes) -> Claims:
    found = members(decode(canonical), _CLAIMS)
    read(found, "_sd_alg", parse_constant(DIGEST_NAME))
    read(found, "vct", parse_constant(VIEW_TYPE))
    unique_identifier = read(found, "sub", parse_text)
    issuer = read(found, "iss", parse_constant(below("sub", issuer_of, unique_identifier)))
    rules = read(found, "rules", lambda value: members(value, ("name", "sha256")))
    status = read(found, "status", lambda value: members(value, ("status_list",)))
    listed = below("status", lambda value: read(value, "status_list", _status_list), status)
    below("status/status_list/uri", status_list_of(issuer), listed["uri"])
    return Claims(
        issuer=issuer,
        unique_identifier=unique_identifier,
        issued_at=read(found, "iat", parse_count),
        law_date=read(found, "law_date", parse_date),
        rules_name=below("rules", lambda value: read(value, "name", parse_text), rules),
        rules_sha256=below("rules", lambda value: read(value, "sha256", parse_hash), rules),
        passport_version_id=read(found, "passport_version_id", parse_uuid),
        status_list_uri=str(listed["uri"]),
        status_list_idx=below("status/status_list/idx", parse_count, listed["idx"]),
        receipt_hash=read(found, "receipt_hash", parse_hash),
        audiences=read(found, "audiences", parse_names),
        sets=tuple(read(found, "fields", parse_sets)),
    )


def _status_list(value: object) -> dict[str, object]:
    return members(value, ("idx", "uri"))
