"""Which places a claim asks about, and what it remembers until the next poll."""

from datetime import timedelta
from uuid import UUID

from bpc_worker.postgres.queue.claims import Place, Probes
from bpc_worker.testing import NOON, a_claim

ALL_TYPES = ("A_TYPE", "B_TYPE")
NORMAL_A, NORMAL_B = Place("default", "A_TYPE", 2), Place("default", "B_TYPE", 2)
EARLIER = "2026-01-01T00:00:00+00:00"


def probes() -> Probes:
    return Probes(("default", "slow"), ALL_TYPES)


def live(*places: Place) -> list[list[object]]:
    """As a claim says it."""
    return [[*place, EARLIER, str(UUID(int=0))] for place in places]


def asked(some: Probes, *, fresh: bool = False) -> dict[str, object]:
    return some.plan({}, limit=1, fresh=fresh).params


def turns(some: Probes, count: int) -> list[str | None]:
    return [some.plan({}, limit=1, fresh=False).turn for _ in range(count)]


def test_the_first_claim_looks_for_places_in_every_queue() -> None:
    params = asked(probes())

    assert params["scan"]
    assert (params["at_queues"], params["at_types"]) == ('{"default","slow"}', '{"",""}')
    assert (params["at_priorities"], params["since"]) == ("{-1,-1}", '{"-infinity","-infinity"}')


def test_turns_come_by_the_count_of_claims() -> None:
    some = probes()
    taken = turns(some, 16)

    assert [n for n, turn in enumerate(taken, start=1) if turn == "ring"] == [4, 8, 12, 16]
    assert [n for n, turn in enumerate(taken, start=1) if turn == "oldest"] == [1, 9]


def test_the_next_claims_go_where_something_was_due() -> None:
    some = probes()
    some.record_result(None, live(NORMAL_B, NORMAL_A), [], None)
    params = asked(some)

    assert not params["scan"]
    assert (params["at_types"], params["at_priorities"]) == ('{"B_TYPE","A_TYPE"}', "{2,2}")
    assert params["since"] == f'{{"{EARLIER}","{EARLIER}"}}'


def test_where_nothing_was_due_it_is_looked_for_again() -> None:
    some = probes()
    some.record_result(None, [], [], None)

    assert asked(some)["scan"]


def test_where_one_place_alone_is_due_nobody_looks_for_the_oldest() -> None:
    some = probes()
    assert turns(some, 1) == ["oldest"]
    some.record_result("oldest", live(NORMAL_A), [], None)
    taken = turns(some, 16)

    assert set(taken) == {"ring", None}
    assert taken.count("ring") == 4
    asked(some, fresh=True)
    assert turns(some, 7).count("oldest") == 1


def test_what_stood_before_a_claimed_job_is_not_read_again() -> None:
    some = probes()
    early, late = (a_claim(type="A_TYPE", scheduled_at=NOON + timedelta(seconds=after)) for after in (1, 2))
    some.record_result(None, live(NORMAL_A, NORMAL_B), [late, early], None)

    assert some.since(NORMAL_A) == (early.scheduled_at, early.job_id)
    assert some.since(NORMAL_B).scheduled_at == EARLIER


def test_jobs_of_one_moment_are_told_apart_by_their_ids() -> None:
    some = probes()
    second, first = (a_claim(type="A_TYPE", scheduled_at=NOON, job_id=UUID(int=number)) for number in (2, 1))
    some.record_result(None, live(NORMAL_A), [second, first], None)

    assert some.since(NORMAL_A) == (NOON, UUID(int=1))


def test_the_job_of_the_ring_says_nothing_about_those_before_it() -> None:
    some = probes()
    some.record_result("ring", live(NORMAL_A), [a_claim(type="A_TYPE")], None)

    assert some.since(NORMAL_A).scheduled_at == EARLIER


def test_everything_is_forgotten_at_a_poll() -> None:
    some = probes()
    some.record_result(None, live(NORMAL_A), [a_claim(type="A_TYPE")], None)

    assert asked(some, fresh=True)["scan"]
    assert some.since(NORMAL_A).scheduled_at == "-infinity"


def test_types_of_one_cap_share_a_pot() -> None:
    some = Probes(("default",), ALL_TYPES)
    caps = {frozenset(ALL_TYPES): 3}
    everywhere = some.plan(caps, limit=10, fresh=True).params
    some.record_result(None, live(NORMAL_A), [], None)

    assert (everywhere["pots"], everywhere["pot"]) == ("{3}", "{1,1}")
    assert everywhere["reach"] == 10 + 10 + 8 * 3  # so many of the pot's may stand before the others
    assert some.plan(caps, limit=10, fresh=False).params["reach"] == 10 + 10 + 3


def test_few_places_leave_time_for_many_tenants() -> None:
    some = Probes(("default",), ALL_TYPES)
    some.record_result("ring", [], [], UUID(int=7))
    params = asked(some)
    some.record_result(None, live(NORMAL_A), [], None)

    assert (params["ring_after"], params["hops"]) == (UUID(int=7), 32)
    assert asked(some)["hops"] == 256
