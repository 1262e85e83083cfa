"""Job types that work in children: two that keep a core busy, one that never ends, and a chain of jobs."""

from bpc_worker.handler_api import Context, HandlerSpec, NewJob, Payload, Tx
from tests.support.child_tasks import BURN, WORK, Ask, Burn


class Nothing(Payload, frozen=True):
    pass


class Hash(Payload, frozen=True):
    rounds: int


class Chain(Payload, frozen=True):
    """Asks a child, then queues the next link."""

    depth: int
    rounds: int = 1
    task: str = "double"


async def hash_much(payload: Hash, ctx: Context) -> object:
    burnt = await ctx.child(BURN, Burn(payload.rounds))
    return {"digest": burnt.digest.hex(), "pid": burnt.pid}


async def hang(_: Nothing, ctx: Context) -> object:
    await ctx.child(WORK, Ask("hang"))
    return None


async def chain(payload: Chain, ctx: Context) -> None:
    await ctx.child(WORK, Ask(payload.task, payload.rounds))

    async def write(tx: Tx) -> None:
        if payload.depth > 0:
            await tx.enqueue(NewJob(type="TEST_CHAIN", payload={"depth": payload.depth - 1}))

    await ctx.complete(write)


A = HandlerSpec(job_type="TEST_CPU_A", payload=Hash, handle=hash_much, child_tasks=(BURN,))
B = HandlerSpec(job_type="TEST_CPU_B", payload=Hash, handle=hash_much, child_tasks=(BURN,))
CHAIN = HandlerSpec(job_type="TEST_CHAIN", payload=Chain, handle=chain, child_tasks=(WORK,))
HANG = HandlerSpec(job_type="TEST_CPU_HANG", payload=Nothing, handle=hang, child_tasks=(WORK,))
