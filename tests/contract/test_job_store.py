"""What every JobStore does with a job: queue it, hold it, end it. Time is moved by hand."""

from datetime import timedelta

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import (
    Cancelled,
    Done,
    Failed,
    Fate,
    InfrastructureAway,
    NewJob,
    Priority,
    Released,
    Retry,
    Settleable,
    Snoozed,
    Status,
)
from bpc_worker.jobs.store import Heartbeat
from bpc_worker.testing import NOON, an_error
from tests.contract.conftest import LEASE_SECONDS
from tests.support.stores import Bench


async def test_what_is_queued_comes_out_whole(bench: Bench) -> None:
    job_id = await bench.add(payload={"a": [1, "ü"]}, correlation_id="c-1")
    [claim] = await bench.claim()

    assert (claim.job_id, claim.type, claim.attempts, claim.correlation_id) == (job_id, "TEST_NOOP", 1, "c-1")
    assert claim.payload == '{"a": [1, "ü"]}'
    assert bench.side.row(job_id)["status"] == "RUNNING"


async def test_type_defaults_apply_where_the_producer_says_nothing(bench: Bench) -> None:
    row = bench.side.row(await bench.add("TEST_EFFECT"))
    said = bench.side.row(await bench.add("TEST_EFFECT", priority=Priority.CRITICAL, max_attempts=2))

    assert (row["priority"], row["max_attempts"]) == (1, 7)
    assert (said["priority"], said["max_attempts"]) == (0, 2)


async def test_the_same_key_is_the_same_job(bench: Bench) -> None:
    job = NewJob(type="TEST_NOOP", payload={"n": 1}, idempotency_key="k")
    first = await bench.store.enqueue(bench.tenant, job)
    second = await bench.store.enqueue(bench.tenant, job)

    assert (first.added, second.added) == (True, False)
    assert first.job_id == second.job_id


async def test_the_same_key_with_another_payload_is_a_conflict(bench: Bench) -> None:
    await bench.add(payload={"n": 1}, idempotency_key="k")
    with pytest.raises(Permanent, match="IDEMPOTENCY_CONFLICT"):
        await bench.add(payload={"n": 2}, idempotency_key="k")


async def test_keys_belong_to_a_type(bench: Bench) -> None:
    assert await bench.add(idempotency_key="k") != await bench.add("TEST_EFFECT", idempotency_key="k")


async def test_a_renewal_extends_the_lease_and_writes_progress(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    bench.side.advance(30)
    renewal = await bench.store.renew([Heartbeat(claim.job_id, claim.lease_token, "half", '{"done": 5}')])

    assert renewal.renewed == {claim.lease_token}
    row = bench.side.row(job_id)
    assert row["lease_expires_at"] == NOON + timedelta(seconds=90)
    assert (row["stage"], row["progress"]) == ("half", {"done": 5})


async def test_an_expired_lease_is_never_revived(bench: Bench) -> None:
    await bench.add()
    [claim] = await bench.claim()
    bench.side.advance(LEASE_SECONDS)
    renewal = await bench.store.renew([Heartbeat(claim.job_id, claim.lease_token)])

    assert renewal.renewed == frozenset()
    assert renewal.missing == {claim.lease_token: Fate.LOST}


async def test_a_renewal_tells_of_a_cancel_request(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    await bench.side.cancel(job_id)
    renewal = await bench.store.renew([Heartbeat(claim.job_id, claim.lease_token)])

    assert renewal.cancel_requested == {claim.lease_token}


async def test_the_loser_of_a_lease_cannot_finish_the_job(bench: Bench) -> None:
    """A worker that froze, lost its lease and woke up writes nothing, though both have the same name."""
    await bench.add()
    [first] = await bench.claim()
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()
    bench.side.advance(3)
    [second] = (await bench.side.other.claim(limit=1)).claims

    assert second.job_id == first.job_id
    assert await bench.settle(first, Done('{"by": "first"}')) is None
    assert await bench.settle(second, Done('{"by": "second"}')) is Status.SUCCEEDED
    assert bench.side.row(first.job_id)["result"] == {"by": "second"}


async def test_a_settle_can_be_repeated_after_a_lost_answer(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()

    assert await bench.settle(claim, Retry(an_error())) is Status.QUEUED
    assert await bench.settle(claim, Retry(an_error())) is Status.QUEUED
    assert bench.side.events(job_id) == ["job:retried"]


@pytest.mark.parametrize(
    ("outcome", "status", "attempts", "snoozes", "events"),
    [
        (Done('{"ok": true}'), "SUCCEEDED", 1, 0, []),
        (Retry(an_error()), "QUEUED", 1, 0, ["job:retried"]),
        (Failed(an_error()), "FAILED", 1, 0, ["job:failed"]),
        (Snoozed(an_error("RATE_LIMITED"), 5), "QUEUED", 0, 1, ["job:snoozed"]),
        (InfrastructureAway(an_error("DB_UNAVAILABLE")), "QUEUED", 0, 1, ["job:snoozed"]),
        (Released(), "QUEUED", 0, 0, ["job:released"]),
        (Cancelled(), "CANCELLED", 1, 0, ["job:cancelled"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | int | list) else "",
)
async def test_every_outcome_is_written_with_its_event(
    bench: Bench, outcome: Settleable, status: str, attempts: int, snoozes: int, events: list[str]
) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    assert await bench.settle(claim, outcome) == status
    row = bench.side.row(job_id)

    assert (row["status"], row["attempts"], row["snoozes"]) == (status, attempts, snoozes)
    assert (row["lease_owner"], row["lease_expires_at"]) == (None, None)
    assert row["lease_token"] == claim.lease_token  # it tells whose settle this was
    assert (row["finished_at"] is None) == (status == "QUEUED")
    assert bench.side.events(job_id) == events


async def test_an_error_is_stored_in_one_shape(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    await bench.settle(claim, Retry(an_error("WEBHOOK_FAILED")))
    row = bench.side.row(job_id)

    assert row["last_error"] == {
        "code": "WEBHOOK_FAILED", "message": "it did not work", "retryable": True,
        "attempt": 1, "at": "2026-11-16T12:00:00.000000Z", "detail": None,
    }  # fmt: skip
    assert (row["fail_code"], row["fail_reason"]) == ("WEBHOOK_FAILED", "it did not work")


async def test_retries_are_delayed_and_end_in_a_dead_letter(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=3)
    delays = []
    for _ in range(3):
        [claim] = await bench.claim()
        await bench.settle(claim, Retry(an_error()))
        scheduled = bench.side.row(job_id)["scheduled_at"]
        delays.append((scheduled - bench.clock.now).total_seconds())  # type: ignore[operator]  # a datetime
        bench.side.advance(60)

    assert delays[:2] == [pytest.approx(2.1), pytest.approx(4.2)]
    assert bench.side.row(job_id)["status"] == "DEAD_LETTER"
    assert await bench.claim() == []


async def test_what_is_given_back_keeps_its_place(bench: Bench) -> None:
    first = await bench.add()
    bench.side.advance(1)
    await bench.add()
    [claim] = await bench.claim(1)
    bench.side.advance(1)
    await bench.settle(claim, Released())

    assert bench.side.row(first)["scheduled_at"] == claim.scheduled_at
    assert [again.job_id for again in await bench.claim(1)] == [first]


async def test_a_retry_of_a_cancelled_job_is_cancelled(bench: Bench) -> None:
    for outcome in (Retry(an_error()), Released(), Snoozed(an_error(), 1), InfrastructureAway(an_error())):
        job_id = await bench.add()
        [claim] = await bench.claim()
        await bench.side.cancel(job_id)

        assert await bench.settle(claim, outcome) is Status.CANCELLED


async def test_a_completion_beats_a_cancel_request(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    await bench.side.cancel(job_id)

    assert await bench.settle(claim, Done()) is Status.SUCCEEDED


async def test_a_settle_survives_a_lowered_maximum(bench: Bench) -> None:
    """No CHECK may stop a settle: with max_attempts lowered meanwhile, giving back is a dead letter."""
    job_id = await bench.add()
    bench.side.change(job_id, attempts=3)
    [claim] = await bench.claim()
    bench.side.change(job_id, max_attempts=3)

    assert await bench.settle(claim, Released()) is Status.DEAD_LETTER
    bench.side.change(job_id, max_attempts=5)


async def test_a_pulse_says_whether_it_can_be_written(bench: Bench) -> None:
    assert await bench.store.pulse()


async def test_a_renewal_knows_lost_and_settled_apart(bench: Bench) -> None:
    await bench.add()
    [lost] = await bench.claim()
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()
    await bench.add()
    [settled] = await bench.claim()
    await bench.settle(settled, Done())
    renewal = await bench.store.renew([Heartbeat(each.job_id, each.lease_token) for each in (lost, settled)])

    assert renewal.renewed == frozenset()
    assert renewal.missing == {lost.lease_token: Fate.LOST, settled.lease_token: Fate.SETTLED}


async def test_progress_that_cannot_be_stored_is_refused(bench: Bench) -> None:
    await bench.add()
    [claim] = await bench.claim()
    with pytest.raises(Permanent, match="VALIDATION_ERROR"):
        await bench.store.renew([Heartbeat(claim.job_id, claim.lease_token, "half", "{not JSON")])

    assert bench.side.row(claim.job_id)["stage"] is None


@pytest.mark.parametrize("result", ["{not JSON", '"a\\u0000b"', "NaN"])
async def test_a_result_that_cannot_be_stored_is_refused(bench: Bench, result: str) -> None:
    await bench.add()
    [claim] = await bench.claim()
    with pytest.raises(Permanent, match="VALIDATION_ERROR"):
        await bench.settle(claim, Done(result))

    assert await bench.settle(claim, Done()) is Status.SUCCEEDED


@pytest.mark.parametrize(
    "wrong",
    [
        {"job_type": "lower_case"},
        {"queue": "q" * 101},
        {"max_attempts": 1_000_001},
        {"expected_duration_ms": -1},
        {"idempotency_key": ""},
        {"idempotency_key": "k" * 501},
        {"idempotency_key": "k" * 100_000},
        {"correlation_id": "c" * 501},
        {"scheduled_at": NOON.replace(year=1969)},
        {"payload": {"text": "a\x00b"}},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
async def test_what_can_never_be_a_job_is_refused(bench: Bench, wrong: dict[str, object]) -> None:
    with pytest.raises(Permanent, match="VALIDATION_ERROR"):
        await bench.add(**wrong)  # type: ignore[arg-type]  # one field each

    assert await bench.claim() == []


async def test_the_hundred_and_first_snooze_is_a_dead_letter(bench: Bench) -> None:
    job_id = await bench.add()
    bench.side.change(job_id, snoozes=100)
    [claim] = await bench.claim()

    assert await bench.settle(claim, Snoozed(an_error("RATE_LIMITED"), 1)) is Status.DEAD_LETTER
    row = bench.side.row(job_id)
    assert (row["fail_code"], row["snoozes"]) == ("RATE_LIMITED", 101)


async def test_two_payloads_are_the_same_whatever_the_order_of_their_keys(bench: Bench) -> None:
    first = await bench.add(payload={"a": 1, "bb": [1.0, True]}, idempotency_key="k")

    assert await bench.add(payload={"bb": [1, True], "a": 1.0}, idempotency_key="k") == first
    with pytest.raises(Permanent, match="IDEMPOTENCY_CONFLICT"):
        await bench.add(payload={"a": True, "bb": [1, True]}, idempotency_key="k")
    [claim] = await bench.claim()
    assert str(claim.payload).startswith('{"a": 1, "bb": [')
