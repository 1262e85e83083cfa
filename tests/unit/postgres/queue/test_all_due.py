"""When all that is due is tried to be taken at once, and who begins then."""

from datetime import timedelta
from uuid import UUID

from bpc_worker.jobs.model import Claim, TenantId
from bpc_worker.postgres.queue.all_due import Tries, in_turn
from bpc_worker.testing import NOON, a_claim, an_id

ONE, TWO, THREE = (TenantId(an_id(number)) for number in (1, 2, 3))
NOBODY = UUID(int=0)

URGENT = a_claim(tenant_id=TWO, priority=0, scheduled_at=NOON)
OLDER = a_claim(tenant_id=ONE, priority=2, scheduled_at=NOON - timedelta(seconds=9))
OLDEST = a_claim(tenant_id=THREE, priority=3, scheduled_at=NOON - timedelta(seconds=10))
ALL = [OLDEST, URGENT, OLDER]


def occasions(tries: Tries, count: int) -> str:
    """One letter for each, if none of the tries pays."""
    found = ""
    for _ in range(count):
        found += "t" if (is_try := tries.next()) else "."
        if is_try:
            tries.tell(paid=False)
    return found


def test_what_pays_is_tried_every_time() -> None:
    tries = Tries()
    for _ in range(3):
        assert tries.next()
        tries.tell(paid=True)


def test_what_does_not_pay_is_tried_less_and_less_but_never_given_up() -> None:
    tries = Tries()

    assert occasions(tries, 14) == "t.t..t....t..."
    assert occasions(tries, 1000).count("t") == 17
    assert occasions(tries, 65).count("t") == 1


def test_one_that_pays_makes_good_for_all() -> None:
    tries = Tries()
    occasions(tries, 500)
    while not tries.next():
        pass
    tries.tell(paid=True)

    assert occasions(tries, 6) == "t.t..t"


def beginnings(ring_at: UUID) -> list[Claim]:
    return [in_turn(ALL, turn, ring_at)[0] for turn in (None, "oldest", "ring")]


def test_the_one_whose_turn_it_is_begins() -> None:
    assert beginnings(NOBODY) == [URGENT, OLDEST, OLDER]
    assert beginnings(ONE) == [URGENT, OLDEST, URGENT]
    assert beginnings(TWO) == [URGENT, OLDEST, OLDEST]
    assert beginnings(THREE) == [URGENT, OLDEST, OLDER]


def test_the_others_follow_by_priority_and_time() -> None:
    assert in_turn(ALL, None, NOBODY) == [URGENT, OLDER, OLDEST]
    assert in_turn(ALL, "oldest", NOBODY) == [OLDEST, URGENT, OLDER]
    assert in_turn(ALL, "ring", NOBODY) == [OLDER, URGENT, OLDEST]
    assert in_turn([], "ring", NOBODY) == []


def test_of_the_tenant_whose_turn_it_is_the_best_begins() -> None:
    worse = a_claim(tenant_id=TWO, priority=1, scheduled_at=NOON - timedelta(hours=1))

    assert in_turn([worse, *ALL], "ring", ONE) == [URGENT, worse, OLDER, OLDEST]
