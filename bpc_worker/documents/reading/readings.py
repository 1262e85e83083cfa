"""What a value of a document must be to be taken: a text, a date, yes or no. Unfit says why not."""

import re
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TypeVar

from bpc_worker.core.base import forms
from bpc_worker.core.base.canonical_json import MAX_INTEGER
from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Unfit, quoted
from bpc_worker.documents.reading.decimal_text import PLAIN, Spelling, read
from bpc_worker.documents.reading.json_text import Number

LONGEST_NAME = 200  # characters: names become keys, and keys stand in an index
LONGEST_TEXT = 2_000

T = TypeVar("T")

_CONTROL = re.compile("[\0-\x1f\x7f]")
_WHOLE = re.compile("[0-9]{1,16}")
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MONTH = re.compile("[0-9]{4}-(?:0[1-9]|1[0-2])")
_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-~]*)?")
_CAS = re.compile("([0-9]{2,7})-([0-9]{2})-([0-9])")
_EC = re.compile("([0-9]{3})-([0-9]{3})-([0-9])")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_YES = frozenset({"true", "yes", "1", "ja"})
_NO = frozenset({"false", "no", "0", "nein"})
_KINDS = {dict: "an object", list: "an array", bool: "true or false", type(None): "null", Number: "a number"}


def text(value: object, longest: int = LONGEST_TEXT) -> str:
    if not isinstance(value, str):
        raise Unfit(f"a text in quotes is expected, found {shown(value)}")
    if not value.strip():
        raise Unfit("is empty; give a value")
    if value != value.strip():
        raise Unfit(f"{quoted(value)} begins or ends with a blank; remove it")
    if len(value) > longest:
        raise Unfit(f"has {len(value)} characters, at most {longest} are allowed; shorten it")
    if _CONTROL.search(value):
        raise Unfit(f"{quoted(value)} holds a line break or another control character; remove it")
    return value


def name(value: object) -> str:
    return text(value, LONGEST_NAME)


def one_of(words: Collection[str]) -> Callable[[object], str]:
    """A reading of one of these words, exactly as they are written here."""

    def chosen(value: object) -> str:
        found = text(value)
        if found not in words:
            raise Unfit(f"{quoted(found)} is not one of: {', '.join(words)}")
        return found

    return chosen


def decimals(limits: Limits, spelling: Spelling = PLAIN) -> Callable[[object], Decimal]:
    """A reading of numbers, as JSON numbers or as texts in this spelling."""

    def number(value: object) -> Decimal:
        if isinstance(value, Number):
            return value.value
        if not isinstance(value, str):
            raise Unfit(f"a number is expected, found {shown(value)}")
        return read(value, limits, spelling)

    return number


def percents(reading: Callable[[object], Decimal]) -> Callable[[object], Decimal]:
    """A reading of shares in percent: the sign may stand behind the number."""

    def number(value: object) -> Decimal:
        return reading(value.removesuffix("%").rstrip() if isinstance(value, str) else value)

    return number


def not_negative(reading: Callable[[object], Decimal]) -> Callable[[object], Decimal]:
    def number(value: object) -> Decimal:
        found = reading(value)
        if found < 0:
            raise Unfit("is negative; give a value of 0 or more")
        return found

    return number


def positive(reading: Callable[[object], Decimal]) -> Callable[[object], Decimal]:
    def number(value: object) -> Decimal:
        found = reading(value)
        if found <= 0:
            raise Unfit("is not above 0; give the real value")
        return found

    return number


def whole(value: object) -> int:
    """An integer of 0 or more, as a JSON number or as digits."""
    if isinstance(value, Number) and value.whole and 0 <= value.value <= MAX_INTEGER:
        return int(value.value)
    if isinstance(value, str) and _WHOLE.fullmatch(value) and int(value) <= MAX_INTEGER:
        return int(value)
    raise Unfit(f"a whole number of 0 or more is expected, such as 1500; found {shown(value)}")


def flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = _word(value)
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise Unfit(f"true or false is expected (or yes/no, 1/0, ja/nein), found {shown(value)}")


def _word(value: object) -> str:
    if isinstance(value, Number) and value.whole:
        return str(value.value)
    return value.lower() if isinstance(value, str) else ""


def day(value: object) -> str:
    """A date that exists, `YYYY-MM-DD`."""
    found = text(value)
    if not _DATE.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not a date; write it like 2027-02-18")
    try:
        return date.fromisoformat(found).isoformat()
    except ValueError:
        raise Unfit(f"{quoted(found)} is a day that does not exist; correct it") from None


def month(value: object) -> str:
    """`YYYY-MM`; of a day, its month."""
    found = text(value)
    if _DATE.fullmatch(found):
        return day(found)[:7]
    if not _MONTH.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not a month; write it like 2027-02")
    return found


def url(value: object) -> str:
    found = text(value)
    if not _URL.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not a web address; write it like https://example.com/report-2027")
    return found


def cas(value: object) -> str:
    """A CAS number whose check digit is right."""
    found = text(value)
    parts = _CAS.fullmatch(found)
    if not parts:
        raise Unfit(f"{quoted(found)} is not a CAS number; write it like 7440-48-4")
    return _checked(found, _weighed(reversed(parts[1] + parts[2])) % 10, int(parts[3]), "CAS")


def ec(value: object) -> str:
    """An EC number whose check digit is right."""
    found = text(value)
    parts = _EC.fullmatch(found)
    if not parts:
        raise Unfit(f"{quoted(found)} is not an EC number; write it like 231-158-0")
    return _checked(found, _weighed(parts[1] + parts[2]) % 11, int(parts[3]), "EC")


def _weighed(digits: Iterable[str]) -> int:
    return sum(place * int(digit) for place, digit in enumerate(digits, 1))


def _checked(found: str, wanted: int, given: int, what: str) -> str:
    if wanted != given:
        raise Unfit(
            f"{quoted(found)} is no {what} number: its last digit does not fit the others; look it up"
        )
    return found


def moment(value: object) -> str:
    """A time stamp that exists (RFC 3339), in UTC."""
    found = text(value)
    if not _MOMENT.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not a time stamp; write it like 2027-02-18T12:00:00Z")
    try:
        return forms.timestamp(datetime.fromisoformat(found.upper()).astimezone(UTC))
    except (ValueError, OverflowError):
        raise Unfit(f"{quoted(found)} is a time that does not exist; correct it") from None


def shown(value: object) -> str:
    if isinstance(value, str):
        return quoted(value) if value else "an empty text"
    return _KINDS.get(type(value), "something else")
