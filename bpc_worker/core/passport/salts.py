"""The salts of a passport version: nothing that is hashed and leaves the house is hashed without one.

All come from one secret of the installation, which is nowhere stored with them. A label begins with the byte
0, which no field path has.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from bpc_worker.core.base.forms import HASH_SIZE, SALT_SIZE, FormError, uuid_text


class SaltError(FormError):
    """A secret that makes no salts, or a salt that is not there."""


class SaltSource(Protocol):
    """The salts of one version, 16 bytes each: made from its seed, or read from what was handed out."""

    @property
    def payload(self) -> bytes: ...

    @property
    def proof(self) -> bytes: ...

    def set_of(self, audiences: Sequence[str]) -> bytes: ...

    def field(self, path: str) -> bytes: ...

    def statement(self, code: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Salts:
    """The salts that follow from the seed of a version."""

    seed: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.seed) != HASH_SIZE:
            raise SaltError("", f"disclosure seed: expected {HASH_SIZE} bytes, found {len(self.seed)}")

    @property
    def payload(self) -> bytes:
        return _salt(self.seed, b"\0payload")

    @property
    def proof(self) -> bytes:
        return _salt(self.seed, b"\0proof")

    def set_of(self, audiences: Sequence[str]) -> bytes:
        """Of the audiences in their order."""
        return _salt(self.seed, b"\0set\0" + ",".join(audiences).encode())

    def field(self, path: str) -> bytes:
        return _salt(self.seed, path.encode())

    def statement(self, code: str) -> bytes:
        return _salt(self.seed, b"\0statement\0" + code.encode())


def disclosure_seed(key: bytes, passport_version_id: UUID) -> bytes:
    """The secret of one passport version, from the secret of the installation."""
    return hmac.digest(_checked(key), uuid_text(passport_version_id).encode("ascii"), "sha256")


def snapshot_salt(key: bytes, snapshot_id: UUID) -> bytes:
    """A snapshot is sealed before there is a version, so its salt has a way of its own."""
    return _salt(_checked(key), b"\0snapshot\0" + uuid_text(snapshot_id).encode("ascii"))


def export_name(seed: bytes, data: bytes) -> str:
    """What a file without salts is called in results and events: by its hash it could be guessed."""
    return hmac.digest(seed, b"\0export\0" + data, "sha256").hex()


def _salt(key: bytes, label: bytes) -> bytes:
    return hmac.digest(key, label, "sha256")[:SALT_SIZE]


def _checked(key: bytes) -> bytes:
    if len(key) < HASH_SIZE:
        raise SaltError("", f"disclosure key: expected at least {HASH_SIZE} bytes, found {len(key)}")
    return key
