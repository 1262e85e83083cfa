"""Which places a claim asks about, and what it remembers until the next poll."""

from datetime import timedelta
from uuid import UUID

from bpc_worker.postgres.queue.claims import Asked, Place, Probes
from bpc_worker.testing import NOON, a_claim

ALL_TYPES = ("A_TYPE", "B_TYPE")
URGENT_A, URGENT_B = Place("default", "A_TYPE", 0), Place("default", "B_TYPE", 0)
NORMAL_A, NORMAL_B = Place("default", "A_TYPE", 2), Place("default", "B_TYPE", 2)


def probes() -> Probes:
    return Probes(("default",), ALL_TYPES)


def numbers(asked: Asked, *places: Place) -> list[int]:
    return [asked.places.index(place) + 1 for place in places]


def since(some: Probes, place: Place) -> str:
    asked = some.asked(None, {})
    texts = str(some.params(asked, limit=1)["since"])[1:-1].split(",")
    return texts[asked.places.index(place)].strip('"')


def test_the_first_claim_asks_about_everything_best_priority_first() -> None:
    places = probes().asked(None, {}).places

    assert len(places) == 4 * len(ALL_TYPES)
    assert [place.priority for place in places] == sorted(place.priority for place in places)


def test_turns_come_by_the_count_of_claims() -> None:
    some = probes()
    turns = [some.next_turn() for _ in range(16)]

    assert [n for n, turn in enumerate(turns, start=1) if turn == "ring"] == [4, 8, 12, 16]
    assert [n for n, turn in enumerate(turns, start=1) if turn == "oldest"] == [1, 9]


def test_levels_that_were_empty_are_passed_over_and_the_last_level_is_kept_whole() -> None:
    some = probes()
    asked = some.asked(None, {})
    some.learn(asked, numbers(asked, NORMAL_A), [])

    assert set(some.asked(None, {}).places) == {NORMAL_A, NORMAL_B}


def test_an_urgent_place_with_jobs_is_asked_again() -> None:
    some = probes()
    asked = some.asked(None, {})
    some.learn(asked, numbers(asked, URGENT_A, NORMAL_A), [])

    assert set(some.asked(None, {}).places) == {URGENT_A, NORMAL_A, NORMAL_B}


def test_whoever_has_a_turn_may_be_anywhere() -> None:
    some = probes()
    asked = some.asked(None, {})
    some.learn(asked, numbers(asked, NORMAL_A), [])

    assert len(some.asked("oldest", {}).places) == len(some.asked("ring", {}).places) == 8


def test_turns_go_where_something_was_due_when_the_oldest_was_looked_for() -> None:
    some = probes()
    asked = some.asked("oldest", {})
    some.learn(asked, numbers(asked, URGENT_B), [], heads=numbers(asked, URGENT_B, NORMAL_A))

    assert set(some.asked("ring", {}).places) == {URGENT_B, NORMAL_A}
    assert some.asked(None, {}).only_place == URGENT_B
    some.forget()
    assert len(some.asked("ring", {}).places) == 8


def test_where_one_place_alone_is_due_nobody_looks_for_the_oldest() -> None:
    some = probes()
    asked = some.asked(some.next_turn(), {})
    some.learn(asked, numbers(asked, NORMAL_A), [], heads=numbers(asked, NORMAL_A))
    turns = [some.next_turn() for _ in range(2, 18)]

    assert set(turns) == {"ring", None}
    assert turns.count("ring") == 4
    some.forget()
    assert [some.next_turn() for _ in range(18, 26)].count("oldest") == 1


def test_a_cap_bounds_what_is_taken_at_the_only_place() -> None:
    some = probes()
    asked = some.asked("oldest", {})
    some.learn(asked, numbers(asked, NORMAL_A), [], heads=numbers(asked, NORMAL_A))

    assert some.asked(None, {frozenset({"A_TYPE"}): 3}).most_of_only(5) == 3
    assert some.asked(None, {frozenset({"B_TYPE"}): 3}).most_of_only(5) == 5


def test_what_stood_before_a_claimed_job_is_not_read_again() -> None:
    some = probes()
    asked = some.asked(None, {})
    early, late = (a_claim(type="A_TYPE", scheduled_at=NOON + timedelta(seconds=after)) for after in (1, 2))
    some.learn(asked, numbers(asked, NORMAL_A), [late, early])

    assert since(some, NORMAL_A) == str(early.scheduled_at)
    assert since(some, NORMAL_B) == "-infinity"


def test_jobs_of_one_moment_are_told_apart_by_their_ids() -> None:
    some = probes()
    asked = some.asked(None, {})
    second, first = (a_claim(type="A_TYPE", scheduled_at=NOON, job_id=UUID(int=number)) for number in (2, 1))
    some.learn(asked, numbers(asked, NORMAL_A), [second, first])

    assert some.since(NORMAL_A) == (NOON, UUID(int=1))


def test_the_job_of_the_ring_says_nothing_about_those_before_it() -> None:
    some = probes()
    asked = some.asked("ring", {})
    some.learn(asked, numbers(asked, NORMAL_A), [a_claim(type="A_TYPE")])

    assert since(some, NORMAL_A) == "-infinity"


def test_everything_is_forgotten_at_a_poll() -> None:
    some = probes()
    asked = some.asked(None, {})
    some.learn(asked, numbers(asked, NORMAL_A), [a_claim(type="A_TYPE")])
    some.forget()

    assert len(some.asked(None, {}).places) == 8
    assert since(some, NORMAL_A) == "-infinity"


def test_a_claim_that_found_nothing_teaches_nothing() -> None:
    some = probes()
    some.learn(some.asked(None, {}), [], [])

    assert len(some.asked(None, {}).places) == 8


def test_types_with_a_full_cap_are_left_out_and_that_is_no_knowledge() -> None:
    some = probes()
    asked = some.asked(None, {frozenset({"B_TYPE"}): 0})

    assert {place.type for place in asked.places} == {"A_TYPE"}
    some.learn(asked, numbers(asked, NORMAL_A), [])
    assert len(some.asked(None, {}).places) == 8


def test_types_of_one_cap_share_a_pot() -> None:
    some = probes()
    asked = some.asked(None, {frozenset(ALL_TYPES): 3})
    params = some.params(asked, limit=10)

    assert params["pots"] == "{3}"
    assert params["pot"] == "{1,1,1,1,1,1,1,1}"
    assert params["reach"] == 10 + 10 + 8 * 3  # so many of the pot's may stand before the others


def test_few_places_leave_time_for_many_tenants() -> None:
    some = probes()
    some.ring_at = UUID(int=7)
    params = some.params(some.asked("ring", {}), limit=1)

    assert params["ring_after"] == UUID(int=7)
    assert params["hops"] == 32
