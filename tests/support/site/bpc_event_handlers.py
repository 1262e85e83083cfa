"""A handler that appends to one chain, as those of the product do."""

from uuid import UUID

from bpc_worker.domain.events import Happened, record
from bpc_worker.handler_api import Context, HandlerSpec, Payload, Tx


class Tell(Payload, frozen=True):
    chain: UUID


async def tell(payload: Tell, ctx: Context) -> None:
    async def write(tx: Tx) -> None:
        happened = Happened(
            event_type="PASSPORT_EXPORTED", aggregate_type="passport", aggregate_id=payload.chain, payload={}
        )
        await record(tx, happened, tenant_id=ctx.job.tenant_id, actor_id=f"job:{ctx.job.job_id}")

    await ctx.complete(write)


TELL = HandlerSpec(job_type="TEST_TELL", payload=Tell, handle=tell)
