from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.calendar import Moment, Month, add_months, month_of, read_moment, read_month


@given(day=st.dates())
def test_a_month_comes_back_from_its_text(day: date) -> None:
    assert read_month(str(month_of(day))) == Month(day.year, day.month)


@pytest.mark.parametrize("text", ["", "2027", "2027-2", "2027-13", "0000-01", "2027-02-18", "٢٠٢٧-02"])
def test_no_other_text_is_a_month(text: str) -> None:
    assert read_month(text) is None


@given(at=st.datetimes(timezones=st.just(UTC)))
def test_a_moment_comes_back_from_its_text(at: datetime) -> None:
    assert read_moment(str(Moment(at))) == Moment(at)


def test_a_moment_may_have_a_fraction() -> None:
    found = read_moment("2027-02-18T12:00:00.5Z")

    assert found == Moment(datetime(2027, 2, 18, 12, 0, 0, 500_000, UTC))
    assert str(found) == "2027-02-18T12:00:00.500000Z"


@pytest.mark.parametrize(
    "text",
    [
        "", "2027-02-18", "2027-02-18T12:00:00", "2027-02-18T12:00:00+01:00", "2027-02-30T12:00:00Z",
        "2027-02-18T25:00:00Z", "2027-02-18T12:00:00.1234567Z", "2027-02-18 12:00:00Z",
    ],
)  # fmt: skip
def test_no_other_text_is_a_moment(text: str) -> None:
    assert read_moment(text) is None


@pytest.mark.parametrize(
    ("day", "months", "later"),
    [
        ("2027-01-15", 24, "2029-01-15"),
        ("2027-01-31", 1, "2027-02-28"),
        ("2028-01-31", 1, "2028-02-29"),
        ("2027-01-15", -1, "2026-12-15"),
        ("2027-01-15", 0, "2027-01-15"),
        ("2027-12-31", 12, "2028-12-31"),
    ],
)
def test_months_are_added_to_a_day(day: str, months: int, later: str) -> None:
    assert add_months(date.fromisoformat(day), months) == date.fromisoformat(later)


@pytest.mark.parametrize("months", [12 * 8000, -12 * 8000])
def test_there_is_no_day_beyond_the_calendar(months: int) -> None:
    assert add_months(date(2027, 1, 15), months) is None
