"""What was asked, checked before a route sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from bpc_worker.web.layer.negotiation import best_media_type
from bpc_worker.web.locks.identity import Identity

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """From where, and to what address, as trusted proxies have it."""

    address: str
    scheme: str
    host: str  # with its port, where it has one
    prefix: str  # of all paths outside: the base path

    @property
    def base(self) -> str:
        return f"{self.scheme}://{self.host}{self.prefix}"


@dataclass(slots=True, kw_only=True)
class Request:
    """Filled in by the layer; a route only reads it."""

    method: str
    path: str  # as it came, without the base path
    path_args: Mapping[str, str]
    query: object
    body: object
    headers: Mapping[str, str]  # in any case of letters
    identity: Identity
    origin: Origin
    languages: tuple[str, ...]
    csrf: str  # what a form on the answer's page must have in `csrf`
    cookies: tuple[str, ...] = ()  # that a page of an answer brings

    def wants(self, *media_types: str) -> str | None:
        """Of these the one that is liked best; None: none of them (406)."""
        return best_media_type(self.headers.get("Accept"), media_types)

    def asked(self, kind: type[T]) -> T:
        """The query, of the type that the route has for it."""
        return _as(self.query, kind)

    def given(self, kind: type[T]) -> T:
        """The body, of the type that the route has for it."""
        return _as(self.body, kind)

    @property
    def address(self) -> str:
        return self.origin.address

    @property
    def host(self) -> str:
        return self.origin.host

    @property
    def audience(self) -> str:
        return self.identity.audience


def _as(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"the route has no {kind.__name__}")
    return value
