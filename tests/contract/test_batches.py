"""What every JobStore does with many at once: queue them, end them, refuse them."""

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import (
    Done,
    Failed,
    JobId,
    NewJob,
    Priority,
    Released,
    Retry,
    Settleable,
    Snoozed,
    Status,
)
from bpc_worker.testing import an_error
from tests.contract.conftest import LEASE_SECONDS
from tests.support.stores import Bench, settled


def numbered(number: int, **more: object) -> NewJob:
    return NewJob(type="TEST_NOOP", payload={"n": number}, **more)  # type: ignore[arg-type]  # whatever is named


async def test_many_are_queued_in_their_order(bench: Bench) -> None:
    found = await bench.store.enqueue_many(bench.tenant, [numbered(number) for number in range(50)])

    assert all(each.added for each in found)
    assert [claim.job_id for claim in await bench.claim(50)] == [each.job_id for each in found]


async def test_nothing_of_many_is_queued_when_one_is_refused(bench: Bench) -> None:
    await bench.store.enqueue(bench.tenant, numbered(1, idempotency_key="k"))
    [_] = await bench.claim()
    conflict = [numbered(5), numbered(2, idempotency_key="k"), numbered(6)]
    with pytest.raises(Permanent, match="IDEMPOTENCY_CONFLICT"):
        await bench.store.enqueue_many(bench.tenant, conflict)
    with pytest.raises(Permanent, match="VALIDATION_ERROR"):
        await bench.store.enqueue_many(bench.tenant, [numbered(7), NewJob(type="lower_case")])

    assert await bench.claim() == []


async def test_a_key_that_is_there_already_adds_nothing(bench: Bench) -> None:
    there = await bench.store.enqueue(bench.tenant, numbered(1, idempotency_key="k"))
    jobs = [numbered(1, idempotency_key="k"), numbered(2), numbered(3, idempotency_key="l")]
    found = await bench.store.enqueue_many(bench.tenant, jobs)

    assert [each.added for each in found] == [False, True, True]
    assert found[0].job_id == there.job_id
    assert len(await bench.claim()) == 3


async def test_a_key_given_twice_in_one_call_is_one_job(bench: Bench) -> None:
    twice = [numbered(1, idempotency_key="k"), numbered(2), numbered(1, idempotency_key="k")]
    first, _, second = await bench.store.enqueue_many(bench.tenant, twice)

    assert (first.added, second.added) == (True, False)
    assert first.job_id == second.job_id
    assert len(await bench.claim()) == 2


async def test_a_key_given_twice_in_one_call_for_different_work_is_a_conflict(bench: Bench) -> None:
    twice = [numbered(1, idempotency_key="k"), numbered(2, idempotency_key="k")]
    with pytest.raises(Permanent, match="IDEMPOTENCY_CONFLICT"):
        await bench.store.enqueue_many(bench.tenant, twice)

    assert await bench.claim() == []


async def test_many_of_nothing_is_nothing(bench: Bench) -> None:
    assert await bench.store.enqueue_many(bench.tenant, []) == []


async def test_a_group_ends_each_in_its_own_way(bench: Bench) -> None:
    for number in range(5):
        await bench.store.enqueue(bench.tenant, numbered(number))
    claims = await bench.claim()
    outcomes: list[Settleable] = [
        Done('{"ok": true}'), Retry(an_error()), Failed(an_error()), Snoozed(an_error(), 5), Released()
    ]  # fmt: skip
    ends = [(claim, settled(claim, outcome)) for claim, outcome in zip(claims, outcomes, strict=True)]
    answer = await bench.store.settle_group(ends)

    assert [answer[claim.lease_token] for claim in claims] == [
        Status.SUCCEEDED, Status.QUEUED, Status.FAILED, Status.QUEUED, Status.QUEUED
    ]  # fmt: skip
    assert [bench.side.events(claim.job_id) for claim in claims] == [
        [], ["job:retried"], ["job:failed"], ["job:snoozed"], ["job:released"]
    ]  # fmt: skip
    assert bench.side.row(claims[0].job_id)["result"] == {"ok": True}
    assert [bench.side.row(claim.job_id)["attempts"] for claim in claims] == [1, 1, 1, 0, 0]
    assert all(bench.side.row(claim.job_id)["lease_owner"] is None for claim in claims)


async def test_one_that_was_lost_harms_nobody_in_its_group(bench: Bench) -> None:
    await bench.add()
    [lost] = await bench.claim()
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()
    bench.side.advance(3)
    [again] = await bench.claim()
    others = [await bench.add() for _ in range(2)]
    first, second = await bench.claim()
    ends = [(claim, settled(claim, Done())) for claim in (first, lost, second)]

    assert await bench.store.settle_group(ends) == {
        first.lease_token: Status.SUCCEEDED,
        second.lease_token: Status.SUCCEEDED,
    }
    assert [first.job_id, second.job_id] == others
    row = bench.side.row(again.job_id)
    assert (row["status"], row["lease_token"]) == ("RUNNING", again.lease_token)


async def test_a_repeated_group_changes_nothing(bench: Bench) -> None:
    await bench.add()
    [claim] = await bench.claim()
    ends = [(claim, settled(claim, Retry(an_error())))]
    await bench.store.settle_group(ends)

    assert await bench.store.settle_group(ends) == {}
    assert (
        await bench.settle(claim, Retry(an_error())) is Status.QUEUED
    )  # settled singly, it tells how it ended
    assert bench.side.events(claim.job_id) == ["job:retried"]


async def test_nothing_of_a_group_is_written_when_one_cannot_be_stored(bench: Bench) -> None:
    for number in range(2):
        await bench.store.enqueue(bench.tenant, numbered(number))
    good, bad = await bench.claim()
    with pytest.raises(Permanent, match="VALIDATION_ERROR"):
        await bench.store.settle_group(
            [(good, settled(good, Done())), (bad, settled(bad, Done("{not JSON")))]
        )

    assert [bench.side.row(claim.job_id)["status"] for claim in (good, bad)] == ["RUNNING", "RUNNING"]
    assert await bench.settle(good, Done()) is Status.SUCCEEDED


async def test_a_full_queue_refuses_what_is_new(small_bench: Bench) -> None:
    """Room for three. What follows from accepted work, and what is there already, is never refused."""
    bench = small_bench
    keyed = numbered(1, idempotency_key="k")
    first = await bench.store.enqueue(bench.tenant, keyed)
    await bench.store.enqueue_many(bench.tenant, [numbered(2), numbered(3, priority=Priority.HIGH)])
    with pytest.raises(Permanent, match="QUEUE_FULL"):
        await bench.add()

    known = type(first)(first.job_id, added=False)
    assert await bench.store.enqueue(bench.tenant, keyed) == known
    assert await bench.store.enqueue_many(bench.tenant, [keyed, keyed]) == [known, known]
    follow_up = await bench.store.enqueue(bench.tenant, numbered(4), parent=JobId(first.job_id))
    assert follow_up.added
    assert len(await bench.claim(10)) == 4
    await bench.side.count()
    await bench.add()


async def test_many_that_do_not_all_fit_are_refused_together(small_bench: Bench) -> None:
    with pytest.raises(Permanent, match="QUEUE_FULL"):
        await small_bench.store.enqueue_many(small_bench.tenant, [numbered(number) for number in range(4)])

    assert await small_bench.claim() == []


async def test_a_retry_always_finds_room(small_bench: Bench) -> None:
    await small_bench.add()
    [claim] = await small_bench.claim()
    await small_bench.side.count()
    for _ in range(3):
        await small_bench.add()

    assert await small_bench.settle(claim, Retry(an_error())) is Status.QUEUED
