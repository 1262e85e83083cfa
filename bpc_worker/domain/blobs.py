"""The bytes of documents: kept once for a tenant, and named by their hash everywhere else."""

from typing import Protocol

from bpc_worker.core.base.hashing import sha256
from bpc_worker.handler_api import TenantId, Tx


class Blobs(Protocol):
    """For whoever has no transaction of the tenant's."""

    async def put(self, tenant_id: TenantId, content: bytes) -> bytes:
        """Their hash, once they are there for good."""


def keep(tx: Tx, content: bytes) -> bytes:
    """Their hash; they are there if the transaction commits. The same bytes again are there already."""
    tx.send("blobs/put", {"content": content})
    return sha256(content)
