"""When a claim goes out before there is room, and what becomes of jobs that came too early."""

from bpc_worker.engine.claiming.slots import Claimed, ClaimsAhead, Slots
from bpc_worker.testing.builders import a_claim


class Desk:
    """Three slots, and jobs that are claimed and end when a test says so."""

    def __init__(self) -> None:
        self.slots = Slots(3, in_children=(), max_useful_jobs=lambda: 0, io_bound={"CALL"})
        self.now = 100.0
        self.ahead = ClaimsAhead(self.slots, lambda: self.now)

    def answered(self, *types: str, took: float) -> tuple[int, list[Claimed]]:
        """How many slots the next claim may count on, and which jobs begin."""
        sent_at, self.now = self.now, self.now + took
        claims = [a_claim(type=each) for each in types]
        by_then = self.ahead.take(claims, {}, sent_at).expected_free_slots
        return by_then, self.ahead.start_now([Claimed(claim, sent_at) for claim in claims])

    def ended(self, count: int, *, after: float) -> list[str]:
        """The types of those that begin in their place."""
        self.now += after
        return [each.claim.type for _ in range(count) for each in self.ahead.leave("JOB", 0).starting]


THREE = ("JOB",) * 3


def test_nothing_is_claimed_ahead_before_a_job_has_shown_how_long_it_takes() -> None:
    desk = Desk()

    assert desk.answered(*THREE, took=0.002)[0] == 0


def test_jobs_that_are_over_before_the_next_claim_is_answered_leave_their_slots_to_the_one_after() -> None:
    desk = Desk()
    desk.answered(*THREE, took=0.002)
    desk.ended(3, after=0.001)

    by_then, begun = desk.answered(*THREE, took=0.002)

    assert by_then == 3
    assert len(begun) == 3


def test_jobs_that_take_longer_than_a_claim_are_waited_for() -> None:
    desk = Desk()
    desk.answered(*THREE, took=0.002)
    desk.ended(3, after=0.003)

    assert desk.answered(*THREE, took=0.002)[0] == 0


def test_one_job_that_still_runs_is_enough_to_wait() -> None:
    desk = Desk()
    desk.answered(*THREE, took=0.002)
    desk.ended(2, after=0.001)

    assert desk.answered("JOB", "JOB", took=0.002)[0] == 0


def test_a_slow_database_does_not_make_jobs_short() -> None:
    desk = Desk()
    desk.answered(*THREE, took=1.0)
    desk.ended(3, after=0.01)

    assert desk.answered(*THREE, took=1.0)[0] == 0


def test_a_job_outside_shows_nothing_about_those_that_need_a_slot() -> None:
    desk = Desk()
    desk.answered("CALL", took=0.002)
    desk.now += 0.001

    assert desk.answered(*THREE, took=0.002)[0] == 0


def test_jobs_for_which_there_is_no_slot_wait_for_one_in_their_order() -> None:
    desk = Desk()
    desk.answered(*THREE, took=0.002)

    _, begun = desk.answered("FIRST", "SECOND", took=0.002)
    assert begun == []

    assert desk.ended(1, after=0.001) == ["FIRST"]
    assert desk.ended(1, after=0.001) == ["SECOND"]


def test_a_job_that_has_a_slot_of_its_own_kind_waits_for_none() -> None:
    desk = Desk()
    desk.answered("JOB", "JOB", took=0.002)

    _, begun = desk.answered("CALL", "FIRST", "SECOND", "CALL", took=0.002)

    assert [each.claim.type for each in begun] == ["CALL", "FIRST", "CALL"]


def test_after_a_while_they_go_and_their_room_with_them() -> None:
    desk = Desk()
    desk.answered(*THREE, took=0.002)
    desk.answered("LATE", took=0.002)

    desk.now += 0.09
    assert desk.ahead.expire() == []
    desk.now += 0.02
    assert [each.type for each in desk.ahead.expire()] == ["LATE"]
    assert (desk.slots.taken, desk.slots.oversubscribed) == (3, 0)
    assert desk.ahead.expire() == []


def test_when_the_worker_stops_they_go_at_once() -> None:
    desk = Desk()
    desk.answered(*THREE, took=0.002)
    desk.answered("LATE", took=0.002)

    assert [each.type for each in desk.ahead.expire(at_once=True)] == ["LATE"]
