"""How many jobs a worker asks for when some of them work in children."""

import pytest

from bpc_worker.engine.claiming.slots import Slots


def slots(count: int = 10, max_useful_jobs: int = 4) -> Slots:
    return Slots(count, in_children={"COMPILE"}, max_useful_jobs=lambda: max_useful_jobs)


def full(some: Slots, job_type: str, count: int) -> None:
    """By one claim that took all it might."""
    before = some.caps
    for _ in range(count):
        some.take(job_type)
    assert not some.record_claim(before, [job_type] * count)


def room(some: Slots) -> int:
    [(types, most)] = some.caps.items()
    assert types == {"COMPILE"}
    return most


def test_only_jobs_that_work_in_children_take_their_room() -> None:
    some = slots()
    some.take("COMPILE")
    some.take("SIGN")

    assert (some.taken, some.free, room(some)) == (2, 8, 3)

    some.leave("SIGN")
    some.leave("COMPILE")

    assert (some.taken, some.free, room(some)) == (0, 10, 4)


def test_children_that_have_enough_leave_slots_to_others() -> None:
    some = slots()
    for _ in range(4):
        some.take("COMPILE")

    assert (some.free, room(some)) == (6, 0)


def test_however_short_their_work_a_quarter_of_the_slots_stays_free() -> None:
    assert room(slots(max_useful_jobs=200)) == 8
    assert room(slots(4, max_useful_jobs=200)) == 3


def test_few_slots_are_not_divided() -> None:
    assert [room(slots(count)) for count in (1, 2, 3)] == [1, 2, 3]


def test_jobs_for_children_are_claimed_several_at_a_time() -> None:
    some = slots(max_useful_jobs=200)
    full(some, "COMPILE", 8)
    rooms = [(some.leave("COMPILE"), room(some)) for _ in range(5)]

    assert rooms == [(False, 0), (False, 0), (False, 0), (True, 4), (True, 5)]


def test_room_that_comes_because_calls_get_shorter_is_told_by_the_next_who_leaves() -> None:
    worth = 4
    some = Slots(20, in_children={"COMPILE"}, max_useful_jobs=lambda: worth)
    full(some, "COMPILE", 4)
    worth = 8

    assert room(some) == 4
    assert some.leave("COMPILE")


def test_nobody_is_told_of_room_that_the_last_claim_did_not_use() -> None:
    some = slots()
    before = some.caps
    some.take("COMPILE")
    some.record_claim(before, ["COMPILE"])

    assert not some.leave("COMPILE")


def test_what_is_max_useful_jobs_may_shrink_below_what_is_held() -> None:
    worth = 8
    some = Slots(10, in_children={"COMPILE"}, max_useful_jobs=lambda: worth)
    for _ in range(8):
        some.take("COMPILE")
    worth = 4

    assert room(some) == 0


def test_a_worker_without_such_types_has_no_cap() -> None:
    assert Slots(10, in_children=(), max_useful_jobs=lambda: 4).caps == {}


DELIVER = frozenset({"DELIVER"})


def with_deliveries(count: int = 10) -> Slots:
    return Slots(count, in_children={"COMPILE"}, max_useful_jobs=lambda: 4, io_bound=DELIVER)


def test_those_who_wait_for_servers_of_others_take_no_slot_from_anybody() -> None:
    some = with_deliveries()
    assert some.caps == {frozenset({"COMPILE"}): 4, DELIVER: 48}

    for _ in range(40):
        some.take("DELIVER")
    some.take("SIGN")

    assert (some.taken, some.io_bound, some.free) == (41, 40, 9)
    assert some.caps[DELIVER] == 8  # when forty hang, there is still room for others


def test_deliveries_are_claimed_several_at_a_time() -> None:
    some = with_deliveries()
    full(some, "DELIVER", 48)
    rooms = [(some.leave("DELIVER"), some.caps[DELIVER]) for _ in range(9)]

    assert rooms == [(False, 0)] * 7 + [(True, 8), (True, 9)]


@pytest.mark.parametrize(("count", "hang"), [(1, 32), (8, 32), (10, 40), (20, 80), (100, 400)])
def test_four_for_each_slot_and_32_at_least_can_hang_before_others_wait(count: int, hang: int) -> None:
    some = with_deliveries(count)
    for _ in range(hang):
        assert some.caps[DELIVER] > 0
        some.take("DELIVER")

    assert some.caps[DELIVER] > 0


def test_room_that_came_during_a_claim_is_not_forgotten() -> None:
    some = with_deliveries()
    for _ in range(38):
        some.take("DELIVER")
    before = some.caps
    brought = ["DELIVER"] * 10
    for job_type in brought:  # as many as it may have
        some.take(job_type)

    assert not some.record_claim(before, brought)  # full: whoever leaves rings

    for _ in range(8):
        some.leave("DELIVER")

    assert some.record_claim(before, [*brought, "SIGN"])
    assert not some.record_claim(before, [*brought[1:], "SIGN"])  # there were no more
    assert some.record_claim({DELIVER: 0}, [])  # it was not asked about them, and now there is room
