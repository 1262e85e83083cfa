"""Attempts that count only once they have begun, in every JobStore: the last one, and any after a death."""

from bpc_worker.jobs.model import MAX_SNOOZES, Claim, Done, Released, Status
from tests.contract.conftest import LEASE_SECONDS
from tests.support.stores import Bench


async def die(bench: Bench) -> list[Status]:
    """The worker is never heard of again, and its jobs are brought back."""
    bench.side.advance(LEASE_SECONDS)
    found = [reaped.status for reaped in await bench.store.reap()]
    bench.side.advance(60)
    return found


async def claim_one(bench: Bench) -> Claim:
    [claim] = await bench.claim()
    return claim


async def test_a_last_attempt_that_never_began_is_given_back(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=1)
    await claim_one(bench)

    assert await die(bench) == [Status.QUEUED]
    row = bench.side.row(job_id)
    assert (row["attempts"], row["snoozes"], row["lease_token"]) == (0, 1, None)
    assert row["fail_code"] is None, "it is not to blame"
    assert row["last_error"]["code"] == "LEASE_EXPIRED"  # type: ignore[index]  # JSON
    assert bench.side.events(job_id) == ["reaper:requeued"]
    assert (await claim_one(bench)).attempts == 1


async def test_a_last_attempt_that_began_is_the_last(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=1)
    claim = await claim_one(bench)
    assert await bench.store.begin([claim]) == {claim.lease_token}

    assert await die(bench) == [Status.DEAD_LETTER]
    row = bench.side.row(job_id)
    assert (row["attempts"], row["snoozes"], row["fail_code"]) == (1, 0, "LEASE_EXPIRED")


async def test_an_attempt_that_is_not_the_last_counts_without_a_word(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=3)
    claim = await claim_one(bench)
    assert not claim.lease_expired_before

    assert await die(bench) == [Status.QUEUED]
    row = bench.side.row(job_id)
    assert (row["attempts"], row["snoozes"], row["fail_code"]) == (1, 0, "LEASE_EXPIRED")


async def test_after_a_death_an_attempt_counts_only_if_it_began(bench: Bench) -> None:
    """Whoever died beside a guilty job must not pay for it twice."""
    job_id = await bench.add(max_attempts=5)
    await claim_one(bench)
    await die(bench)

    again = await claim_one(bench)
    assert again.lease_expired_before
    assert await die(bench) == [Status.QUEUED]
    row = bench.side.row(job_id)
    assert (row["attempts"], row["snoozes"], row["fail_code"]) == (1, 1, "LEASE_EXPIRED")

    third = await claim_one(bench)
    await bench.store.begin([third])
    await die(bench)
    row = bench.side.row(job_id)
    assert (row["attempts"], row["snoozes"]) == (2, 0)


async def test_the_pauses_of_what_never_begins_grow_and_it_dies_in_the_end(bench: Bench) -> None:
    """It may be what kills its workers before they can say that it began."""
    job_id = await bench.add(max_attempts=1)
    pauses = []
    for _ in range(3):
        await claim_one(bench)
        bench.side.advance(LEASE_SECONDS)
        await bench.store.reap()
        due = bench.side.row(job_id)["scheduled_at"]
        pauses.append((due - bench.clock.now).total_seconds())  # type: ignore[operator]  # a datetime
        bench.side.advance(60)
    assert all(wanted <= pause <= wanted * 1.1 for wanted, pause in zip((2, 4, 8), pauses, strict=True))

    bench.side.change(job_id, snoozes=MAX_SNOOZES)
    await claim_one(bench)
    assert await die(bench) == [Status.DEAD_LETTER]
    assert bench.side.row(job_id)["fail_code"] == "LEASE_EXPIRED"


async def test_a_cancelled_job_that_never_began_is_cancelled(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=1)
    await claim_one(bench)
    await bench.side.cancel(job_id)

    assert await die(bench) == [Status.CANCELLED]


async def test_only_the_holder_begins(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=1)
    lost = await claim_one(bench)
    await die(bench)
    held = await claim_one(bench)

    assert await bench.store.begin([lost, held]) == {held.lease_token}
    assert bench.side.row(job_id)["begun_token"] == held.lease_token


async def test_what_has_ended_does_not_begin(bench: Bench) -> None:
    await bench.add(max_attempts=1)
    claim = await claim_one(bench)
    await bench.settle(claim, Done())

    assert await bench.store.begin([claim]) == frozenset()


async def test_a_beginning_counts_for_its_own_claim_alone(bench: Bench) -> None:
    await bench.add(max_attempts=1)
    first = await claim_one(bench)
    await bench.store.begin([first])
    await bench.settle(first, Released())
    await claim_one(bench)

    assert await die(bench) == [Status.QUEUED], "the second claim never began"


async def test_fewer_attempts_than_were_made_do_not_stop_the_reaper(bench: Bench) -> None:
    """Somebody lowers them by hand: to give one back is not enough, and what waits must have one left."""
    job_id = await bench.add(max_attempts=5)
    other = await bench.add(max_attempts=1)
    bench.side.change(job_id, attempts=4)
    assert len(await bench.claim()) == 2
    bench.side.change(job_id, max_attempts=2)

    assert sorted(await die(bench)) == [Status.DEAD_LETTER, Status.QUEUED]
    assert bench.side.row(other)["status"] == "QUEUED"
    bench.side.change(job_id, max_attempts=5)  # nor is that a legal history
