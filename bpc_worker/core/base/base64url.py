"""base64url (RFC 4648, section 5) without padding, in one spelling."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from bpc_worker.core.base.forms import FormError, shown

_LETTERS = re.compile(r"[A-Za-z0-9_-]*")


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")


def decode(text: object) -> bytes:
    """Its bytes. FormError for padding, other letters, and a last letter whose unused bits are not zero."""
    if not isinstance(text, str) or not _LETTERS.fullmatch(text) or len(text) % 4 == 1:
        raise FormError("", f"expected base64url without padding, found {shown(text)}")
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if encode(data) != text:
        raise FormError("", f"another spelling of base64url: the last letter would be {encode(data)[-1]!r}")
    return data
