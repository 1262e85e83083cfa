"""Handlers that do what no handler should, each in another way."""

import asyncio
import sys
import time

from bpc_worker.handler_api import Context, HandlerSpec, Payload, Retryable


class Odd(Payload, frozen=True):
    how: str


async def odd(payload: Odd, ctx: Context) -> object:  # noqa: C901 - one branch per oddity
    match payload.how:
        case "hang after complete":
            await ctx.complete(result={"ok": True})
            await asyncio.sleep(600)
        case "exit":
            sys.exit(3)
        case "exit in a task":
            asyncio.get_running_loop().create_task(_exit())
            await asyncio.sleep(1)
        case "block in a task":
            async with asyncio.TaskGroup() as group:
                group.create_task(_block())
        case "unstorable progress":
            ctx.stage("a\x00b", note="c\x00d")
            await asyncio.sleep(5)
        case "unstorable detail":
            raise Retryable("COMMAND_FAILED", "x", detail={"set": {1}, "nul": "\x00"})
        case "huge result":
            return "x" * 2_000_000
        case "quote the payload":
            raise ValueError("IBAN DE89 3704 0044 0532 0130 00")
        case "turn cancellation into an error":
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                raise Retryable("COMMAND_FAILED", "interrupted") from None
    return {"how": payload.how}


async def _exit() -> None:
    sys.exit(4)


async def _block() -> None:
    time.sleep(600)  # noqa: ASYNC251 - on purpose


ODD = HandlerSpec(job_type="TEST_ODD", payload=Odd, handle=odd, timeout_seconds=8)
