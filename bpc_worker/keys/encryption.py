"""Secrets at rest: AES-256-GCM, the id of the key in front, bound to the row that they stand in."""

import os
from collections.abc import Sequence
from typing import Never
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bpc_worker.core.base.hashing import sha256
from bpc_worker.jobs.errors import Code, Permanent

DEVELOPMENT_SEALING_KEY = (
    "development",
    sha256(b"bpc-worker: the development sealing key, known to everybody"),
)

_FORMAT = 1
_NONCE_SIZE = 12


class Sealer:
    """Seals with the first of its keys and opens with any: so keys can be replaced one by one."""

    __slots__ = ("_keys", "_sealing_id")

    def __init__(self, keys: Sequence[tuple[str, bytes]]) -> None:
        self._keys = {key_id: AESGCM(key) for key_id, key in keys}
        self._sealing_id = keys[0][0] if keys else None

    def seal(self, secret: bytes, *, tenant_id: UUID, row_id: UUID) -> bytes:
        if self._sealing_id is None:
            raise _no_key()
        head = _head(self._sealing_id)
        nonce = os.urandom(_NONCE_SIZE)
        sealed = self._keys[self._sealing_id].encrypt(nonce, secret, _bound_to(head, tenant_id, row_id))
        return head + nonce + sealed

    def open(self, sealed: bytes, *, tenant_id: UUID, row_id: UUID) -> bytes:
        """FORBIDDEN for what was sealed for another row, or was changed: nobody learns which."""
        size = sealed[1] if len(sealed) > 1 else 0
        head, rest = sealed[: 2 + size], sealed[2 + size :]
        key_id = head[2:].decode("ascii", "replace")
        if not self._keys:
            raise _no_key()
        if sealed[:1] != bytes([_FORMAT]) or key_id not in self._keys:
            known = ", ".join(self._keys)
            raise Permanent(
                Code.CONFIG_MISSING,
                f"the secret is sealed with a key that is not here (there are: {known}): "
                "add it behind the others in BPC_WEBHOOK_SEALING_KEYS, then retry the job",
            )
        try:
            nonce, text = rest[:_NONCE_SIZE], rest[_NONCE_SIZE:]
            return self._keys[key_id].decrypt(nonce, text, _bound_to(head, tenant_id, row_id))
        except (InvalidTag, ValueError) as error:
            message = "the stored secret was not sealed for this row, or was changed: replace it"
            raise Permanent(Code.FORBIDDEN, message) from error

    def __repr__(self) -> str:
        return f"Sealer({', '.join(self._keys)})"

    def __reduce__(self) -> Never:
        raise TypeError("a sealer holds keys: it is neither pickled nor copied")


def _no_key() -> Permanent:
    return Permanent(
        Code.CONFIG_MISSING,
        "there is no key for the secrets of webhooks: set BPC_WEBHOOK_SEALING_KEYS to NAME:KEY, the key "
        "being 32 random bytes in base64, the same for all workers and commands, then retry",
    )


def _head(key_id: str) -> bytes:
    name = key_id.encode("ascii")
    return bytes([_FORMAT, len(name)]) + name


def _bound_to(head: bytes, tenant_id: UUID, row_id: UUID) -> bytes:
    return head + tenant_id.bytes + row_id.bytes
