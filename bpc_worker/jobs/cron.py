"""When a cron expression ticks: five fields, in UTC, where no hour comes twice. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

_PART = re.compile(r"(?:\*|(\d{1,2}|[A-Za-z]{3})(?:-(\d{1,2}|[A-Za-z]{3}))?)(?:/(\d{1,2}))?")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905 - quotes would hide the words
_WEEKDAYS = "sun mon tue wed thu fri sat".split()  # noqa: SIM905 - quotes would hide the words
_A_LEAP_YEAR_OFF = timedelta(days=8 * 366)  # the 29th of February can be eight years away
_DAYS_OF_WEEK = 7


class CronError(ValueError):
    """What is wrong with an expression, and what is allowed."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()  # from `low` on

    def values(self, text: str, given: str) -> frozenset[int]:
        return frozenset(value for part in given.split(",") for value in self._part(text, part))

    def _part(self, text: str, part: str) -> range:
        found = _PART.fullmatch(part)
        if found is not None:
            first, last, step = found.groups()
            begin = self.low if first is None else self._number(first)
            open_end = first is None or (last is None and step is not None)
            end = self.high if open_end else self._number(last or first)
            if step != "0" and self.low <= begin <= end <= self.high:
                return range(begin, end + 1, int(step or 1))
        names = f", {self.words[0]} to {self.words[-1]}" if self.words else ""
        allowed = f"numbers {self.low} to {self.high}{names}, *, a-b, */n"
        raise CronError(f"cron {text!r}: {part!r} is no {self.name}: {allowed}")

    def _number(self, word: str) -> int:
        """Minus one for a word that is none of ours: below everything."""
        if word.isdigit():
            return int(word)
        return self.low + self.words.index(word.lower()) if word.lower() in self.words else -1


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field("month", 1, 12, tuple(_MONTHS)),
    _Field("weekday", 0, 7, tuple(_WEEKDAYS)),
)


@dataclass(frozen=True, slots=True)
class Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # Sunday is 0
    either_day: bool  # both kinds of day are named: one of them is enough

    @staticmethod
    def parse(text: str) -> "Cron":
        fields = text.split()
        if len(fields) != len(_FIELDS):
            raise CronError(
                f"cron {text!r} has {len(fields)} fields, not five: minute hour day month weekday"
            )
        values = [field.values(text, given) for field, given in zip(_FIELDS, fields, strict=True)]
        weekdays = frozenset(day % _DAYS_OF_WEEK for day in values[4])
        either = not fields[2].startswith("*") and not fields[4].startswith("*")
        return Cron(values[0], values[1], values[2], values[3], weekdays, either)

    def last(self, at: datetime) -> datetime | None:
        """The last tick until `at`; None when there is none, as on the 30th of February."""
        day = at.replace(hour=0, minute=0, second=0, microsecond=0)
        earliest = day - _A_LEAP_YEAR_OFF
        while day >= earliest:
            if self._is_day(day):
                ticks = (
                    day.replace(hour=hour, minute=minute)
                    for hour in sorted(self.hours, reverse=True)
                    for minute in sorted(self.minutes, reverse=True)
                )
                found = next((tick for tick in ticks if tick <= at), None)
                if found is not None:
                    return found
            day -= timedelta(days=1)
        return None

    def _is_day(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        is_day = day.day in self.days
        is_weekday = day.isoweekday() % _DAYS_OF_WEEK in self.weekdays
        return is_day or is_weekday if self.either_day else is_day and is_weekday
