"""When cron expressions tick."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.jobs.cron import Cron, CronError


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "now", "tick"),
    [
        ("* * * * *", "2026-11-17T04:05:59", "2026-11-17T04:05"),
        ("0 3 * * *", "2026-11-17T03:00:00", "2026-11-17T03:00"),  # the tick itself counts
        ("0 3 * * *", "2026-11-17T02:59:59", "2026-11-16T03:00"),
        ("*/20 9-11 * * *", "2026-11-17T12:30:00", "2026-11-17T11:40"),
        ("5/10 * * * *", "2026-11-17T04:04:00", "2026-11-17T03:55"),
        ("30 3 * * 1-5", "2026-11-16T03:00:00", "2026-11-13T03:30"),  # a Monday: last Friday's
        ("0 0 * * 7", "2026-11-17T00:00:00", "2026-11-15T00:00"),  # Sunday, also as 0
        ("0 0 * * sun", "2026-11-17T00:00:00", "2026-11-15T00:00"),
        ("0 0 1 JAN,jul *", "2026-11-17T00:00:00", "2026-07-01T00:00"),
        ("0 0 31 * *", "2026-11-17T00:00:00", "2026-10-31T00:00"),
        ("0 0 29 2 *", "2026-11-17T00:00:00", "2024-02-29T00:00"),
        ("0 0 29 2 *", "2104-02-28T00:00:00", "2096-02-29T00:00"),  # 2100 is no leap year
        (
            "0 0 13 * 5",
            "2026-11-19T00:00:00",
            "2026-11-13T00:00",
        ),  # either day is enough: a Friday, and the 13th
        ("0 0 14 * 5", "2026-11-19T00:00:00", "2026-11-14T00:00"),
        (
            "0 0 */2 * 1",
            "2026-11-17T00:00:00",
            "2026-11-09T00:00",
        ),  # a star with a step names no day: both count
    ],
)
def test_the_last_tick(cron: str, now: str, tick: str) -> None:
    assert Cron.parse(cron).last(at(now)) == at(tick)


def test_a_day_that_never_comes() -> None:
    assert Cron.parse("0 0 30 2 *").last(at("2026-11-17T00:00")) is None


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "a * * * *", "* * * mon *", "* * * * fri-mon", "1-2-3 * * * *"]
)
def test_what_is_no_expression(cron: str) -> None:
    with pytest.raises(CronError, match="cron '"):
        Cron.parse(cron)


_values = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 6)}


@st.composite
def _field(draw: st.DrawFn, low: int, high: int) -> tuple[str, set[int]]:
    if draw(st.booleans()):
        return "*", set(range(low, high + 1))
    begin = draw(st.integers(low, high))
    end = draw(st.integers(begin, high))
    step = draw(st.integers(1, 9))
    return f"{begin}-{end}/{step}", set(range(begin, end + 1, step))


@given(
    st.tuples(*(_field(low, high) for low, high in _values.values())),
    st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - made UTC below
)
def test_the_last_tick_fits_and_no_later_minute_does(
    fields: tuple[tuple[str, set[int]], ...], naive: datetime
) -> None:
    """Against the definition, minute by minute over two days."""
    now = naive.replace(tzinfo=UTC)
    minutes, hours, days, months, weekdays = (values for _, values in fields)
    both = fields[2][0] != "*" and fields[4][0] != "*"

    def fits(moment: datetime) -> bool:
        day, weekday = moment.day in days, moment.isoweekday() % 7 in weekdays
        right_day = (day or weekday) if both else (day and weekday)
        return moment.minute in minutes and moment.hour in hours and moment.month in months and right_day

    tick = Cron.parse(" ".join(text for text, _ in fields)).last(now)

    minute = now.replace(second=0, microsecond=0)
    first = next((m for m in (minute - timedelta(minutes=n) for n in range(2880)) if fits(m)), None)
    if first is not None:
        assert tick == first
    elif tick is not None:
        assert fits(tick)
        assert tick < minute - timedelta(minutes=2879)
