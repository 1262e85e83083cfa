"""Sign a document, by whoever has the key, and believe no signature before it is verified."""

from collections.abc import Sequence

from bpc_worker.core.base import signing
from bpc_worker.core.base.messages import Kind
from bpc_worker.domain.records import SigningKey
from bpc_worker.handler_api import Signer


def key_registry(keys: Sequence[SigningKey]) -> signing.KeyRegistry:
    """A key that cannot have come in by the front door is skipped; `doctor` names it."""
    return signing.KeyRegistry(
        {key.key_id: signing.RegisteredKey(key.public_key, key.status, key.purposes) for key in keys}
    )


async def sign_document(
    signer: Signer, registry: signing.KeyRegistry, kind: Kind, document: bytes, *, key_id: str
) -> bytes:
    """The signature under `key_id`, the key that the document names; verified once before it is used."""
    signing.check_may_sign(signer, registry, kind, key_id=key_id)
    signature = await signer.sign(kind, document)
    signing.verify(registry, key_id, kind, document, signature)
    return signature
