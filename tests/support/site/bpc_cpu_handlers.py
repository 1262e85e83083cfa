"""Two job types that keep a core busy, in children as it should be."""

from bpc_worker.handler_api import Context, HandlerSpec, Payload
from tests.support.child_tasks import BURN, Burn


class Hash(Payload, frozen=True):
    rounds: int


async def hash_much(payload: Hash, ctx: Context) -> object:
    burnt = await ctx.child(BURN, Burn(payload.rounds))
    return {"digest": burnt.digest.hex()}


A = HandlerSpec(job_type="TEST_CPU_A", payload=Hash, handle=hash_much, child_tasks=(BURN,))
B = HandlerSpec(job_type="TEST_CPU_B", payload=Hash, handle=hash_much, child_tasks=(BURN,))
