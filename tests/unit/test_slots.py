"""How many jobs a worker asks for when some of them work in children."""

from bpc_worker.slots import Slots


def slots(count: int = 10, worth_holding: int = 4) -> Slots:
    return Slots(count, in_children={"COMPILE"}, worth_holding=lambda: worth_holding)


def test_only_jobs_that_work_in_children_take_their_room() -> None:
    some = slots()
    some.take("COMPILE")
    some.take("SIGN")

    assert (some.taken, some.free, some.room_in_children) == (2, 8, 3)

    some.leave("SIGN")
    some.leave("COMPILE")

    assert (some.taken, some.free, some.room_in_children) == (0, 10, 4)


def test_children_that_have_enough_leave_slots_to_others() -> None:
    some = slots()
    for _ in range(4):
        some.take("COMPILE")

    assert (some.free, some.room_in_children) == (6, 0)


def test_however_short_their_work_a_quarter_of_the_slots_stays_free() -> None:
    assert slots(worth_holding=200).room_in_children == 8
    assert slots(4, worth_holding=200).room_in_children == 3


def test_few_slots_are_not_divided() -> None:
    assert [slots(count).room_in_children for count in (1, 2, 3)] == [1, 2, 3]


def test_jobs_for_children_are_claimed_several_at_a_time() -> None:
    some = slots(worth_holding=200)
    for _ in range(8):
        some.take("COMPILE")
    rooms = []
    for _ in range(5):
        some.leave("COMPILE")
        rooms.append(some.room_in_children)

    assert rooms == [0, 0, 0, 4, 5]


def test_what_is_worth_holding_may_shrink_below_what_is_held() -> None:
    worth = 8
    some = Slots(10, in_children={"COMPILE"}, worth_holding=lambda: worth)
    for _ in range(8):
        some.take("COMPILE")
    worth = 4

    assert some.room_in_children == 0
