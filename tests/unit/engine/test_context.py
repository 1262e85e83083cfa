"""What a handler holds: blobs by their hash, read in parts, and bytes that count until it ends."""

import pytest

from bpc_worker.core.base.hashing import sha256
from bpc_worker.handler_api import Context, HandlerSpec, Payload
from bpc_worker.jobs.model import NewJob, Status
from bpc_worker.testing import Workbench

_MIB = 1024 * 1024


class Wanted(Payload, frozen=True):
    sha256: str


async def _read(payload: Wanted, ctx: Context) -> dict[str, object]:
    content = await ctx.blob(bytes.fromhex(payload.sha256))
    return {"sha256": sha256(content).hex(), "bytes": len(content)}


SPEC = HandlerSpec(job_type="TEST_READ", payload=Wanted, handle=_read)


def answers(content: bytes) -> dict[str, object]:
    """As PostgreSQL would give them."""

    def find(params: dict[str, object]) -> list[dict[str, object]]:
        if params["sha256"] != sha256(content):
            return []
        most = int(str(params["whole_up_to"]))
        return [{"size": len(content), "content": content if len(content) <= most else None}]

    def part(params: dict[str, object]) -> list[dict[str, object]]:
        first, count = int(str(params["first"])), int(str(params["count"]))
        return [{"part": content[first - 1 : first - 1 + count]}]

    return {"blobs/find": find, "blobs/part": part}


@pytest.mark.parametrize("size", [0, 1, 32 * 1024, 32 * 1024 + 1, _MIB, _MIB + 1, 3 * _MIB + 7])
async def test_a_blob_is_whole_whatever_its_size(size: int) -> None:
    content = bytes(number * 7 % 251 for number in range(251)) * (size // 251 + 1)
    content = content[:size]
    bench = Workbench(handlers=SPEC, answers=answers(content))  # type: ignore[arg-type]  # parameters as a dict
    await bench.enqueue(NewJob(type="TEST_READ", payload={"sha256": sha256(content).hex()}))

    job = (await bench.drain()).only
    assert job.result == {"sha256": sha256(content).hex(), "bytes": size}
    assert bench.held.used == 0, "it was given back with the end of the handler"


async def test_a_blob_that_is_not_there_is_not_found() -> None:
    bench = Workbench(handlers=SPEC, answers=answers(b"other"))  # type: ignore[arg-type]
    await bench.enqueue(NewJob(type="TEST_READ", payload={"sha256": "0" * 64}))

    job = (await bench.drain()).only
    assert (job.status, job.code) == (Status.FAILED, "NOT_FOUND")
    assert "bpc_put_blob" in str(job.message)
