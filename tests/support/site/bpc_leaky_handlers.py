"""Handlers whose failures quote what they were given, as careless ones do."""

import asyncio

import msgspec

from bpc_worker.handler_api import ChildTask, Context, HandlerSpec, Payload, Tx


class Leak(Payload, frozen=True):
    how: str
    words: str
    limit: int = 0


class Said(msgspec.Struct, frozen=True):
    words: str


def quote_in_child(request: Said) -> Said:
    raise ValueError(request.words)


QUOTE = ChildTask(name="bpc_leaky_handlers:QUOTE", request=Said, response=Said, run=quote_in_child)


async def leak(payload: Leak, ctx: Context) -> object:
    match payload.how:
        case "bug":
            raise ValueError(payload.words)
        case "cause":
            raise RuntimeError(payload.words) from KeyError(payload.words)
        case "task":
            asyncio.get_running_loop().create_task(_fail(payload.words), name=payload.words)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        case "child":
            await ctx.child(QUOTE, Said(payload.words))
        case "constraint":
            await ctx.complete(lambda tx: _refused_row(tx, payload.words))
        case "cast":
            async with ctx.reading() as reading:
                await reading.execute("SELECT %(words)s::integer AS n", {"words": payload.words})
    return None


async def _fail(words: str) -> None:
    raise ValueError(words)


async def _refused_row(tx: Tx, words: str) -> None:
    await tx.execute(
        "INSERT INTO test_effects (job_id, key, attempt, pid) VALUES (gen_random_uuid(), %(words)s, NULL, 1)",
        {"words": words},
    )


LEAK = HandlerSpec(job_type="TEST_LEAK", payload=Leak, handle=leak, child_tasks=(QUOTE,))
