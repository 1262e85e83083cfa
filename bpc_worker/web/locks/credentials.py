"""What somebody shows at a door: a bearer token, a session's cookie, or a name that a proxy vouches for."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Final

SESSION_COOKIE: Final = "bpc_session"
CSRF_COOKIE: Final = "bpc_csrf"
_LONGEST = 512


@dataclass(frozen=True, slots=True)
class Shown:
    bearer: str | None = None
    session: str | None = None
    name: str | None = None  # by a trusted proxy
    groups: tuple[str, ...] = ()
    csrf_seed: str | None = None  # of a browser that a proxy let in

    @property
    def is_nothing(self) -> bool:
        return self.bearer is None and self.session is None and self.name is None


def session_hash(secret: str) -> bytes:
    """As sessions are stored."""
    return sha256(secret.encode()).digest()


def csrf_of(secret: str) -> str:
    """What a form must have: made of what its browser keeps, so that nothing of it need be stored."""
    return hmac.new(secret.encode(), b"bpc csrf", sha256).hexdigest()


def same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def cookie_name(name: str, scheme: str) -> str:
    """Under https with a prefix by which a browser promises that nobody else has set it."""
    return f"__Host-{name}" if scheme == "https" else name


def set_cookie(name: str, value: str, *, scheme: str, seconds: int) -> str:
    secure = "; Secure" if scheme == "https" else ""
    return (
        f"{cookie_name(name, scheme)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    )


def cookies_of(headers: Mapping[str, str]) -> dict[str, str]:
    try:
        return {name: each.value for name, each in SimpleCookie(headers.get("Cookie", "")).items()}
    except CookieError:
        return {}


def bearer_of(headers: Mapping[str, str]) -> str | None:
    kind, _, token = headers.get("Authorization", "").partition(" ")
    token = token.strip()
    if kind.lower() != "bearer" or not token:
        return None
    return token[:_LONGEST]
