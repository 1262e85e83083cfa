"""A signer with a private key in this process."""

from typing import Never

from bpc_worker.core.base import signing
from bpc_worker.core.base.messages import Kind


class LocalSigner:
    """A private key in this process; it cannot be printed, pickled or copied."""

    __slots__ = ("_key",)

    def __init__(self, key_id: str, seed: bytes) -> None:
        self._key = signing.Ed25519Signer(key_id, seed)

    @property
    def key_id(self) -> str:
        return self._key.key_id

    @property
    def public_key(self) -> bytes:
        return self._key.public_key

    async def sign(self, kind: Kind, document: bytes) -> bytes:
        return self._key.sign(kind, document)

    def __repr__(self) -> str:
        return f"LocalSigner({self._key!r})"

    def __reduce__(self) -> Never:
        raise TypeError("a signer holds a private key: it is neither pickled nor copied")
