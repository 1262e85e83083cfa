"""Tokens, by which programs and people come in by the doors: what is in one, and what it may do."""

import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import TypedDict
from uuid import UUID

import msgspec

from bpc_worker.core.base.audience import AUDIENCES
from bpc_worker.core.base.hashing import sha256
from bpc_worker.jobs.errors import Code, Permanent

PREFIX = "bpc_"  # by which scanners of code and logs know one
# What a scope lets a caller do; a table of the database names the same ones.
SCOPES: Mapping[str, str] = MappingProxyType(
    {
        "read": "see documents, products, builds, passports, jobs and deliveries, without their values",
        "values": "see values: payloads, facts, restricted views, bundles",
        "write": "send documents, add products and serials, begin builds, add measurements",
        "activate": "bring passports into force, and revoke them",
        "webhooks": "add and change endpoints of webhooks, and replay deliveries",
        "operate": "retry, discard, cancel, pause",
        "scale": "ask how many workers are wanted",
        "priority:0": "queue with any priority",
        "priority:1": "queue with priority 1 and less urgent ones",
        "priority:2": "queue with priority 2 and 3, as without such a scope",
        "priority:3": "queue with priority 3 alone",
    }
)

_SECRET_BYTES = 32
_TOKEN = re.compile(r"bpc_[A-Za-z0-9_-]{43}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,59}")


class TokenState(StrEnum):
    VALID = "VALID"
    EXPIRED = "EXPIRED"
    REVOKED = "REVOKED"


class Token(msgspec.Struct, frozen=True):
    """What is known of one: neither its secret nor the hash of that."""

    token_id: UUID
    tenant_id: UUID | None  # None: for all tenants
    tenant: str | None
    name: str
    scopes: list[str]
    audience: str
    created_at: datetime
    created_by: str
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    state: TokenState


class Asked(TypedDict):
    """What a new token shall be good for, and for how long."""

    scopes: list[str]
    audience: str
    seconds: float


class NewToken(msgspec.Struct, frozen=True):
    """The secret is shown this once."""

    token_id: UUID
    name: str
    token: str
    expires_at: datetime


def new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(_SECRET_BYTES)


def hash_of(token: str) -> bytes | None:
    """By which the database finds it; None for what cannot be a token. Random as it is, it needs no salt."""
    return sha256(token.encode()) if _TOKEN.fullmatch(token) else None


def as_made(secret: str, name: str, asked: Asked) -> dict[str, object]:
    """What of a new one goes into the database."""
    return {
        "name": name,
        "token_hash": hash_of(secret),
        "scopes": sorted(set(asked["scopes"])),
        "audience": asked["audience"],
        "seconds": asked["seconds"],
    }


def check(name: str, asked: Asked) -> None:
    """In our words, before the database refuses it."""
    if _NAME.fullmatch(name) is None:
        raise Permanent(
            Code.VALIDATION_ERROR,
            "a token's name is 1 to 60 letters, digits and . _ @ + -, the first a letter or a digit",
        )
    if not asked["scopes"]:
        raise Permanent(Code.VALIDATION_ERROR, f"a token has a scope: {', '.join(SCOPES)}")
    for each in asked["scopes"]:
        _check_known("scope", each, SCOPES)
    _check_known("audience", asked["audience"], AUDIENCES)
    if asked["seconds"] < 1:
        raise Permanent(Code.VALIDATION_ERROR, "a token is good for a second at least")


def _check_known(what: str, given: str, known: Iterable[str]) -> None:
    names = list(known)
    if given in names:
        return
    close = get_close_matches(given.strip().lower(), names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
    raise Permanent(Code.VALIDATION_ERROR, f"no {what} is called {given!r}; {hint}")
