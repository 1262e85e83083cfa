"""Status lists: whether versions are in force, two bits each, after the IETF draft Token Status List.

The list is a signed JWT. Its reader takes our own spelling alone: header and claims are canonical JSON.
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from bpc_worker.core.base import base64url, canonical_json, signing
from bpc_worker.core.base.forms import (
    FormError,
    members,
    parse_constant,
    parse_count,
    parse_text,
    raised_as,
    read,
    shown,
)
from bpc_worker.core.base.messages import STATUS_LIST_TYPE, Kind, message

PLACES = 2**17
TTL_SECONDS = 3600  # how long a copy may be used
LIFETIME_SECONDS = 86400  # after which it says nothing any more

_BITS = 2
_PER_BYTE = 8 // _BITS
_BYTES = PLACES // _PER_BYTE
_BEST = 9


class Status(IntEnum):
    """The draft calls the first three valid, invalid and suspended; the fourth is left to applications."""

    ACTIVE = 0
    REVOKED = 1
    NOT_IN_FORCE = 2  # signed, and not in force yet; so is a place that nobody has
    SUPERSEDED = 3


class StatusListError(FormError):
    """A text that is no status list of ours, and where."""


@dataclass(frozen=True, slots=True)
class StatusList:
    uri: str
    issued_at: int  # seconds since 1970
    expires_at: int
    words: bytes

    def status(self, idx: int) -> Status:
        if not 0 <= idx < PLACES:
            raise StatusListError("", f"a list has places 0 to {PLACES - 1}, not {idx}")
        return Status(self.words[idx // _PER_BYTE] >> idx % _PER_BYTE * _BITS & 3)


def pack(places: Mapping[Status, Iterable[int]]) -> bytes:
    """The words of a list: the places of each status; all others are NOT_IN_FORCE."""
    words = bytearray([0b10101010]) * _BYTES
    for status, indices in places.items():
        change = status ^ Status.NOT_IN_FORCE
        for idx in indices:
            words[idx // _PER_BYTE] ^= change << idx % _PER_BYTE * _BITS
    return bytes(words)


def claims(uri: str, issued_at: int, words: bytes) -> bytes:
    """What is signed, as canonical JSON."""
    lst = base64url.encode(zlib.compress(words, _BEST))
    return canonical_json.encode(
        {
            "exp": issued_at + LIFETIME_SECONDS,
            "iat": issued_at,
            "status_list": {"bits": _BITS, "lst": lst},
            "sub": uri,
            "ttl": TTL_SECONDS,
        }
    )


def token(document: bytes, key_id: str, signature: bytes) -> str:
    """The list as it is handed out."""
    return f"{message(Kind.STATUS_LIST, document, key_id).decode('ascii')}.{base64url.encode(signature)}"


def verify_status_list(text: str, registry: signing.KeyRegistry) -> StatusList:
    """The list, signed by a key that is there for it; StatusListError or SignatureError.

    Whether it is of today (`expires_at`), and that of the passport (`uri`), is for the caller to compare.
    """
    with raised_as(StatusListError):
        written = text.split(".")
        if len(written) != len(("header", "claims", "signature")):
            raise FormError("", f"expected header.claims.signature, found {shown(text)}")
        header, document, signature = map(base64url.decode, written)
        key_id = _key_id(header)
        signing.verify(registry, key_id, Kind.STATUS_LIST, document, signature)
        return _list(document)


def _key_id(header: bytes) -> str:
    """Of a header in the one spelling: with another, the signature is not over this text."""
    found = members(canonical_json.decode(header), ("alg", "kid", "typ"))
    read(found, "alg", parse_constant("EdDSA"))
    read(found, "typ", parse_constant(STATUS_LIST_TYPE))
    return read(found, "kid", parse_text)


def _list(document: bytes) -> StatusList:
    found = members(canonical_json.decode(document), ("exp", "iat", "status_list", "sub", "ttl"))
    read(found, "ttl", parse_count)
    packed = read(found, "status_list", _packed)
    return StatusList(
        uri=read(found, "sub", parse_text),
        issued_at=read(found, "iat", parse_count),
        expires_at=read(found, "exp", parse_count),
        words=packed,
    )


def _packed(value: object) -> bytes:
    found = members(value, ("bits", "lst"))
    if read(found, "bits", parse_count) != _BITS:
        raise FormError("/bits", f"expected {_BITS}, found {found['bits']}")
    return read(found, "lst", _unpacked)


def _unpacked(lst: object) -> bytes:
    """Never more than a list has, whatever was packed."""
    unpacking = zlib.decompressobj()
    try:
        words = unpacking.decompress(base64url.decode(lst), _BYTES + 1)
    except zlib.error as error:
        raise FormError("", f"not packed with zlib: {error}") from None
    if len(words) != _BYTES or not unpacking.eof or unpacking.unused_data:
        raise FormError("", f"expected {_BYTES} bytes packed with zlib and nothing after them")
    return words
