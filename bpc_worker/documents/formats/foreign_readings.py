"""Values as published forms write them, read into ours; Unfit says why one cannot be."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from bpc_worker.documents import values
from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Unfit, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import text_of
from bpc_worker.documents.units import in_unit
from bpc_worker.documents.vocabulary import MOST

_ZONE = re.compile(r".*(?:[Zz]|[+-][0-9]{2}:[0-9]{2})", re.DOTALL)
_DURATION = re.compile(r"P(?:(?P<years>[0-9]{1,4})Y)?(?:(?P<months>[0-9]{1,4})M)?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BRACKET = re.compile(r"([^()]*[^() ]) *\(.*\)", re.DOTALL)
_CAS = re.compile(r"CAS:? *([0-9][0-9-]*[0-9])")
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+")
_ADDRESS = ("name", "street", "streetAddress", "postalCode", "city", "addressLocality", "addressCountry")
_MOST_TEXTS = 100
_MONTHS = 12
_LIMITS = Limits()


def word(words: Mapping[str, str]) -> Callable[[object], str]:
    """One of the form's words, in ours."""

    def chosen(value: object) -> str:
        found = readings.text(value)
        if found not in words:
            raise Unfit(f"{quoted(found)} is not one of: {', '.join(words)}")
        return words[found]

    return chosen


def is_word(wanted: str, words: Mapping[str, str]) -> Callable[[object], bool]:
    """Whether it is this one of the form's words."""
    chosen = word(words)

    def read(value: object) -> bool:
        chosen(value)
        return value == wanted

    return read


def refused(why: str) -> Callable[[object], object]:
    """For a value that says too little to be taken."""

    def read(_: object) -> object:
        raise Unfit(why)

    return read


def stated(value: object) -> bool:
    """That it is there at all, such as the picture of a symbol."""
    readings.text(value)
    return True


def month(value: object) -> str:
    """Of a month, a day or a time stamp, as its writer's calendar has it."""
    found = readings.text(value)
    if "T" in found:
        moment_in_utc(found)
        return readings.month(found.partition("T")[0])
    return readings.month(found)


def moment_in_utc(value: object) -> str:
    """A time stamp; one that names no zone is taken to be UTC."""
    found = readings.text(value)
    return readings.moment(found if _ZONE.fullmatch(found) else f"{found}Z")


def months(value: object) -> str:
    """A duration of years and months, `P8Y` or `P96M`."""
    found = readings.text(value)
    parts = _DURATION.fullmatch(found)
    if not parts or not (parts["years"] or parts["months"]):
        raise Unfit(f"{quoted(found)} is not a duration in years and months; write it like P96M")
    return str(int(parts["years"] or 0) * _MONTHS + int(parts["months"] or 0))


def link(value: object) -> dict[str, str]:
    """A web address where texts by language are wanted."""
    return {values.NO_LANGUAGE: readings.url(value)}


def address(value: object) -> dict[str, str]:
    return {values.NO_LANGUAGE: address_line(value)}


def address_line(value: object) -> str:
    """A text, or the parts of an address in one line, all of them."""
    if not isinstance(value, Mapping):
        return readings.text(value)
    known = [name for name in _ADDRESS if name in value]
    others = [name for name in value if name not in _ADDRESS]
    return ", ".join(readings.text(value[name]) for name in (*known, *others) if value[name] is not None)


def number(
    unit: str = "", ours: str = "", *, least: int | None = 0, most: Decimal | int = MOST
) -> Callable[[object], str]:
    """A decimal of a row, from the form's unit into ours."""

    def read(value: object) -> str:
        found = in_unit(readings.decimals(_LIMITS)(value), unit, ours)
        if least is not None and found < least:
            raise Unfit(f"{text_of(found)} is below {least}, which cannot be; correct it")
        if found > most:
            raise Unfit(f"{text_of(found)} is above {most}, which cannot be; correct it")
        return text_of(found)

    return read


def in_other_unit(reading: Callable[[object], object], unit: str, ours: str) -> Callable[[object], object]:
    """The same reading, of a number that is given in this unit."""

    def read(value: object) -> object:
        return reading(text_of(in_unit(readings.decimals(_LIMITS)(value), unit, ours)))

    return read


def positive(value: object) -> str:
    return text_of(readings.positive(readings.decimals(_LIMITS))(value))


def before_bracket(value: object) -> str | None:
    """`Acute toxicity (CAS 21324-40-3)` is of the class Acute toxicity; other texts name none."""
    found = _BRACKET.fullmatch(readings.text(value))
    return None if found is None else found[1]


def cas_inside(value: object) -> str | None:
    found = _CAS.search(readings.text(value))
    return None if found is None else readings.cas(found[1])


def email(value: object) -> str:
    found = readings.text(value)
    if not _EMAIL.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not an e-mail address; write it like info@example.com")
    return found


def texts(value: object) -> list[str]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_TEXTS:
        raise Unfit(f"an array of 1 to {_MOST_TEXTS} texts is expected")
    return [readings.text(each) for each in value]


def uuid(value: object) -> str:
    found = readings.text(value)
    if not _UUID.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not a UUID; write it like 3f2b8c1e-5d47-4a90-8e63-0c9a7d514b26")
    return found.lower()
