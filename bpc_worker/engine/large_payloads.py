"""Payloads that are too large to come with their claims: read one by one, when there is room for them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from bpc_worker.engine.held_bytes import HeldBytes
from bpc_worker.handler_api import Row
from bpc_worker.jobs.errors import Code, JobError, LeaseLost, Permanent, Unavailable
from bpc_worker.jobs.model import Claim

_COPIES = 2  # its text, and what is made of it


class Reader(Protocol):
    async def read(self, claim: Claim, name: str, params: Mapping[str, object]) -> list[Row]: ...


@asynccontextmanager
async def payload_in_memory(claim: Claim, database: Reader, budget: HeldBytes) -> AsyncIterator[None]:
    """The claim has it meanwhile."""
    held = await budget.acquire(_COPIES * claim.payload_bytes)
    try:
        claim.payload = await _read(claim, database)
        yield
    finally:
        claim.payload = None
        held.release()


async def _read(claim: Claim, database: Reader) -> str:
    params = {"job_id": claim.job_id, "lease_token": claim.lease_token}
    try:
        rows = await database.read(claim, "jobs/read_payload", params)
    except Unavailable:
        raise
    except JobError:
        rows = await _read_again(claim, database, params)
    if not rows:
        raise LeaseLost("the job is somebody else's by now")
    payload = rows[0]["payload"]
    if payload is None:
        raise Permanent(Code.PAYLOAD_TOO_LARGE, "the payload has more than 32 MiB of text; send a reference")
    return str(payload)


async def _read_again(claim: Claim, database: Reader, params: Mapping[str, object]) -> list[Row]:
    """What cannot be read twice, cannot be read."""
    try:
        return await database.read(claim, "jobs/read_payload", params)
    except Unavailable:
        raise
    except JobError as error:
        raise Permanent(Code.PAYLOAD_TOO_LARGE, f"the payload cannot be read: {error.message}") from error
