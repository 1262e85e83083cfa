"""Places in status lists, as a worker has them given, and a key that signs the lists."""

from base64 import b64encode
from uuid import UUID, uuid4

from bpc_worker.core.base.signing import KeyRegistry, KeyStatus, Purpose, RegisteredKey
from bpc_worker.handler_api import Row
from bpc_worker.jobs.model import TenantId
from bpc_worker.keys.signers import LocalSigner
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.transactions import LinkPool
from bpc_worker.postgres.writes_ahead import WritesAhead
from tests.support.database import Database

ISSUER = "https://passports.example"
SEED = b"s" * 32
SIGNER = LocalSigner("status-1", SEED)
KEY = {
    "BPC_SIGNING_STATUS_KEY_ID": SIGNER.key_id,
    "BPC_SIGNING_STATUS_PRIVATE_KEY": b64encode(SEED).decode("ascii"),
}
REGISTRY = KeyRegistry(
    {SIGNER.key_id: RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE, frozenset({Purpose.STATUS}))}
)


class Places:
    def __init__(self, db: Database) -> None:
        self._db = db
        self.pool = LinkPool(Dsn(url=db.url_as("bpc_worker"), application_name="test"), 8)
        self._ahead = WritesAhead(self.pool, timeout=5)

    async def query(self, name: str, params: dict[str, object], *, tenant: str = "acme") -> list[Row]:
        tenant_id = TenantId(UUID(str(self._db.tenant(tenant))))
        return await self._ahead.write_ahead(tenant_id, name, params | {"tenant_id": tenant_id})

    async def allot(
        self, version: UUID | None = None, *, issuer: str = ISSUER, tenant: str = "acme"
    ) -> tuple[object, object]:
        params = {"passport_version_id": version or uuid4(), "issuer": issuer}
        [row] = await self.query("status/allot", params, tenant=tenant)
        return row["status_list"], row["status_idx"]


def register_key(db: Database, tenant: str = "acme") -> None:
    db.run(
        "INSERT INTO signing_keys (tenant_id, key_id, public_key, purposes) VALUES (%s, %s, %s, '{status}')",
        [db.tenant(tenant), SIGNER.key_id, SIGNER.public_key],
    )
