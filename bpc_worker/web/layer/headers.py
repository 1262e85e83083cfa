"""The headers of every answer: what a browser may do with it, and who may keep it."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from bpc_worker.observability.listener import SERVER

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, a browser calls the origin of our own forms null
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Server": SERVER,
}
OWN_ORIGIN_ONLY: Final[Mapping[str, str]] = {"Cross-Origin-Resource-Policy": "same-origin"}
ANY_ORIGIN: Final[Mapping[str, str]] = {
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "ETag, Link",
}
# Elsewhere browsers ignore these, and complain of the second.
_HTTPS_ONLY: Final = {
    "Strict-Transport-Security": "max-age=31536000",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@cache
def security_headers(*, cors: bool, scheme: str) -> Mapping[str, str]:
    found = {**SECURITY, **(ANY_ORIGIN if cors else OWN_ORIGIN_ONLY)}
    return found | _HTTPS_ONLY if scheme == "https" else found
