"""What a cell of a workbook says, as the text that a CSV would have in its place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum, auto

from bpc_worker.core.base import numbers
from bpc_worker.documents.problems import Unfit, quoted

_NUMBER = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,6})?")
_DIGITS_SHOWN = 15  # a spreadsheet keeps no more; what is stored behind them is noise of its arithmetic
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.')
_OF_TIME = re.compile("[ymdhs]", re.IGNORECASE)
_PERCENT_IDS = frozenset({9, 10})
_DATE_IDS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_DAY_0 = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}  # noqa: DTZ001 - days without a zone
_FIRST_SURE_DAY = 61  # before it, the calendar of spreadsheets has a day that did not exist
_LAST_DAY = 2_900_000


class Shown(Enum):
    NUMBER = auto()
    PERCENT = auto()
    DATE = auto()


@dataclass(slots=True)
class Look:
    """How numbers are shown: without it 0.16 and 16 % are the same, and so are a date and a number."""

    styles: list[Shown] = field(default_factory=list)
    from_1904: bool = False

    def of(self, style: str | None) -> Shown:
        index = int(style) if style is not None and style.isascii() and style.isdigit() else 0
        return self.styles[index] if index < len(self.styles) else Shown.NUMBER


def shown_by(format_id: int, codes: Mapping[int, str]) -> Shown:
    code = _LITERALS.sub("", codes.get(format_id, ""))
    if format_id in _PERCENT_IDS or "%" in code:
        return Shown.PERCENT
    if format_id in _DATE_IDS or _OF_TIME.search(code):
        return Shown.DATE
    return Shown.NUMBER


def number_text(stored: str, look: Look, style: str | None) -> str:
    """The number as its sheet shows it: `16 %` for 0.16 in percent, a day for a date."""
    if not _NUMBER.fullmatch(stored):
        raise Unfit(f"{quoted(stored)} is stored as a number and is none; type it again")
    match look.of(style):
        case Shown.NUMBER:
            return _plain(stored)
        case Shown.PERCENT:
            return f"{numbers.text(numbers.trimmed(Decimal(_plain(stored)).scaleb(2)))} %"
        case Shown.DATE:
            return _day(stored, from_1904=look.from_1904)


def _plain(stored: str) -> str:
    digits = re.sub("[eE].*|[^0-9]", "", stored).lstrip("0")
    return stored if len(digits) <= _DIGITS_SHOWN else format(float(stored), f".{_DIGITS_SHOWN}g")


def _day(stored: str, *, from_1904: bool) -> str:
    days = float(stored)
    if not (0 if from_1904 else _FIRST_SURE_DAY) <= days <= _LAST_DAY:
        raise Unfit(f"{quoted(stored)} is shown as a date and is none; write it like 2027-02-18")
    found = _DAY_0[from_1904] + timedelta(seconds=round(days * 86_400))
    is_day = not (found.hour or found.minute or found.second)
    return found.date().isoformat() if is_day else found.isoformat()
