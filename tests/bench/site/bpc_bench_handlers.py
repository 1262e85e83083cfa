"""Handlers for the benches beside those of the product: one does nothing, one says when it began."""

import os
import time
from functools import cache

from bpc_worker.handler_api import Context, HandlerSpec, Payload


class Mark(Payload, frozen=True):
    """Its number and when it began are written into a named pipe."""

    number: int
    pipe: str


@cache
def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY)


async def mark(payload: Mark, _: Context) -> None:
    began_ns = time.monotonic_ns()
    os.write(_opened(payload.pipe), f"{payload.number} {began_ns}\n".encode())


class Nothing(Payload, frozen=True):
    pass


async def noop(_: Nothing, __: Context) -> object:
    return {"started_ns": time.monotonic_ns()}


NOOP = HandlerSpec(job_type="TEST_NOOP", payload=Nothing, handle=noop)
MARK = HandlerSpec(job_type="TEST_MARK", payload=Mark, handle=mark)
