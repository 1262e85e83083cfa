"""The tenant's registry of public keys: which may sign, which may only verify, which may neither."""

from uuid import UUID, uuid5

from bpc_worker.core.base import signing
from bpc_worker.core.base.identifier import STAND_IN_HOST
from bpc_worker.domain.events import Happened
from bpc_worker.domain.records import SigningKey
from bpc_worker.domain.signing import key_registry
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.keys.keyring import development_signer
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of

_NAMESPACE = UUID("bab0bf6b-76b4-5211-ad98-fa54de20165b")
_LONGEST_ID = 200
_RESTRICT_VIOLATION = "23001"
_ACTIVE = signing.KeyStatus.ACTIVE


@again
async def add_key(
    pipeline: PipelineSession,
    key_id: str,
    public_key: bytes,
    purposes: frozenset[signing.Purpose] = signing.USUAL_PURPOSES,
) -> bool:
    """ACTIVE from now on; False when it was there already. A key id stands for one key for ever."""
    _check(pipeline, key_id, public_key, purposes)
    async with pipeline.transaction() as tx:
        params = {"tenant_id": pipeline.tenant_id, "key_id": key_id, "public_key": public_key}
        added = bool(await tx.query("keys/add", params | {"purposes": sorted(purposes)}))
        _check_there(await _keys(pipeline, tx), SigningKey(key_id, public_key, _ACTIVE, purposes))
        if added:
            await _tell(pipeline, tx, "KEY_ADDED", key_id, public_key)
        return added


def _check(
    pipeline: PipelineSession, key_id: str, public_key: bytes, purposes: frozenset[signing.Purpose]
) -> None:
    if not (key_id.isprintable() and key_id.strip() == key_id != "" and len(key_id) <= _LONGEST_ID):
        message = f"a key id has 1 to {_LONGEST_ID} printable characters, and no blanks around them"
        raise Permanent(Code.VALIDATION_ERROR, message)
    try:
        signing.check_public_key(public_key)
        signing.check_purposes(purposes)
    except signing.SignatureError as error:
        raise Permanent(Code.VALIDATION_ERROR, error.message) from error
    if pipeline.settings.env == "prod" and public_key == development_signer().public_key:
        message = (
            "the development key is known to everybody, and env is prod; `bpc-worker keys generate` makes one"
        )
        raise Permanent(Code.FORBIDDEN, message)


def _check_there(keys: list[SigningKey], wanted: SigningKey) -> None:
    """The registry has what was to be added: the database leaves alone what was there, by id or by key."""
    there = next((key for key in keys if key.key_id == wanted.key_id), None)
    if there is None:
        other = next(key for key in keys if key.public_key == wanted.public_key)
        trouble = f"this key is there already, as {other.key_id!r}, and {other.status}: a key has one id"
    elif there.public_key != wanted.public_key:
        trouble = f"key id {wanted.key_id!r} stands for another key: choose another id"
    elif there.status != wanted.status:
        trouble = (
            f"key {there.key_id!r} is {there.status}, and stays so; `bpc-worker keys generate` makes another"
        )
    elif there.purposes != wanted.purposes:
        named = ", ".join(sorted(there.purposes))
        trouble = f"key {there.key_id!r} is there already, for {named}: a key keeps its purposes"
    else:
        return
    raise Permanent(Code.VALIDATION_ERROR, trouble)


async def change_key(pipeline: PipelineSession, key_id: str, status: signing.KeyStatus) -> bool:
    """RETIRED verifies only, REVOKED does nothing any more; neither can be taken back. False: it was so."""
    try:
        return await _change(pipeline, key_id, status)
    except Permanent as error:
        if (error.detail or {}).get("sqlstate") != _RESTRICT_VIOLATION:
            raise
        raise Permanent(Code.VALIDATION_ERROR, _why_not(key_id, error.message)) from error


@again
async def _change(pipeline: PipelineSession, key_id: str, status: signing.KeyStatus) -> bool:
    async with pipeline.transaction() as tx:
        key = await _key(pipeline, tx, key_id)
        params = {"tenant_id": pipeline.tenant_id, "key_id": key_id, "status": status}
        if not await tx.query("keys/change", params):
            return False
        await _tell(pipeline, tx, f"KEY_{status}", key_id, key.public_key)
        return True


def _why_not(key_id: str, said: str) -> str:
    """In our words: the database's guards know neither the command nor what to do next."""
    if "not signed yet" in said:
        return (
            f"key {key_id!r} is named by passport versions that are not signed yet; wait until a worker that "
            "has the key has signed them (signing.former_keys), or revoke it if nobody has it any more"
        )
    return f"key {key_id!r} is revoked, and stays so; add another with `bpc-worker keys add`"


async def list_keys(pipeline: PipelineSession) -> list[SigningKey]:
    return await pipeline.rows("keys/registry", SigningKey)


async def keys_and_issuers(pipeline: PipelineSession) -> tuple[list[SigningKey], list[str]]:
    """What verifiers need: the keys, and the issuers they speak for, which are the hosts of identifiers."""
    async with pipeline.reading() as tx:
        rows = await tx.query("hosts/list", {"tenant_id": pipeline.tenant_id})
        hosts = [str(row["host"]) for row in rows]
        if not hosts and pipeline.settings.env != "prod":
            hosts = [STAND_IN_HOST]
        return await _keys(pipeline, tx), [f"https://{host}" for host in hosts]


async def registry(pipeline: PipelineSession, tx: Tx) -> signing.KeyRegistry:
    return key_registry(await _keys(pipeline, tx))


async def _key(pipeline: PipelineSession, tx: Tx, key_id: str) -> SigningKey:
    found = [key for key in await _keys(pipeline, tx) if key.key_id == key_id]
    if not found:
        raise Permanent(Code.NOT_FOUND, f"no key {key_id!r}; `bpc-worker keys list` shows them")
    return found[0]


async def _keys(pipeline: PipelineSession, tx: Tx) -> list[SigningKey]:
    return all_of(await tx.query("keys/registry", {"tenant_id": pipeline.tenant_id}), SigningKey)


async def _tell(pipeline: PipelineSession, tx: Tx, event_type: str, key_id: str, public_key: bytes) -> None:
    """Keys have names, aggregates have ids: the id is made from tenant and name."""
    happened = Happened(
        event_type=event_type,
        aggregate_type="signing_key",
        aggregate_id=uuid5(_NAMESPACE, f"signing_key {pipeline.tenant_id} {key_id}"),
        payload={"key_id": key_id, "public_key": public_key.hex()},
    )
    await pipeline.record(tx, happened)
