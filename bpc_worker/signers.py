"""Who signs receipts: a small Protocol, so that this process, an HSM or a KMS can all be asked."""

from typing import Never, Protocol

from bpc_worker.core import signing


class Signer(signing.Holder, Protocol):
    async def sign(self, receipt_hash: bytes) -> bytes:
        """64 bytes that nobody trusts before they are verified."""


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

    async def sign(self, receipt_hash: bytes) -> bytes:
        return self._key.sign(receipt_hash)

    def __repr__(self) -> str:
        return f"LocalSigner({self._key!r})"

    def __reduce__(self) -> Never:
        raise TypeError("a signer holds a private key: it is neither pickled nor copied")


async def sign_receipt_hash(
    signer: Signer, registry: signing.KeyRegistry, receipt_hash: bytes, *, key_id: str
) -> bytes:
    """The signature under `key_id`, the key that the receipt names; verified once before it is used."""
    signing.check_may_sign(signer, registry, key_id=key_id)
    signing.check_receipt_hash(receipt_hash)
    signature = await signer.sign(receipt_hash)
    signing.verify(registry, key_id, receipt_hash, signature)
    return signature
