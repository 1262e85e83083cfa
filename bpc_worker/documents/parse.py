"""A document to facts, each with a pointer to its source, or to everything that is wrong with it."""

from bpc_worker.documents.attachment_kinds import ATTACHMENT
from bpc_worker.documents.attachments import fact_of
from bpc_worker.documents.formats import bom, data_sheet, due_diligence, items, pcf, shapes
from bpc_worker.documents.mapping import titles
from bpc_worker.documents.mime_types import XLSX
from bpc_worker.documents.model import KINDS, Accepted, Declared, FoundFact, Limits, Rejected
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading.decimal_text import PLAIN, SPELLINGS
from bpc_worker.documents.reading.encodings import decoded
from bpc_worker.documents.reading.json_text import decode
from bpc_worker.documents.reading.record import json_record
from bpc_worker.documents.reading.signatures import foreign, is_zip
from bpc_worker.documents.reading.table import csv_sheet
from bpc_worker.documents.reading.xlsx import sheets

_CSV_TYPES = frozenset({"text/csv", "application/csv"})
_JSON_TYPES = frozenset({"application/json", "text/json"})
_TABLES = {
    "BOM": bom.from_table,
    "PCF": pcf.from_table,
    "DUE_DILIGENCE": due_diligence.from_table,
    "DATA_SHEET": data_sheet.from_table,
    "SERIALS": items.serials_from_table,
    "MEASUREMENTS": items.measurements_from_table,
}


def parse_document(content: bytes, declared: Declared, limits: Limits | None = None) -> Accepted | Rejected:
    """Facts, or every problem found; it never raises, whatever the bytes are."""
    bounds = limits or Limits()
    problems = Problems(bounds.problems)
    facts = _facts(content, declared, bounds, problems)
    return problems.rejected() if problems else Accepted(facts=tuple(facts), refused=problems.refused)


def _facts(content: bytes, declared: Declared, limits: Limits, problems: Problems) -> list[FoundFact]:
    mime_type = declared.mime_type.partition(";")[0].strip().lower()
    if declared.kind == ATTACHMENT:
        return fact_of(content, mime_type, declared.mapping, problems)
    is_json = mime_type in _JSON_TYPES or mime_type.endswith("+json")
    is_workbook = mime_type == XLSX
    _check_declared(declared, problems, readable=is_json or is_workbook or mime_type in _CSV_TYPES)
    if is_json and declared.mapping is not None:
        problems.add("mapping", "a mapping is for tables; JSON has names of its own, leave the mapping out")
    if is_workbook:
        return [] if problems else _from_workbook(content, declared, limits, problems)
    text = _text(content, mime_type, problems)
    if text is None or problems:
        return []
    begins_like_json = text.lstrip()[:1] in {"{", "["}
    if is_json:
        return _from_json(text, declared.kind, limits, problems, begins_like_json=begins_like_json)
    if begins_like_json:
        problems.add("", f"declared as {mime_type}, but it is JSON; declare application/json")
        return []
    return _from_csv(text, declared, limits, problems)


def _check_declared(declared: Declared, problems: Problems, *, readable: bool) -> None:
    if declared.kind not in KINDS:
        problems.add("", f"the kind {quoted(declared.kind)} is not one of: {', '.join(KINDS)}")
    if not readable:
        what = f"the MIME type {quoted(declared.mime_type)} is not read"
        problems.add("", f"{what}; send text/csv, application/json or {XLSX}")
    if declared.number_format not in SPELLINGS:
        what = f"the number format {quoted(str(declared.number_format))} is not known"
        problems.add("", f'{what}; declare "1.234,56", "1,234.56", or none for 1234.56')
    try:
        titles(declared.mapping)
    except Unfit as unfit:
        problems.add("mapping", str(unfit))


def _text(content: bytes, mime_type: str, problems: Problems) -> str | None:
    if message := foreign(content):
        problems.add("", f"declared as {quoted(mime_type)}, but {message}")
        return None
    text = decoded(content, problems)
    if text is not None and not text.strip():
        problems.add("", "the file is empty; send the document again")
        return None
    if text is not None and text.lstrip().startswith("<"):
        problems.add(
            "", f"declared as {quoted(mime_type)}, but this is XML or HTML; send the data as CSV or JSON"
        )
        return None
    return text


def _from_json(
    text: str, kind: str, limits: Limits, problems: Problems, *, begins_like_json: bool
) -> list[FoundFact]:
    if not begins_like_json:
        problems.add(
            "", "declared as JSON, but it does not begin with { or [; declare what it is, or send JSON"
        )
        return []
    top = json_record(decode(text, limits, problems), "", problems)
    return [] if top is None else shapes.read(top, kind, limits)


def _from_workbook(content: bytes, declared: Declared, limits: Limits, problems: Problems) -> list[FoundFact]:
    if not is_zip(content):
        what = foreign(content) or "this is none; declare what it is, or send the workbook"
        problems.add("", f"declared as a workbook (XLSX), but {what}")
    elif declared.number_format is not None:
        problems.add("", "a workbook holds numbers as such; leave the number format out")
    elif declared.kind not in _TABLES:
        problems.add("", f"{declared.kind} is not read as a workbook; send application/json")
    if problems:
        return []
    found = sheets(content, titles(declared.mapping), limits, problems)
    if not found and not problems:
        problems.add("", "the workbook is empty; send the document again")
    if declared.kind == "DATA_SHEET":
        return data_sheet.from_tables(found, PLAIN, limits, problems) if found else []
    if len(found) > 1:
        hint = "keep one, or name it under sheets in mapping.yaml"
        problems.add("", f"the workbook has {len(found)} sheets with content; {hint}")
    return [fact for sheet in found[:1] for fact in _TABLES[declared.kind](sheet, PLAIN, limits, problems)]


def _from_csv(text: str, declared: Declared, limits: Limits, problems: Problems) -> list[FoundFact]:
    reader = _TABLES.get(declared.kind)
    if reader is None:
        problems.add("", f"{declared.kind} is not read as CSV; send application/json")
        return []
    sheet = csv_sheet(text, titles(declared.mapping), limits, problems)
    return reader(sheet, SPELLINGS[declared.number_format], limits, problems)
