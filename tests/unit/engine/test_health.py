"""What the probes answer, by a clock that the test moves."""

import pytest

from bpc_worker.engine.health import Health
from bpc_worker.jobs.errors import Code, Permanent, SchemaMismatch, Unavailable

AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")
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
    assert health.reaping_is_fair


def test_after_an_outage_the_holders_get_one_lease_before_anybody_reaps(health: Health, clock: Clock) -> None:
    assert health.reaping_is_fair
    health.note_database(AWAY)
    assert not health.reaping_is_fair

    health.note_database(None)
    clock.advance(59.9)
    assert not health.reaping_is_fair
    clock.advance(0.1)
    assert health.reaping_is_fair


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
