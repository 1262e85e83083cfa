"""The digests that appear in documents, columns and QR codes."""

import hashlib
from base64 import b32encode


def sha256(data: bytes) -> bytes:
    """The raw 32 bytes, as columns hold them."""
    return hashlib.sha256(data).digest()


def sha256_hex(data: bytes) -> str:
    """Lower-case hex, as canonical JSON holds it."""
    return hashlib.sha256(data).hexdigest()


def base32(data: bytes) -> str:
    """RFC 4648 in upper case without padding, as the QR code holds it."""
    return b32encode(data).decode("ascii").rstrip("=")
