"""Retry-After, as servers really send it."""

from datetime import UTC, datetime

import pytest

from bpc_worker.core.base.retry_after import retry_after

NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("7", 7),
        (" 90 ", 90),
        ("3600", 3600),
        ("3601", 3600),
        ("999999999999999999999999999999", 3600),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("²", None),
        ("soon", None),
        ("", None),
        ("Tue, 17 Nov 2026 12:01:30 GMT", 90),
        ("Tuesday, 17-Nov-26 12:01:30 GMT", 90),
        ("Tue Nov 17 12:01:30 2026", 90),
        ("Tue, 17 Nov 2026 11:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
        ("Tue, 99 Nov 2026 12:01:30 GMT", None),
        ("Tue, 17 Nov 99999999999 12:01:30 GMT", None),
    ],
)
def test_seconds_and_dates_are_read_and_bounded(value: str, seconds: float | None) -> None:
    assert retry_after([("retry-AFTER", value)], now=NOW) == seconds


def test_nothing_said_is_nothing_wanted() -> None:
    assert retry_after([("Date", "Tue, 17 Nov 2026 12:00:00 GMT")], now=NOW) is None


def test_a_date_counts_from_the_receivers_own_clock() -> None:
    there = [("Date", "Sun, 01 Jan 2023 00:00:00 GMT"), ("Retry-After", "Sun, 01 Jan 2023 00:00:07 GMT")]

    assert retry_after(there, now=NOW) == 7
