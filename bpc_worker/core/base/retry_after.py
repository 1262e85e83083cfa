"""When a receiver wants to be asked again: Retry-After (RFC 9110, 10.2.3), in seconds or as a date."""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_SECONDS = 3600.0
_MOST_DIGITS = 9


def retry_after(headers: Iterable[tuple[str, str]], *, now: datetime) -> float | None:
    """Seconds, at most an hour; None where it says nothing that makes sense.

    A date is compared with the answer's own Date, because clocks differ; without one, with `now`.
    """
    found = {name.lower(): value.strip() for name, value in headers}
    text = found.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_SECONDS) if len(text) <= _MOST_DIGITS else LONGEST_SECONDS
    until = _date(text)
    if until is None:
        return None
    seconds = (until - (_date(found.get("date", "")) or now)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_SECONDS)


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
