"""SIGN_STATUS_LIST: what a status list has to tell now, signed with the key that is there for it."""

from array import array
from collections.abc import Iterable
from datetime import datetime
from sys import byteorder
from typing import Annotated

import msgspec

from bpc_worker.core.base import signing
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport import status_list
from bpc_worker.core.passport.status_list import Status
from bpc_worker.domain.records import SigningKey
from bpc_worker.domain.signing import key_registry, sign_document
from bpc_worker.domain.status_lists import list_uri
from bpc_worker.handler_api import Code, Context, HandlerSpec, NewJob, Payload, Permanent, Tx
from bpc_worker.rows import all_of, one, value

Number = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class SignStatusList(Payload, frozen=True):
    list: Number | None = None  # unset: one job for each list of the tenant


class Told(msgspec.Struct, frozen=True):
    """The places of each status, four bytes each."""

    issuer: str
    as_of: datetime
    active: bytes
    revoked: bytes
    superseded: bytes

    @property
    def words(self) -> bytes:
        return status_list.pack(
            {
                Status.ACTIVE: _places(self.active),
                Status.REVOKED: _places(self.revoked),
                Status.SUPERSEDED: _places(self.superseded),
            }
        )


async def handle(payload: SignStatusList, ctx: Context) -> None:
    signer = ctx.status_signer
    if payload.list is None:
        await ctx.complete(lambda tx: _queue_each(tx, ctx))
        return
    tenant: dict[str, object] = {"tenant_id": ctx.job.tenant_id}
    keys = all_of(await ctx.read("keys/registry", tenant), SigningKey)
    wanted = tenant | {"status_list": payload.list}
    told = one(await ctx.write_ahead("status/words", wanted), Told, "status list")
    document = status_list.claims(
        list_uri(told.issuer, payload.list), int(told.as_of.timestamp()), told.words
    )
    try:
        signature = await sign_document(
            signer, key_registry(keys), Kind.STATUS_LIST, document, key_id=signer.key_id
        )
    except signing.SignatureError as error:
        hint = "add it with `bpc-worker keys add --purpose status`"
        raise Permanent(Code.SIGNING_KEY_MISSING, f"the status key: {error.message}; {hint}") from error
    token = status_list.token(document, signer.key_id, signature)
    signed = wanted | {"token": token, "as_of": told.as_of, "key_id": signer.key_id}

    async def write(tx: Tx) -> None:
        await tx.query("status/store", signed)

    await ctx.complete(write, result={"list": payload.list, "bytes": len(token)})


async def _queue_each(tx: Tx, ctx: Context) -> None:
    for row in await tx.query("status/lists", {"tenant_id": ctx.job.tenant_id}):
        number = value([row], int)
        await tx.enqueue(
            NewJob(
                type=SPEC.job_type,
                payload={"list": number},
                idempotency_key=f"{number} after {ctx.job.job_id}",
            )
        )


def _places(packed: bytes) -> Iterable[int]:
    places = array("i", packed)
    if byteorder == "little":  # they came as the network has them
        places.byteswap()
    return places


SPEC = HandlerSpec(job_type="SIGN_STATUS_LIST", payload=SignStatusList, handle=handle)
