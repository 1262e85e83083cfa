"""A due diligence report to the fact `DueDiligence`: where it stands and which time it covers."""

import re

from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import Spelling
from bpc_worker.documents.reading.record import Record, present
from bpc_worker.documents.reading.table import lines

_NEEDED = ("report_url", "period")
_OPTIONAL = ("third_party_assurance",)
_COLUMN = {name: name for name in (*_NEEDED, *_OPTIONAL)} | {"url": "report_url"}

_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-~]*)?")
_YEAR = re.compile("[0-9]{4}")
_RANGE = re.compile("([^/]+)/([^/]+)")


def from_json(top: Record, _: Limits) -> list[FoundFact]:
    top.only((*_NEEDED, *_OPTIONAL))
    return [_fact(top, top.here)]


def from_csv(text: str, _: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    facts: list[FoundFact] = []
    for line in lines(text, _COLUMN, lambda _: _NEEDED, limits, problems):
        if facts:
            problems.add(line.record.here, "a second report; send one document per report")
        else:
            facts.append(_fact(line.record, line.pointer))
    if not facts and not problems:
        problems.add("", "there is no row below the header; add the report")
    return facts


def _fact(record: Record, pointer: str) -> FoundFact:
    payload = present(
        report_url=record.need("report_url", _url),
        period=record.need("period", _period),
        third_party_assurance=record.may("third_party_assurance", readings.text),
    )
    return FoundFact(
        fact_type="DueDiligence", fact_key="report", schema_version=1, payload=payload, pointer=pointer
    )


def _url(value: object) -> str:
    found = readings.text(value)
    if not _URL.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not a web address; write it like https://example.com/report-2027")
    return found


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
