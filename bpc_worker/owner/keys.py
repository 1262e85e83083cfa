"""The tenant's registry of public keys: which may sign, which may only verify, which may neither."""

from uuid import UUID, uuid5

import msgspec

from bpc_worker.core import signing
from bpc_worker.evidence import Happened
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.owner.session import Owner
from bpc_worker.rows import all_of

_NAMESPACE = UUID("bab0bf6b-76b4-5211-ad98-fa54de20165b")


class Key(msgspec.Struct, frozen=True):
    key_id: str
    public_key: bytes
    status: str


async def add_key(owner: Owner, key_id: str, public_key: bytes) -> bool:
    """ACTIVE from now on; False when it was there already. A key id stands for one key for ever."""
    try:
        signing.check_public_key(public_key)
    except signing.SignatureError as error:
        raise Permanent(Code.VALIDATION_ERROR, error.message) from error
    async with owner.transaction() as tx:
        params = {"tenant_id": owner.tenant_id, "key_id": key_id, "public_key": public_key}
        added = bool(await tx.query("keys/add", params))
        if added:
            await _tell(owner, tx, "KEY_ADDED", key_id, public_key)
            return True
        [there] = [key for key in await _keys(owner, tx) if key.key_id == key_id]
        if there.public_key != public_key:
            raise Permanent(
                Code.VALIDATION_ERROR, f"key id {key_id!r} stands for another key: choose another id"
            )
        return False


async def change_key(owner: Owner, key_id: str, status: signing.KeyStatus) -> None:
    """RETIRED verifies only, REVOKED does nothing any more; neither can be taken back."""
    async with owner.transaction() as tx:
        found = [key for key in await _keys(owner, tx) if key.key_id == key_id]
        if not found:
            raise Permanent(Code.NOT_FOUND, f"no key {key_id!r}; `bpc-worker keys list` shows them")
        if found[0].status == status:
            return
        await tx.query(
            "keys/change", {"tenant_id": owner.tenant_id, "key_id": key_id, "status": status.value}
        )
        await _tell(owner, tx, f"KEY_{status.value}", key_id, found[0].public_key)


async def list_keys(owner: Owner) -> list[Key]:
    async with owner.reading() as tx:
        return await _keys(owner, tx)


async def registry(owner: Owner, tx: Tx) -> signing.KeyRegistry:
    keys = await _keys(owner, tx)
    return signing.KeyRegistry(
        {key.key_id: signing.RegisteredKey(key.public_key, signing.KeyStatus(key.status)) for key in keys}
    )


async def _keys(owner: Owner, tx: Tx) -> list[Key]:
    return all_of(await tx.query("keys/registry", {"tenant_id": owner.tenant_id}), Key)


async def _tell(owner: Owner, tx: Tx, event_type: str, key_id: str, public_key: bytes) -> None:
    """Keys have names, aggregates have ids: the id is made from tenant and name."""
    happened = Happened(
        event_type=event_type,
        aggregate_type="signing_key",
        aggregate_id=uuid5(_NAMESPACE, f"signing_key {owner.tenant_id} {key_id}"),
        payload={"key_id": key_id, "public_key": public_key.hex()},
    )
    await owner.record(tx, happened)
