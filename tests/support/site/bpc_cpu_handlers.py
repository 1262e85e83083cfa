"""Job types that work in children: two that keep a core busy, and one that never ends."""

from bpc_worker.handler_api import Context, HandlerSpec, Payload
from tests.support.child_tasks import BURN, WORK, Ask, Burn


class Nothing(Payload, frozen=True):
    pass


class Hash(Payload, frozen=True):
    rounds: int


async def hash_much(payload: Hash, ctx: Context) -> object:
    burnt = await ctx.child(BURN, Burn(payload.rounds))
    return {"digest": burnt.digest.hex()}


async def hang(_: Nothing, ctx: Context) -> object:
    await ctx.child(WORK, Ask("hang"))
    return None


A = HandlerSpec(job_type="TEST_CPU_A", payload=Hash, handle=hash_much, child_tasks=(BURN,))
B = HandlerSpec(job_type="TEST_CPU_B", payload=Hash, handle=hash_much, child_tasks=(BURN,))
HANG = HandlerSpec(job_type="TEST_CPU_HANG", payload=Nothing, handle=hang, child_tasks=(WORK,))
