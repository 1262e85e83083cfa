"""What every JobStore does after a worker died, and what people do by hand: cancel, requeue, discard."""

import pytest

from bpc_worker.jobs.model import (
    Done,
    Failed,
    Retry,
    Snoozed,
    Status,
)
from bpc_worker.testing import an_error
from tests.contract.conftest import LEASE_SECONDS
from tests.support.stores import Bench


async def reap_all(bench: Bench) -> list[Status]:
    return [reaped.status for reaped in await bench.store.reap()]


async def test_the_reaper_brings_back_what_expired_and_nothing_else(bench: Bench) -> None:
    expired = await bench.add()
    await bench.claim()
    bench.side.advance(30)
    await bench.add()
    [alive] = await bench.claim()
    bench.side.advance(30)

    assert await reap_all(bench) == [Status.QUEUED]
    row = bench.side.row(expired)
    assert (row["status"], row["fail_code"], row["lease_token"]) == ("QUEUED", "LEASE_EXPIRED", None)
    assert bench.side.events(expired) == ["reaper:requeued"]
    assert bench.side.row(alive.job_id)["status"] == "RUNNING"


async def test_the_reaper_leaves_what_may_have_ended_in_an_outage(bench: Bench) -> None:
    before = await bench.add()
    await bench.claim()
    bench.side.advance(10)
    meanwhile = await bench.add()
    await bench.claim()
    bench.side.advance(LEASE_SECONDS)

    reaped = await bench.store.reap(ended_for=5)
    assert [each.job_id for each in reaped] == [before]
    assert bench.side.row(meanwhile)["status"] == "RUNNING"
    assert [each.job_id for each in await bench.store.reap()] == [meanwhile]


async def test_the_reaper_delays_by_the_same_backoff(bench: Bench) -> None:
    job_id = await bench.add()
    await bench.claim()
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()
    delay = (bench.side.row(job_id)["scheduled_at"] - bench.clock.now).total_seconds()  # type: ignore[operator]  # a datetime

    assert 2.0 <= delay <= 2.2


async def test_a_job_that_kills_every_holder_is_a_dead_letter(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=2)
    for _ in range(2):
        [claim] = await bench.claim()
        await bench.store.begin([claim])
        bench.side.advance(LEASE_SECONDS)
        await bench.store.reap()
        bench.side.advance(60)

    row = bench.side.row(job_id)
    assert (row["status"], row["fail_code"], row["attempts"]) == ("DEAD_LETTER", "LEASE_EXPIRED", 2)
    assert bench.side.events(job_id) == ["reaper:requeued", "reaper:dead_lettered"]
    assert await bench.claim() == []


async def test_a_reap_of_a_cancelled_job_is_cancelled(bench: Bench) -> None:
    job_id = await bench.add()
    await bench.claim()
    await bench.side.cancel(job_id)
    bench.side.advance(LEASE_SECONDS)

    assert await reap_all(bench) == [Status.CANCELLED]


async def test_a_holder_that_asks_is_told_who_is_to_be_cancelled(bench: Bench) -> None:
    wanted, unwanted = await bench.add(), await bench.add()
    claims = await bench.claim()
    await bench.side.cancel(unwanted)
    [asked] = [claim for claim in claims if claim.job_id == unwanted]

    assert wanted != unwanted
    assert await bench.store.cancel_requested(claims) == {asked.lease_token}
    await bench.settle(asked, Done())
    assert await bench.store.cancel_requested(claims) == frozenset(), "what has ended is nobody's"


@pytest.mark.parametrize("status", ["DEAD_LETTER", "FAILED"])
async def test_a_job_that_failed_can_be_queued_again_by_hand(bench: Bench, status: str) -> None:
    job_id = await bench.add(max_attempts=1)
    [claim] = await bench.claim()
    outcome = Retry(an_error()) if status == "DEAD_LETTER" else Failed(an_error())
    assert await bench.settle(claim, outcome) == status
    bench.side.advance(5)
    await bench.side.requeue(job_id, keep_attempts=True)
    row = bench.side.row(job_id)

    # No attempt was left, so they begin again; nothing remains of the claim.
    assert (row["status"], row["attempts"], row["snoozes"]) == ("QUEUED", 0, 0)
    assert (row["fail_code"], row["lease_token"], row["finished_at"]) == (None, None, None)
    assert row["last_error"] is not None
    assert bench.side.events(job_id)[-1] == "job:requeued"
    assert await bench.settle(claim, Done()) is None
    [again] = await bench.claim()
    assert (again.job_id, again.attempts) == (job_id, 1)


async def test_attempts_that_are_left_can_be_kept(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=3)
    [claim] = await bench.claim()
    await bench.settle(claim, Failed(an_error()))
    await bench.side.requeue(job_id, keep_attempts=True)

    assert bench.side.row(job_id)["attempts"] == 1


async def test_a_job_that_failed_can_be_discarded(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    await bench.settle(claim, Failed(an_error()))
    await bench.side.discard(job_id)

    assert bench.side.row(job_id)["status"] == "CANCELLED"
    assert bench.side.events(job_id) == ["job:failed", "job:cancelled"]


async def test_what_waits_is_cancelled_at_once_and_what_ended_stays(bench: Bench) -> None:
    waiting, done = await bench.add(delay_seconds=60), await bench.add()
    [claim] = await bench.claim()
    await bench.settle(claim, Done())

    assert [await bench.side.cancel(waiting), await bench.side.cancel(done)] == ["CANCELLED", "SUCCEEDED"]
    assert bench.side.events(waiting) == ["job:cancelled"]
    bench.side.advance(60)
    assert await bench.claim() == []


async def test_a_reaped_job_begins_its_snoozes_anew_and_a_success_clears_the_failure(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    await bench.settle(claim, Snoozed(an_error("RATE_LIMITED"), 5))
    bench.side.advance(6)
    await bench.claim()
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()
    reaped = bench.side.row(job_id)
    bench.side.advance(10)
    [claim] = await bench.claim()
    await bench.settle(claim, Done())
    done = bench.side.row(job_id)

    assert (reaped["snoozes"], reaped["fail_code"], reaped["fail_reason"]) == (
        0,
        "LEASE_EXPIRED",
        "lease expired",
    )
    assert (done["fail_code"], done["fail_reason"]) == (None, None)
    assert done["last_error"] is not None
