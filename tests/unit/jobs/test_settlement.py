"""What each outcome means for the row."""

import pytest

from bpc_worker.jobs.backoff import Backoff, snooze_delay
from bpc_worker.jobs.model import (
    Cancelled,
    Done,
    Failed,
    InfrastructureAway,
    Released,
    Retry,
    Settleable,
    Snoozed,
    Status,
)
from bpc_worker.jobs.settlement import Settlement, settlement
from bpc_worker.testing import a_claim, an_error


def settled(outcome: Settleable, *, dice: float = 0.0, **claim: object) -> Settlement:
    return settlement(a_claim(**claim), outcome, backoff=Backoff(), dice=dice)


@pytest.mark.parametrize(("attempts", "delay"), [(1, 2), (2, 4), (3, 8), (4, 16)])
def test_a_retry_waits_two_to_the_power_of_attempts(attempts: int, delay: int) -> None:
    result = settled(Retry(an_error()), attempts=attempts)

    assert (result.status, result.delay_seconds, result.refund) == (Status.QUEUED, delay, 0)


@pytest.mark.parametrize(
    ("wanted", "attempts", "delay"), [(90, 1, 90), (7, 1, 7), (7, 3, 8), (1e12, 1, 3600), (-5, 1, 2)]
)
def test_whoever_asks_for_patience_gets_it_up_to_an_hour_and_never_less_than_the_backoff(
    wanted: float, attempts: int, delay: float
) -> None:
    retry = Retry(an_error(), wanted)

    assert settled(retry, attempts=attempts).delay_seconds == delay
    most = settled(retry, attempts=attempts, dice=0.99).delay_seconds
    assert most is not None
    assert delay <= most <= delay * 1.1
    assert settled(retry, attempts=5).status is Status.DEAD_LETTER


def test_the_fifth_failure_is_a_dead_letter() -> None:
    result = settled(Retry(an_error()), attempts=5)

    assert (result.status, result.event) == (Status.DEAD_LETTER, "job:dead_lettered")


def test_jitter_only_ever_adds_and_at_most_ten_percent() -> None:
    delays = [Backoff().after(3, dice=dice) for dice in (0.0, 0.5, 0.999999)]

    assert delays[0] == 8
    assert delays == sorted(delays)
    assert delays[-1] <= 8.8


def test_the_delay_is_capped_and_never_overflows() -> None:
    assert Backoff().after(1_000_000, dice=0) == 1024
    assert Backoff(base=60, cap=86400).after(1_000_000, dice=0) == 86400


def test_a_counted_attempt_zeroes_the_snoozes() -> None:
    assert settled(Retry(an_error()), snoozes=7).snoozes == 0


def test_a_snooze_gives_the_attempt_back_and_counts_itself() -> None:
    result = settled(Snoozed(an_error(), 1.0), snoozes=3)

    assert (result.status, result.refund, result.snoozes) == (Status.QUEUED, 1, 4)


def test_snoozes_grow_to_fifteen_minutes_but_never_below_what_was_asked() -> None:
    delays = [snooze_delay(3.0, snoozes, dice=0) for snoozes in range(20)]

    assert delays[0] == 3.0
    assert delays == sorted(delays)
    assert delays[-1] == 900
    assert snooze_delay(3600, 0, dice=0) == 3600


@pytest.mark.parametrize("outcome", [Snoozed(an_error("RATE_LIMITED"), 1), InfrastructureAway(an_error())])
def test_the_hundred_and_first_snooze_is_a_dead_letter(outcome: Snoozed | InfrastructureAway) -> None:
    assert settled(outcome, snoozes=99).status is Status.QUEUED
    dead = settled(outcome, snoozes=100)

    assert (dead.status, dead.error) == (Status.DEAD_LETTER, outcome.error)


def test_an_outage_gives_the_attempt_back_with_backoff() -> None:
    result = settled(InfrastructureAway(an_error("DB_UNAVAILABLE")), attempts=2)

    assert (result.status, result.refund, result.snoozes, result.delay_seconds) == (Status.QUEUED, 1, 1, 4)


def test_a_release_keeps_its_place_with_the_attempt_given_back() -> None:
    result = settled(Released(), snoozes=4)

    assert (result.status, result.refund, result.delay_seconds, result.snoozes) == (Status.QUEUED, 1, None, 4)


def test_success_failure_and_cancel_are_final() -> None:
    assert settled(Done('{"a":1}')).result == '{"a":1}'
    assert settled(Done(None)).event is None
    assert settled(Failed(an_error())).status is Status.FAILED
    assert settled(Cancelled()).status is Status.CANCELLED
