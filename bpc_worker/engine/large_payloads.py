"""Payloads that are too large to come with their claims: read one by one, when there is room for them."""

from collections.abc import Mapping
from typing import Protocol

from bpc_worker.handler_api import Row
from bpc_worker.jobs.errors import Code, JobError, LeaseLost, Permanent, Unavailable
from bpc_worker.jobs.model import Claim


class Reader(Protocol):
    async def read(self, claim: Claim, name: str, params: Mapping[str, object]) -> list[Row]: ...


async def read_payload(claim: Claim, database: Reader) -> str:
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
