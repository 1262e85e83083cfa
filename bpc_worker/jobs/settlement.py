"""What an outcome means for the row: status, attempts, delay, error, event. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from bpc_worker.jobs.backoff import Backoff, retry_delay, snooze_delay
from bpc_worker.jobs.model import (
    MAX_SNOOZES,
    Cancelled,
    Claim,
    Done,
    ErrorInfo,
    Failed,
    InfrastructureAway,
    Released,
    Retry,
    Settleable,
    Snoozed,
    Status,
)


@dataclass(slots=True, kw_only=True)  # nobody changes one; to freeze it would cost what a settle costs
class Settlement:
    status: Status
    refund: int = 0
    snoozes: int = 0
    delay_seconds: float | None = 0.0  # None: it keeps its time, and its place in the queue
    error: ErrorInfo | None = None
    result: str | None = None
    spec_hash: bytes | None = None
    event: str | None = None  # None: nothing is noted (a success)


class Settlements:
    """What outcomes mean, with the delays of this installation."""

    def __init__(self, backoff: Backoff, dice: Callable[[], float]) -> None:
        self._backoff = backoff
        self._dice = dice

    def __call__(self, claim: Claim, outcome: Settleable) -> Settlement:
        return settlement(claim, outcome, backoff=self._backoff, dice=self._dice())


def settlement(claim: Claim, outcome: Settleable, *, backoff: Backoff, dice: float) -> Settlement:
    match outcome:
        case Done(result, spec_hash):
            return Settlement(status=Status.SUCCEEDED, result=result, spec_hash=spec_hash)
        case Retry(error, after_seconds):
            asked_for = retry_delay(after_seconds, dice=dice)
            return _retried(claim, error, max(backoff.after(claim.attempts, dice=dice), asked_for))
        case Failed(error):
            return Settlement(status=Status.FAILED, error=error, event="job:failed")
        case Snoozed(error, seconds):
            delay = snooze_delay(seconds, claim.snoozes, dice=dice)
            return _snoozed(claim, error, delay)
        case InfrastructureAway(error):
            # The attempt is given back, so the snoozes must make the delay grow.
            grown = max(backoff.after(claim.attempts, dice=dice), snooze_delay(0, claim.snoozes, dice=dice))
            return _snoozed(claim, error, grown)
        case Released():
            return Settlement(
                status=Status.QUEUED,
                refund=1,
                snoozes=claim.snoozes,
                delay_seconds=None,
                event="job:released",
            )
        case Cancelled():
            return Settlement(status=Status.CANCELLED, event="job:cancelled")
        case _:
            assert_never(outcome)


def _retried(claim: Claim, error: ErrorInfo, delay: float) -> Settlement:
    if claim.attempts >= claim.max_attempts:
        return Settlement(status=Status.DEAD_LETTER, error=error, event="job:dead_lettered")
    return Settlement(status=Status.QUEUED, delay_seconds=delay, error=error, event="job:retried")


def _snoozed(claim: Claim, error: ErrorInfo, delay: float) -> Settlement:
    snoozes = claim.snoozes + 1
    if snoozes > MAX_SNOOZES:
        return Settlement(status=Status.DEAD_LETTER, snoozes=snoozes, error=error, event="job:dead_lettered")
    return Settlement(
        status=Status.QUEUED,
        refund=1,
        snoozes=snoozes,
        delay_seconds=delay,
        error=error,
        event="job:snoozed",
    )
