"""Who asks, found out from what is shown; and whether a change is meant by who seems to ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bpc_worker.web.locks.credentials import (
    CSRF_COOKIE,
    SESSION_COOKIE,
    Shown,
    bearer_of,
    cookie_name,
    cookies_of,
    digest,
)
from bpc_worker.web.locks.identity import NOBODY, Identity, Kind

_LONGEST_NAME = 200


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
        name = headers.get(self.identity_header, "").strip()[:_LONGEST_NAME]
        groups = [each.strip() for each in headers.get(self.groups_header, "").split(",")]
        return (name if name and name.isprintable() else None), tuple(each for each in groups if each)

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
        return await tokens.by_token(digest(what.bearer))
    if what.session is not None:
        return await tokens.by_session(digest(what.session))
    if what.name is not None:
        return Identity(what.name, Kind.PROXY, scopes=rules.scopes(what.groups), audience="authority")
    return NOBODY
