"""Rows as records: what a query promises is checked, and what is missing is said in one way."""

import msgspec
import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.rows import all_of, maybe, one


class Named(msgspec.Struct, frozen=True):
    name: str
    size: int | None


ROW = {"name": "a", "size": 1}


def test_rows_become_records_and_further_columns_do_not_matter() -> None:
    assert all_of([ROW, {"name": "b", "size": None, "more": b""}], Named) == [Named("a", 1), Named("b", None)]
    assert all_of([], Named) == []


def test_the_first_row_or_none() -> None:
    assert maybe([ROW, {"name": "b", "size": 2}], Named) == Named("a", 1)
    assert maybe([], Named) is None
    assert one([ROW], Named, "thing") == Named("a", 1)


def test_a_row_that_is_missing_is_not_found_in_the_same_words_for_everybody() -> None:
    with pytest.raises(Permanent) as caught:
        one([], Named, "thing")

    assert (caught.value.code, caught.value.message) == ("NOT_FOUND", "there is no such thing")


@pytest.mark.parametrize("row", [{"name": 1, "size": 1}, {"name": "a"}, {"name": "a", "size": "1"}])
def test_a_row_of_another_shape_is_a_bug(row: dict[str, object]) -> None:
    for read in (lambda: all_of([row], Named), lambda: maybe([row], Named), lambda: one([row], Named, "x")):
        with pytest.raises(msgspec.ValidationError):
            read()
