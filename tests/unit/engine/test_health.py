"""What the probes answer, by a clock that the test moves."""

import pytest

from bpc_worker.engine.health import Health
from bpc_worker.engine.outages import EVER
from bpc_worker.jobs.errors import (
    Code,
    JobError,
    Permanent,
    Retryable,
    RunAgain,
    SchemaMismatch,
    TakesNoWrites,
    Unavailable,
)

AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")
READ_ONLY = TakesNoWrites(Code.DB_UNAVAILABLE, "cannot execute UPDATE")
MISFIT = SchemaMismatch("42703", "no such column")


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(clock=clock, lease_seconds=60)


def test_a_new_worker_is_live_and_not_ready(health: Health, clock: Clock) -> None:
    assert health.live(clock, in_time=False) == {"control_loop": "ok", "handler_loop": "ok"}
    assert health.ready() == {
        "database": "not asked yet",
        "schema": "unknown",
        "claims": "ok",
        "draining": "ok",
        "broker": "ok (not required, disconnected)",
        "jobs": "ok",
    }
    assert health.database_quiet_for == float("inf")


def test_a_claim_that_went_through_makes_it_ready(health: Health) -> None:
    health.note_claim()

    assert {each.partition(" ")[0] for each in health.ready().values()} == {"ok"}


def test_a_broker_that_is_required_has_to_be_there(health: Health) -> None:
    health.require_queue = True
    assert health.ready()["broker"] == "disconnected"

    health.broker_connected = True
    assert health.ready()["broker"] == "ok"


def test_who_drains_is_not_ready(health: Health) -> None:
    health.draining = True

    assert health.ready()["draining"] == "stopping"


def test_loops_that_do_not_tick_are_stalled(health: Health, clock: Clock) -> None:
    handlers_ticked_at = clock()
    clock.advance(30)
    assert health.live(lambda: handlers_ticked_at, in_time=False)["control_loop"] == "ok"
    assert health.live(lambda: handlers_ticked_at, in_time=False)["handler_loop"] == "ok"

    clock.advance(0.1)
    assert health.live(lambda: handlers_ticked_at, in_time=False) == {
        "control_loop": "stalled",
        "handler_loop": "stalled",
    }


def test_a_job_that_has_time_left_may_block_the_handlers(health: Health, clock: Clock) -> None:
    clock.advance(100)

    assert health.live(lambda: 0.0, in_time=True)["handler_loop"] == "ok"


def test_a_database_that_nobody_heard_of_is_silent(health: Health, clock: Clock) -> None:
    health.note_database(None)
    clock.advance(15)
    assert health.ready()["database"] == "ok"

    clock.advance(0.1)
    assert health.ready()["database"] == "silent"
    assert health.database_quiet_for == pytest.approx(15.1)


def test_an_outage_is_told_until_an_answer_comes(health: Health) -> None:
    health.note_claim()
    health.note_database(AWAY)
    assert health.ready()["database"] == "DB_UNAVAILABLE"

    health.note_database(None)
    assert health.ready()["database"] == "ok"


def test_any_other_error_is_an_answer(health: Health) -> None:
    health.note_claim()
    health.note_database(Permanent(Code.VALIDATION_ERROR, "no"))

    assert health.ready()["database"] == "ok"
    assert health.spared_seconds == 0


def test_after_an_outage_the_holders_get_one_lease_before_anybody_reaps(health: Health, clock: Clock) -> None:
    """Counted from the last answer: nobody knows when it began after that."""
    health.note_database(None)
    assert health.spared_seconds == 0
    clock.advance(2)
    health.note_database(AWAY)
    assert health.spared_seconds == 2

    clock.advance(3)
    health.note_database(None)
    clock.advance(59.9)
    assert health.spared_seconds == pytest.approx(2 + 3 + 59.9)
    clock.advance(0.1)
    assert health.spared_seconds == 0


def test_a_line_that_breaks_again_and_again_spares_nothing_twice(health: Health, clock: Clock) -> None:
    for _ in range(50):
        health.note_database(None)
        clock.advance(10)
        health.note_database(None)
        health.note_database(AWAY)
        clock.advance(1)
        assert health.spared_seconds <= 60 + 11 + 11


def test_what_follows_at_once_is_the_same_outage(health: Health, clock: Clock) -> None:
    health.note_database(None)
    for _ in range(500):
        health.note_database(AWAY)
        clock.advance(1)
        health.note_database(None)
        clock.advance(0.5)
    assert health.spared_seconds == 750
    clock.advance(60)
    assert health.spared_seconds == 0


def test_who_starts_in_an_outage_does_not_know_what_ended_in_it(health: Health, clock: Clock) -> None:
    health.note_database(AWAY)
    assert health.spared_seconds == EVER
    health.note_database(None)
    assert health.spared_seconds == EVER
    clock.advance(60)
    assert health.spared_seconds == 0


def test_nothing_is_claimed_soon_after_a_statement_did_not_fit(health: Health, clock: Clock) -> None:
    health.note_claim()
    health.note_database(MISFIT)
    assert not health.may_claim
    assert health.ready()["schema"] == "mismatch: no such column"

    health.note_claim()  # one that was under way
    assert health.ready()["schema"] == "mismatch: no such column"
    clock.advance(5)
    assert health.may_claim
    health.note_claim()
    assert health.ready()["schema"] == "ok"


def test_a_claim_that_is_not_answered_for_half_a_minute_makes_it_unready(
    health: Health, clock: Clock
) -> None:
    health.note_claim()
    for _ in range(3):  # the first look that was wanted counts
        health.want_claim(room=True)
        clock.advance(9.9)
    assert health.ready()["claims"] == "ok"
    clock.advance(0.4)
    assert health.ready()["claims"] == "no claim was answered for 30 s"

    health.note_claim()
    assert health.ready()["claims"] == "ok"


def test_who_has_no_room_or_drains_needs_no_claim(health: Health, clock: Clock) -> None:
    health.want_claim(room=True)
    health.want_claim(room=False)
    clock.advance(100)
    assert health.ready()["claims"] == "ok"

    health.want_claim(room=True)
    clock.advance(100)
    assert health.ready()["claims"] != "ok"
    health.draining = True
    assert health.ready()["claims"] == "ok"


def test_a_sign_of_life_that_is_not_written_stays_red_although_others_are_answered(
    health: Health, clock: Clock
) -> None:
    health.note_claim()
    clock.advance(1)
    health.note_pulse(AWAY)
    health.note_database(None)  # of an empty claim
    assert health.ready()["database"] == "not written: no database"
    assert health.database_trouble == "no database"
    assert health.spared_seconds > 0

    health.note_pulse(None)
    assert health.ready()["database"] == "ok"
    assert health.database_trouble is None


def test_a_database_that_takes_no_writes_is_red_until_one_is_taken(health: Health) -> None:
    """Whoever was refused, a reaper or a settle: an empty claim only reads, and is answered all the time."""
    health.note_claim()
    for refused in (health.note_database, health.note_holder):
        refused(READ_ONLY)
        health.note_claim()
        assert health.ready()["database"] == "not written: cannot execute UPDATE"
        assert health.database_trouble == "cannot execute UPDATE"  # so the next pulse comes at once

        health.note_pulse(None)
        assert health.ready()["database"] == "ok"


@pytest.mark.parametrize("error", [RunAgain("55P03", "locked"), MISFIT])
def test_a_refusal_of_another_kind_says_that_writes_are_taken(health: Health, error: JobError) -> None:
    health.note_claim()
    health.note_database(READ_ONLY)
    health.note_pulse(error)
    health.note_claim()

    assert health.ready()["database"] == "ok"


@pytest.mark.parametrize("error", [RunAgain("55P03", "locked"), MISFIT])
def test_a_row_of_its_own_that_is_locked_or_closed_to_it_is_no_sign_of_death(
    health: Health, error: JobError
) -> None:
    health.note_claim()
    health.note_pulse(error)

    assert health.ready()["database"] == health.ready()["schema"] == "ok"
    assert health.may_claim


@pytest.mark.parametrize(
    ("error", "fair"),
    [
        (Retryable(Code.DB_UNAVAILABLE, "no space left (SQLSTATE 53100)"), False),
        (AWAY, False),
        (MISFIT, False),
        (RunAgain("55P03", "locked"), True),
        (Permanent(Code.VALIDATION_ERROR, "22P05"), True),
    ],
)
def test_a_holder_that_is_refused_is_not_reaped(
    health: Health, clock: Clock, error: JobError, *, fair: bool
) -> None:
    health.note_holder(error)
    assert (health.spared_seconds == 0) is fair

    health.note_holder(None)
    clock.advance(60)
    assert health.spared_seconds == 0
