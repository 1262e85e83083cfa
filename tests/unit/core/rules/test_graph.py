from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.rules.graph import evaluation_order, find_cycle

names = st.sampled_from("abcdefgh")
graphs = st.dictionaries(names, st.sets(names)).map(
    lambda uses: {name: tuple(sorted(needed & uses.keys())) for name, needed in uses.items()}
)


@pytest.mark.parametrize(
    ("uses", "order"),
    [
        ({}, []),
        ({"b": (), "a": ()}, ["a", "b"]),
        ({"a": ("z",), "b": (), "z": ()}, ["b", "z", "a"]),
        ({"a": ("b", "c"), "b": ("c",), "c": ()}, ["c", "b", "a"]),
        ({"a": ("a",), "b": ()}, ["b"]),
        ({"a": ("b",), "b": ("a",), "c": ("a",), "d": ()}, ["d"]),
    ],
)
def test_every_field_after_all_it_uses_ties_by_name(
    uses: dict[str, tuple[str, ...]], order: list[str]
) -> None:
    assert evaluation_order(uses) == order


@pytest.mark.parametrize(
    ("uses", "cycle"),
    [
        ({"a": ("a",)}, ["a", "a"]),
        ({"c": ("b",), "b": ("a",), "a": ("c",)}, ["a", "c", "b", "a"]),
        ({"a": ("x",), "x": ("y",), "y": ("x",)}, ["x", "y", "x"]),
    ],
)
def test_a_cycle_begins_and_ends_with_its_first_name(
    uses: dict[str, tuple[str, ...]], cycle: list[str]
) -> None:
    assert find_cycle(uses, set(uses)) == cycle


@given(uses=graphs)
def test_fields_are_in_order_or_a_cycle_says_why_not(uses: dict[str, tuple[str, ...]]) -> None:
    order = evaluation_order(uses)
    stuck = set(uses) - set(order)

    for place, name in enumerate(order):
        assert set(uses[name]) <= set(order[:place])
    if stuck:
        cycle = find_cycle(uses, stuck)
        assert cycle[0] == cycle[-1] == min(cycle)
        assert all(after in uses[before] for before, after in pairwise(cycle))
