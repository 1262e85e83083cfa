"""Who asks, found out from what is shown; and whether a change is meant by who seems to ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bpc_worker.domain.tokens import hash_of
from bpc_worker.web.locks.credentials import (
    CSRF_COOKIE,
    SESSION_COOKIE,
    Shown,
    bearer_of,
    cookie_name,
    cookies_of,
    session_hash,
)
from bpc_worker.web.locks.identity import NOBODY, OTHER_NAMES, Identity, Kind

_LONGEST_NAME = 100  # which is what the database takes


class Tokens(Protocol):
    """Where tokens and sessions are kept, by their hashes."""

    async def by_token(self, token_hash: bytes) -> Identity | None: ...

    async def by_session(self, session_hash: bytes) -> Identity | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRules:
    """Which headers of a trusted proxy name somebody, and what his groups may do."""

    identity_header: str | None = None
    groups_header: str = "X-Forwarded-Groups"
    groups: Mapping[str, Sequence[str]]

    def named(self, headers: Mapping[str, str]) -> tuple[str | None, tuple[str, ...]]:
        if self.identity_header is None:
            return None, ()
        name = headers.get(self.identity_header, "").strip()
        groups = [each.strip() for each in headers.get(self.groups_header, "").split(",")]
        return name or None, tuple(each for each in groups if each)

    def scopes(self, groups: Sequence[str]) -> frozenset[str]:
        return frozenset(scope for group in groups for scope in self.groups.get(group, ()))


def shown(headers: Mapping[str, str], rules: ProxyRules, *, scheme: str, is_trusted: bool) -> Shown:
    cookies = cookies_of(headers)
    name, groups = rules.named(headers) if is_trusted else (None, ())
    return Shown(
        bearer=bearer_of(headers),
        session=cookies.get(cookie_name(SESSION_COOKIE, scheme)),
        name=name,
        groups=groups,
        csrf_seed=cookies.get(cookie_name(CSRF_COOKIE, scheme)),
    )


async def identity(what: Shown, tokens: Tokens, rules: ProxyRules) -> Identity | None:
    """Nobody, where nothing is shown; None where what is shown is not, or no longer, good for anything."""
    if what.bearer is not None:
        hashed = hash_of(what.bearer)
        return None if hashed is None else await tokens.by_token(hashed)
    if what.session is not None:
        return await tokens.by_session(session_hash(what.session))
    if what.name is not None:
        return _named(what.name, rules.scopes(what.groups))
    return NOBODY


def _named(name: str, scopes: frozenset[str]) -> Identity | None:
    """What could be taken for a token, or cannot be read, is nobody's name."""
    if len(name) > _LONGEST_NAME or not name.isprintable() or name.startswith(OTHER_NAMES):
        return None
    return Identity(name, Kind.PROXY, scopes=scopes)
