"""Which places a claim asks about, and what it remembers until the next poll."""

from datetime import timedelta
from uuid import UUID

from bpc_worker.postgres.queue.probes import Place, Probes, RingPosition
from bpc_worker.testing import NOON, a_claim

ALL_TYPES = ("A_TYPE", "B_TYPE")
NORMAL_A, NORMAL_B = Place("default", "A_TYPE", 2), Place("default", "B_TYPE", 2)
EARLIER = "2026-01-01T00:00:00+00:00"


def probes() -> Probes:
    return Probes(("default", "slow"), ALL_TYPES, ring_start=UUID(int=0))


def live(*places: Place) -> list[list[object]]:
    """As a claim says it."""
    return [[*place, EARLIER, str(UUID(int=0))] for place in places]


def asked(some: Probes, *, fresh: bool = False) -> dict[str, object]:
    return some.plan({}, limit=1, fresh=fresh)


def oldest(some: Probes, count: int) -> list[int]:
    """Which of the next claims begin with the oldest."""
    return [n for n in range(1, count + 1) if some.plan({}, limit=1, fresh=False)["oldest"]]


def test_the_first_claim_looks_for_places_in_every_queue() -> None:
    params = asked(probes())

    assert params["scan"]
    assert (params["at_queues"], params["at_types"]) == ('{"default","slow"}', '{"",""}')
    assert (params["at_priorities"], params["since"]) == ("{-1,-1}", '{"-infinity","-infinity"}')


def test_every_eighth_claim_begins_with_the_oldest() -> None:
    assert oldest(probes(), 16) == [1, 9]


def test_of_every_four_jobs_one_goes_round_the_tenants() -> None:
    some, shares = probes(), []
    for limit in (1, 1, 1, 1, 1, 10, 10, 100):
        share = some.plan({}, limit=limit, fresh=False)["share"]
        assert isinstance(share, int)
        shares.append(share)
        some.record_result(None, [a_claim()] * (limit - share), [a_claim()] * share)

    assert shares == [0, 0, 0, 1, 0, 0, 0, 30]


def test_a_small_claim_goes_round_with_all_its_jobs_or_not_at_all() -> None:
    some, shares = probes(), []
    for _ in range(9):
        shares.append(some.plan({}, limit=10, fresh=False)["share"])
        some.record_result(None, [a_claim()] * 10)

    assert shares == [0, 0, 0, 10, 0, 0, 0, 10, 0]


def test_the_next_claims_go_where_something_was_due() -> None:
    some = probes()
    some.record_result(live(NORMAL_B, NORMAL_A), [])
    params = asked(some)

    assert not params["scan"]
    assert (params["at_types"], params["at_priorities"]) == ('{"B_TYPE","A_TYPE"}', "{2,2}")
    assert params["since"] == f'{{"{EARLIER}","{EARLIER}"}}'


def test_where_nothing_was_due_it_is_looked_for_again() -> None:
    some = probes()
    some.record_result([], [])

    assert asked(some)["scan"]


def test_where_one_place_alone_is_due_nobody_looks_for_the_oldest() -> None:
    some = probes()
    assert oldest(some, 1) == [1]
    some.record_result(live(NORMAL_A), [])

    assert oldest(some, 15) == []
    assert asked(some, fresh=True)["oldest"]


def test_what_stood_before_a_claimed_job_is_not_read_again() -> None:
    some = probes()
    early, late = (a_claim(type="A_TYPE", scheduled_at=NOON + timedelta(seconds=after)) for after in (1, 2))
    some.record_result(live(NORMAL_A, NORMAL_B), [early, late])

    assert some.since(NORMAL_A) == (early.scheduled_at, early.job_id)
    assert some.since(NORMAL_B).scheduled_at == EARLIER


def test_jobs_of_one_moment_are_told_apart_by_their_ids() -> None:
    some = probes()
    first, second = (a_claim(type="A_TYPE", scheduled_at=NOON, job_id=UUID(int=number)) for number in (1, 2))
    some.record_result(live(NORMAL_A), [first, second])

    assert some.since(NORMAL_A) == (NOON, UUID(int=1))


def test_the_job_of_the_ring_says_nothing_about_those_before_it() -> None:
    some = probes()
    some.record_result(live(NORMAL_A), [], [a_claim(type="A_TYPE")])

    assert some.since(NORMAL_A).scheduled_at == EARLIER


def test_everything_is_forgotten_at_a_poll() -> None:
    some = probes()
    some.record_result(live(NORMAL_A), [a_claim(type="A_TYPE")])

    assert asked(some, fresh=True)["scan"]
    assert some.since(NORMAL_A).scheduled_at == "-infinity"


def test_types_of_one_cap_share_a_pot() -> None:
    some = Probes(("default",), ALL_TYPES, ring_start=UUID(int=0))
    caps = {frozenset(ALL_TYPES): 3}
    everywhere = some.plan(caps, limit=10, fresh=True)

    assert (everywhere["pots"], everywhere["pot"]) == ("{3}", "{1,1}")


def test_where_no_place_has_a_pot_there_are_none() -> None:
    some = probes()
    of_a, of_b = ({frozenset([name]): 3} for name in ALL_TYPES)
    some.record_result(live(NORMAL_B), [])

    assert some.plan(of_a, limit=10, fresh=False)["pots"] == "{}"
    assert some.plan(of_b, limit=10, fresh=False)["pots"] == "{3}"
    assert some.plan(of_a, limit=10, fresh=True)["pots"] == "{3}"


def test_few_places_leave_time_for_many_tenants() -> None:
    some = Probes(("default",), ALL_TYPES, ring_start=UUID(int=0))
    some.record_result([], [], [], RingPosition(UUID(int=7), 2))
    params = asked(some)
    some.record_result(live(NORMAL_A), [])

    assert (params["ring_at"], params["unserved"], params["hops"]) == (UUID(int=7), 2, 32)
    assert asked(some)["hops"] == 256


def test_a_claim_that_finds_nothing_is_nobodys_turn() -> None:
    some = probes()
    for _ in range(3):
        some.plan({}, limit=1, fresh=False)
        some.record_result(None, [a_claim()])
    assert asked(some)["share"] == 1
    some.record_result([], [])

    assert asked(some)["share"] == 1
