"""BPC-QR-1: the text inside a passport's QR code, and the link that a phone can open."""

import re
from base64 import b32decode
from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID

from bpc_worker.core.base.hashing import base32

_VERSION = "BPC1"
_FIELDS = ["pv", "ph", "pr", "rh"]
_HASH_BYTES = 32
_HASH_CHARACTERS = 52

_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_BASE32 = re.compile("[^A-Z2-7]")
_NOT_IN_SET_82 = re.compile(r"""[^!"%&'()*+,\-./0-9:;<=>?A-Z_a-z]""")
_GTIN = re.compile("[0-9]{8}|[0-9]{12,14}")
_MAX_SERIAL = 20

_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", re.IGNORECASE)
_PORT = re.compile("[1-9][0-9]{0,4}")
_MAX_PORT = 65535
_SEGMENT = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+")
_DOTS = {".", ".."}


class QrTextError(ValueError):
    """A text, or a part of one, that has no place in a QR code of ours."""


class QrCapacityError(ValueError):
    """A text that is too long for the largest QR code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QrText:
    passport_version_id: UUID
    payload_hash: bytes
    proof_root_hash: bytes
    receipt_hash: bytes


def qr_text(
    *, passport_version_id: UUID, payload_hash: bytes, proof_root_hash: bytes, receipt_hash: bytes
) -> str:
    """The 212 characters that name a passport version and the hashes its receipt is about."""
    hashes = {"ph": payload_hash, "pr": proof_root_hash, "rh": receipt_hash}
    for name, digest in hashes.items():
        if len(digest) != _HASH_BYTES:
            raise QrTextError(f"{name}: a SHA-256 hash has {_HASH_BYTES} bytes, not {len(digest)}")
    written = "".join(f"|{name}={base32(digest)}" for name, digest in hashes.items())
    return f"{_VERSION}|pv={passport_version_id}{written}"


def parse(text: str) -> QrText:
    """What `qr_text` was given; any text that it does not write is an error."""
    version, *fields = text.split("|", len(_FIELDS))
    if version != _VERSION:
        raise QrTextError(f"begins with {_shown(version)}, not with '{_VERSION}|'")
    pairs = [field.partition("=") for field in fields]
    names = [name for name, _, _ in pairs]
    if names != _FIELDS:
        raise QrTextError(f"fields are {', '.join(_FIELDS)} in this order, found {_shown(', '.join(names))}")
    values = {name: value for name, _, value in pairs}
    return QrText(
        passport_version_id=_uuid("pv", values["pv"]),
        payload_hash=_digest("ph", values["ph"]),
        proof_root_hash=_digest("pr", values["pr"]),
        receipt_hash=_digest("rh", values["rh"]),
    )


def gs1_digital_link(resolver: str, *, gtin: str, serial: str) -> str:
    """The address at which a resolver tells about the one item with this GTIN and serial number."""
    stem, number, item = _stem(resolver), _gtin_14(gtin), _serial(serial)
    return f"{stem}/01/{number}/21/{item}"


def _shown(text: str, at_most: int = 40) -> str:
    return ascii(text) if len(text) <= at_most else f"{text[:at_most]!a}..."


def _uuid(name: str, value: str) -> UUID:
    if not _UUID.fullmatch(value):  # UUID() also reads capitals, braces and digits without hyphens
        raise QrTextError(f"{name}: {_shown(value)} is not a lower-case uuid with hyphens")
    return UUID(value)


def _digest(name: str, value: str) -> bytes:
    if len(value) != _HASH_CHARACTERS:
        raise QrTextError(f"{name}: {len(value)} characters, a hash has {_HASH_CHARACTERS}")
    if bad := _NOT_BASE32.search(value):
        raise QrTextError(f"{name}: {bad[0]!a} at character {bad.start()} is not one of A-Z and 2-7")
    digest = b32decode(value + "====")
    if (canonical := base32(digest)) != value:
        raise QrTextError(
            f"{name}: ends with {value[-1]!r}, whose last bits are beyond {_HASH_BYTES} bytes; "
            f"the same hash ends with {canonical[-1]!r}"
        )
    return digest


def _stem(resolver: str) -> str:
    """Checked by hand, because urlsplit forgives what a printed code cannot take back.

    An error names the part and never shows the address, which may hold a password.
    """
    scheme, _, rest = resolver.partition("://")
    if scheme != "https":
        raise QrTextError("resolver: the address must begin with 'https://'")
    for mark, part in (("#", "fragment"), ("?", "query")):
        if mark in rest:
            raise QrTextError(f"resolver: the address may not have a {part}")
    authority, *segments = rest.removesuffix("/").split("/")
    if "@" in authority:
        raise QrTextError("resolver: the address may not have a user or a password")
    host, colon, port = authority.partition(":")
    if not _HOST.fullmatch(host):
        raise QrTextError("resolver: the host must be a name of letters, digits and hyphens (IDNA as xn--)")
    if colon and not (_PORT.fullmatch(port) and int(port) <= _MAX_PORT):
        raise QrTextError(f"resolver: the port must be a number from 1 to {_MAX_PORT}")
    if not all(_SEGMENT.fullmatch(segment) and segment not in _DOTS for segment in segments):
        raise QrTextError("resolver: the path has an empty or dotted segment, or a character to be encoded")
    return "/".join([f"https://{authority}", *segments])


def _gtin_14(gtin: str) -> str:
    if not _GTIN.fullmatch(gtin):
        raise QrTextError(f"gtin: {_shown(gtin)} does not have 8, 12, 13 or 14 digits")
    padded = gtin.zfill(14)
    weighted = sum(int(digit) * (1 if at % 2 else 3) for at, digit in enumerate(padded[:-1]))
    check = str(-weighted % 10)
    if padded[-1] != check:
        raise QrTextError(f"gtin: {gtin} ends with {padded[-1]}, its check digit is {check}")
    return padded


def _serial(serial: str) -> str:
    if not 1 <= len(serial) <= _MAX_SERIAL:
        raise QrTextError(f"serial: {len(serial)} characters, allowed are 1 to {_MAX_SERIAL}")
    if bad := _NOT_IN_SET_82.search(serial):
        raise QrTextError(f"serial: {bad[0]!a} at character {bad.start()} is not in GS1 character set 82")
    if serial in _DOTS:  # even as %2E a browser takes it for a step in the path
        raise QrTextError(f"serial: {serial!r} cannot stand in a link")
    return quote(serial, safe="")
