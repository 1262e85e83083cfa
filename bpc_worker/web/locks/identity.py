"""Who asks: nobody, the bearer of a token, a browser's session, or somebody whom a trusted proxy names."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bpc_worker.jobs.model import Priority, TenantId

_PRIORITY: Final = "priority:"
TOKEN_NAME: Final = "token:"  # noqa: S105 - how the name of a token begins, and that of no person
OTHER_NAMES: Final = (TOKEN_NAME, "login:")  # of a login of the database, which asked for something by itself


class Kind(StrEnum):
    NOBODY = "nobody"
    TOKEN = "token"  # noqa: S105 - a word, no secret
    SESSION = "session"
    PROXY = "proxy"


@dataclass(frozen=True, slots=True)
class Identity:
    name: str
    kind: Kind
    tenant_id: TenantId | None = None  # None: all tenants
    scopes: frozenset[str] = frozenset()
    audience: str = "public"

    def may(self, scope: str) -> bool:
        return scope in self.scopes

    @property
    def is_known(self) -> bool:
        return self.kind is not Kind.NOBODY

    @property
    def is_ambient(self) -> bool:
        """A browser sends along by itself what it is known by: another page may make it do so."""
        return self.kind in {Kind.SESSION, Kind.PROXY}

    @property
    def most_urgent(self) -> int:
        """The most urgent priority that it may ask for; without a scope about it, that of all jobs."""
        allowed = [int(scope[len(_PRIORITY) :]) for scope in self.scopes if scope.startswith(_PRIORITY)]
        return min(allowed, default=Priority.NORMAL)


NOBODY: Final = Identity("nobody", Kind.NOBODY)
