"""A claim that writes on its way how other jobs ended."""

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import Claim, Done, Status
from tests.contract.conftest import LEASE_SECONDS
from tests.support.stores import Bench, settled


async def claimed(bench: Bench, count: int) -> list[Claim]:
    for _ in range(count):
        await bench.add()
    return await bench.claim(count)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("looks_before", range(8))  # whoever has a turn
async def test_both_halves_take_place(bench: Bench, looks_before: int, fresh: bool) -> None:  # noqa: FBT001
    ending = await claimed(bench, 2)
    for _ in range(looks_before):
        await bench.store.claim(limit=1)
    waiting = [await bench.add() for _ in range(2)]
    ends = [(claim, settled(claim, Done('{"n": 1}', b"h" * 32))) for claim in ending]
    look = await bench.store.claim(limit=2, fresh=fresh, ends=ends)

    assert look.ended
    assert [claim.job_id for claim in look.claims] == waiting
    for claim in ending:
        row = bench.side.row(claim.job_id)
        assert (row["status"], row["result"], row["lease_owner"]) == ("SUCCEEDED", {"n": 1}, None)
        assert row["lease_token"] == claim.lease_token
        assert bench.side.events(claim.job_id) == []


async def test_ends_are_written_where_nothing_is_due(bench: Bench) -> None:
    [claim] = await claimed(bench, 1)
    look = await bench.store.claim(limit=5, ends=[(claim, settled(claim, Done()))])

    assert (look.ended, list(look.claims), look.more) == (True, [], False)
    assert bench.side.row(claim.job_id)["status"] == "SUCCEEDED"


async def test_an_end_under_a_lost_lease_is_not_written(bench: Bench) -> None:
    lost, held = await claimed(bench, 2)
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()
    bench.side.advance(3)
    again = {claim.job_id: claim for claim in await bench.claim()}
    await bench.add()
    ends = [
        (lost, settled(lost, Done())),
        (again[held.job_id], settled(again[held.job_id], Done())),
    ]
    look = await bench.store.claim(limit=1, ends=ends)

    assert not look.ended
    assert len(look.claims) == 1
    assert bench.side.row(lost.job_id)["lease_token"] == again[lost.job_id].lease_token
    assert bench.side.row(lost.job_id)["status"] == "RUNNING"
    # Whoever is told that not all were written settles each by itself, and hears how it is.
    assert await bench.settle(again[held.job_id], Done()) is Status.SUCCEEDED
    assert await bench.settle(lost, Done()) is None


async def test_one_that_cannot_be_stored_spoils_both_halves(bench: Bench) -> None:
    good, bad = await claimed(bench, 2)
    waiting = await bench.add()
    ends = [(good, settled(good, Done())), (bad, settled(bad, Done("{not JSON")))]
    with pytest.raises(Permanent, match="VALIDATION_ERROR"):
        await bench.store.claim(limit=1, ends=ends)

    assert [bench.side.row(claim.job_id)["status"] for claim in (good, bad)] == ["RUNNING", "RUNNING"]
    assert bench.side.row(waiting)["status"] == "QUEUED"
