"""A due diligence report to values `due_diligence.…`: where it stands, which time it covers, what it says."""

import re
from collections.abc import Callable, Mapping

from bpc_worker.documents import values
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import PLAIN, Spelling
from bpc_worker.documents.reading.record import Record
from bpc_worker.documents.reading.table import Sheet, lines
from bpc_worker.documents.vocabulary import VALUES

_NEEDED = ("report_url", "period")
_OPTIONAL = ("third_party_assurance", "summary", "supply_chain_index")
COLUMNS = {name: name for name in (*_NEEDED, *_OPTIONAL)} | {
    "url": "report_url",
    "assurance": "third_party_assurance",
}

_YEAR = re.compile("[0-9]{4}")
_RANGE = re.compile("([^/]+)/([^/]+)")


def from_json(top: Record, limits: Limits) -> list[FoundFact]:
    top.only((*_NEEDED, *_OPTIONAL))
    return _facts(top, top.where, _readings(limits, PLAIN))


def from_table(sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    found = list(lines(sheet, COLUMNS, lambda _: _NEEDED, problems))
    for line in found[1:]:
        problems.add(line.record.here, "a second report; send one document per report")
    if not found and not problems:
        problems.add("", "there is no row below the header; add the report")
    return [
        fact
        for line in found[:1]
        for fact in _facts(line.record, line.pointer_of, _readings(limits, spelling))
    ]


def _facts(
    record: Record, pointer_of: Callable[[str], str], reading: Mapping[str, Callable[[object], object]]
) -> list[FoundFact]:
    found: dict[str, object] = {name: record.need(name, reading[name]) for name in _NEEDED}
    found |= {name: record.may(name, reading[name]) for name in _OPTIONAL}
    return [
        values.value_fact(f"due_diligence.{name.removeprefix('third_party_')}", value, pointer_of(name))
        for name, value in found.items()
        if value is not None
    ]


def _readings(limits: Limits, spelling: Spelling) -> Mapping[str, Callable[[object], object]]:
    return {
        "report_url": readings.url,
        "period": _period,
        "third_party_assurance": readings.text,
        "summary": values.texts,
        "supply_chain_index": values.reading(VALUES["due_diligence.supply_chain_index"], limits, spelling),
    }


def _period(value: object) -> str:
    """A year, or the first and the last day."""
    found = readings.text(value)
    if _YEAR.fullmatch(found):
        return found
    days = _RANGE.fullmatch(found)
    if not days:
        raise Unfit(f"{quoted(found)} is not a period; write 2027 or 2027-01-01/2027-12-31")
    first, last = readings.day(days[1]), readings.day(days[2])
    if first > last:
        raise Unfit(f"{quoted(found)} ends before it starts; correct it")
    return found
