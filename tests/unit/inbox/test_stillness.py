"""Two looks, and whose turn it is."""

from bpc_worker.inbox.layout import Meaning
from bpc_worker.inbox.stillness import Found, Stillness


def found(place: str, looks: int = 1, *, taken: bool = False) -> Found:
    return Found(place=tuple(place.split("/")), meaning=Meaning.DOCUMENT, looks=looks, taken=taken)


def test_what_looks_the_same_twice_stands_still() -> None:
    stillness = Stillness()

    assert stillness.settled([found("a/BOM/x", 1)]) == []
    assert stillness.settled([found("a/BOM/x", 2)]) == []
    assert stillness.settled([found("a/BOM/x", 2)]) == [found("a/BOM/x", 2)]


def test_what_was_away_for_a_look_begins_anew() -> None:
    stillness = Stillness()
    stillness.settled([found("a/BOM/x")])
    stillness.settled([])

    assert stillness.settled([found("a/BOM/x")]) == []


def test_a_file_and_the_one_taken_before_under_its_name_are_two() -> None:
    stillness = Stillness()
    both = [found("a/BOM/x", 1), found("a/BOM/x", 2, taken=True)]
    stillness.settled(both)

    assert stillness.settled(both) == [both[1], both[0]]


def test_tenants_take_turns() -> None:
    stillness = Stillness()
    many = [found(f"a/BOM/{n}") for n in range(3)] + [found("b/BOM/1")]
    stillness.settled(many)

    places = ["/".join(each.place) for each in stillness.settled(many)]
    assert places == ["a/BOM/0", "b/BOM/1", "a/BOM/1", "a/BOM/2"]
