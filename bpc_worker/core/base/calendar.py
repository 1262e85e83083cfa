"""Months and moments: what the law counts in beside days."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime

_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z")


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A month of a year, written 2027-02."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A point in time, in UTC; written 2027-02-18T12:00:00Z, with a fraction of six digits if it has one."""

    at: datetime

    def __str__(self) -> str:
        return self.at.isoformat().replace("+00:00", "Z")


def month_of(day: date) -> Month:
    return Month(day.year, day.month)


def read_month(text: str) -> Month | None:
    """YYYY-MM and no other form."""
    found = _MONTH.fullmatch(text)
    return None if found is None or found[1] == "0000" else Month(int(found[1]), int(found[2]))


def read_moment(text: str) -> Moment | None:
    """RFC 3339 in UTC with its Z: a time of an unknown place is none."""
    if _MOMENT.fullmatch(text) is None:
        return None
    try:
        return Moment(datetime.fromisoformat(text).astimezone(UTC))
    except ValueError:
        return None


def add_months(day: date, months: int) -> date | None:
    """The same day so many months on, or the last one of a shorter month; None beyond the calendar."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not date.min.year <= year <= date.max.year:
        return None
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
