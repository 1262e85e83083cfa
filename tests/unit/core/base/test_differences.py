from typing import Any

import pytest

from bpc_worker.core.base.differences import first_difference


@pytest.mark.parametrize(
    ("found", "expected", "difference"),
    [
        (1, 1, None),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, None),
        (1, True, ("", "expected a boolean, found 1")),
        ("x", "y", ("", "expected 'y', found 'x'")),
        ([], {}, ("", "expected an object, found an array")),
        ({"b": 1, "a": 2}, {"b": 2, "a": 2}, ("/b", "expected 2, found 1")),
        ({"a": {"b": [0, 1]}}, {"a": {"b": [0, 2]}}, ("/a/b/1", "expected 2, found 1")),
        ({"a": 1}, {}, ("/a", "it should not be there")),
        ({}, {"a": 1}, ("/a", "it is missing")),
        ([1, 2], [1], ("/1", "expected 1 items, found 2")),
        ([1], [1, 2], ("/1", "expected 2 items, found 1")),
    ],
)
def test_the_first_place_is_named(found: Any, expected: Any, difference: tuple[str, str] | None) -> None:
    assert first_difference(found, expected) == difference
