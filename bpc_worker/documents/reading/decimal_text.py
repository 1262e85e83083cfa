"""Which number a text is, exactly; and the one spelling in which facts keep it.

Facts hold plain notation: digits, perhaps a point and digits. No exponent, no plus, no leading zeros,
no sign of zero, no marks between thousands. Zeros at the end behind the point stay: they say how
precisely the sender measured. `+01.50` is kept as `1.50`, `1.5E3` as `1500`.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

from bpc_worker.core.base import numbers
from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Unfit, quoted

_EXPONENT = r"(?:[eE](?P<exponent>[+-]?[0-9]+))?"
_LOOKED_AT = 200  # characters of what is no number
_LONGEST_EXPONENT = 6  # characters: far beyond every limit, far below what Decimal cannot hold


class BeyondError(Unfit):
    """A number, but beyond the limits."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How numbers are written in one document."""

    pattern: re.Pattern[str]
    example: str
    group: str = ""
    point: str = "."


def _grouped(example: str, group: str, point: str) -> Spelling:
    # A group cannot begin with 0: 0,520 is a fraction in a country that writes so, and never 520.
    whole = rf"(?:[1-9][0-9]{{0,2}}(?:{re.escape(group)}[0-9]{{3}})++|[0-9]++)"
    pattern = re.compile(rf"[+-]?{whole}(?:{re.escape(point)}[0-9]++)?{_EXPONENT}")
    return Spelling(pattern, example, group, point)


PLAIN = Spelling(re.compile(rf"[+-]?[0-9]++(?:\.[0-9]++)?{_EXPONENT}"), "1234.56")
SPELLINGS = {
    None: PLAIN,
    "1.234,56": _grouped("1.234,56", ".", ","),
    "1,234.56": _grouped("1,234.56", ",", "."),
}

_JSON_NUMBER = re.compile(rf"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?{_EXPONENT}")


def read(text: str, limits: Limits, spelling: Spelling = PLAIN) -> Decimal:
    """The number; Unfit for every other text and for numbers beyond the limits."""
    found = spelling.pattern.fullmatch(text)
    if not found:
        raise Unfit(f"{quoted(text)} is not a number: {_why(text, spelling)}{_other_formats(text, spelling)}")
    return _bounded(text.replace(spelling.group, "").replace(spelling.point, "."), found["exponent"], limits)


def read_json(token: str, limits: Limits) -> Decimal:
    """The number that a JSON token is."""
    found = _JSON_NUMBER.fullmatch(token)
    if not found:
        raise Unfit(f"{quoted(token)} is not a JSON value: {_why(token, PLAIN)}")
    return _bounded(token, found["exponent"], limits)


def text_of(value: Decimal) -> str:
    """The spelling that facts keep."""
    return numbers.text(value)


def _bounded(text: str, exponent: str | None, limits: Limits) -> Decimal:
    beyond = f"{quoted(text)} is beyond an exponent of {limits.exponent}: give the measured value"
    if exponent and len(exponent.lstrip("+-0")) > _LONGEST_EXPONENT:
        raise BeyondError(beyond)
    if len(text.lstrip("+-0")) > limits.digits + limits.exponent + _LONGEST_EXPONENT:
        raise BeyondError(_too_many(text, limits))
    value = Decimal(text)
    if len(value.as_tuple().digits) > limits.digits:
        raise BeyondError(_too_many(text, limits))
    if abs(value.adjusted()) > limits.exponent:
        raise BeyondError(beyond)
    return value


def _too_many(text: str, limits: Limits) -> str:
    return f"{quoted(text)} has more than {limits.digits} digits: round it to what was measured"


def _why(text: str, spelling: Spelling) -> str:
    plain = f"write it like {spelling.example}"
    text = text[:_LOOKED_AT]
    if not text:
        return "it is empty"
    if text.lower().strip("+-") in {"nan", "inf", "infinity"}:
        return "only finite numbers can be stored; leave the value out or give the measured one"
    if any(each.isnumeric() and not each.isascii() for each in text):
        return "digits are 0 to 9; other scripts are not read"
    if "_" in text:
        return f"underscores are not part of a number; {plain}"
    return plain


def _other_formats(text: str, spelling: Spelling) -> str:
    """Those in which it would be a number; declared wrongly, it would be another number."""
    fitting = [
        "no number_format" if name is None else f'number_format "{name}"'
        for name, each in SPELLINGS.items()
        if each is not spelling and each.pattern.fullmatch(text)
    ]
    return f", or declare {' or '.join(fitting)} with a CSV" if fitting else ""
