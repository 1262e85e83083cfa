"""A handler with an effect outside the database and a result that takes room."""

import asyncio
import os
from base64 import b64encode
from pathlib import Path

from bpc_worker.handler_api import Context, HandlerSpec, Payload


class Large(Payload, frozen=True):
    effects: str  # a file that gets a line at every run
    size: int
    seconds: float = 0.0


async def large(payload: Large, ctx: Context) -> object:
    await asyncio.sleep(payload.seconds)
    with Path(payload.effects).open("a", encoding="ascii") as effects:
        effects.write(f"{ctx.job.job_id}\n")
    return {"bytes": b64encode(os.urandom(payload.size * 3 // 4)).decode()}  # which cannot be compressed


LARGE = HandlerSpec(job_type="TEST_LARGE", payload=Large, handle=large)
