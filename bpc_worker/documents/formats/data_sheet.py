"""Data sheets as tables: names with values, one row under names, or one of the lists, by their titles."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain

from bpc_worker.documents import names, values
from bpc_worker.documents.checks import check_together
from bpc_worker.documents.formats import bom, due_diligence, lists, pcf
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.csv_text import Row, place_of
from bpc_worker.documents.reading.decimal_text import Spelling
from bpc_worker.documents.reading.table import Line, Sheet, fitting, header_of, lines
from bpc_worker.documents.vocabulary import Entry, Kind

_TALL = {
    word: name
    for name, words in {
        "name": "name property parameter attribute merkmal eigenschaft kennwert bezeichnung",
        "value": "value wert",
        "unit": "unit einheit",
        "language": "language sprache",
    }.items()
    for word in words.split()
}
_Reader = Callable[[Sheet, Spelling, Limits, Problems], list[FoundFact]]
# What a table is, by columns of which all are there; the first that fits.
_TABLES: tuple[tuple[Mapping[str, str], tuple[str, ...], _Reader], ...] = (
    (pcf.COLUMNS, ("stage", "kg_co2e"), pcf.from_table),
    (bom.COLUMNS, ("part", "material"), bom.from_table),
    (bom.COLUMNS, ("part_number", "material"), bom.from_table),
    (due_diligence.COLUMNS, ("report_url", "period"), due_diligence.from_table),
    (lists.SUBSTANCES.columns, ("name", "class"), partial(lists.from_table, lists.SUBSTANCES)),
    (lists.EVENTS.columns, ("at", "what"), partial(lists.from_table, lists.EVENTS)),
    *(
        (lists.SPARES.columns, ("name", each), partial(lists.from_table, lists.SPARES))
        for each in lists.SPARES.optional
    ),
)
_WANTED = "name;value;unit, a row under names of the vocabulary, or one of the lists of docs/documents.md"


def from_table(sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    return from_tables([sheet], spelling, limits, problems)


def from_tables(
    sheets: Iterable[Sheet], spelling: Spelling, limits: Limits, problems: Problems
) -> list[FoundFact]:
    """Single values may stand in several tables, each of them once."""
    facts: list[FoundFact] = []
    known: dict[str, FoundFact] = {}
    for sheet in sheets:
        for fact in _table(sheet, spelling, limits, problems):
            facts.append(fact)
            if fact.fact_type != "Value":
                continue
            first = known.setdefault(fact.fact_key, fact)
            if first.payload != fact.payload:
                message = f"{fact.fact_key} stands already at {place_of(first.pointer)}; keep one"
                problems.add(place_of(fact.pointer), message)
    check_together(known, problems)
    if not facts and not problems:
        problems.add("", "there is no value in it; add what the battery is and can do")
    return facts


def _table(sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    header = header_of(sheet, problems)
    if header is None:
        return []
    sheet.rows = chain([header], sheet.rows)
    titles = {names.normal(sheet.titles.meant(title)) for title in header.cells}
    if {"name", "value"} <= _meant(titles, _TALL):
        return _tall(sheet, spelling, limits, problems)
    for columns, wanted, read in _TABLES:
        if set(wanted) <= _meant(titles, columns):
            return read(sheet, spelling, limits, problems)
    if any(names.named(sheet.titles.meant(title))[0] for title in header.cells):
        return _wide(sheet, spelling, limits, problems)
    given = ", ".join(quoted(title) for title in header.cells[:20])
    problems.add(sheet.row_place(header.line), f"no table known here has the columns {given}; send {_WANTED}")
    return []


def _meant(titles: Collection[str], columns: Mapping[str, str]) -> set[str]:
    return {columns[title] for title in titles if title in columns}


def _tall(sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    facts: dict[str, FoundFact] = {}
    texts: dict[str, dict[str, str]] = {}
    places: list[tuple[str, str]] = []
    for line in lines(sheet, _TALL, lambda _: ("name", "value"), problems):
        _nothing_further(line, problems)
        found = _named_value(line, sheet, spelling, limits)
        if found is None:
            continue
        name, value = found
        pointer = line.pointer_of("value")
        if isinstance(value, dict) and not texts.get(name, {}).keys() & value.keys():
            texts.setdefault(name, {}).update(value)
            places.append((name, pointer))
            continue
        fact = values.value_fact(name, value, pointer)
        if name in texts or facts.setdefault(name, fact) is not fact:
            problems.add(line.record.where("name"), f"{name} stands here a second time; keep one")
    # One fact for all languages, with a pointer to each of them.
    return [*facts.values(), *(values.value_fact(name, texts[name], pointer) for name, pointer in places)]


def _named_value(line: Line, sheet: Sheet, spelling: Spelling, limits: Limits) -> tuple[str, object] | None:
    record = line.record
    title = record.need("name", readings.text)
    meant = "" if title is None else sheet.titles.meant(title)
    if title is None or not meant or not record.values["value"]:
        return None
    entry, unit = names.named(meant)
    if entry is None:
        record.problems.advise(record.where("name"), lambda: names.advice(title))
        return None
    unit = str(record.values.get("unit") or unit or names.with_unit(title)[1])
    value = record.may("value", values.reading(entry, limits, spelling, unit))
    language = record.may("language", partial(_language, entry))
    if isinstance(value, dict) and language is not None:
        value = {language: next(iter(value.values()))}
    return None if value is None else (entry.name, value)


def _language(entry: Entry, value: object) -> str:
    if entry.kind is not Kind.TEXTS:
        raise Unfit(f"{entry.name} has no language; leave it out")
    return values.language(value)


def _nothing_further(line: Line, problems: Problems) -> None:
    for title in line.further:
        message = f"the column {quoted(title)} is not read; leave it out, or say ignore in mapping.yaml"
        problems.add(line.record.here, message)


def _wide(sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    header = next(sheet.rows)
    columns = dict(_entries(sheet, header, problems))
    facts: dict[str, FoundFact] = {}
    for number, row in enumerate(fitting(sheet, header, problems)):
        if number:
            message = "a second battery; send one row for the model, and a list of batteries as SERIALS"
            problems.add(sheet.row_place(row.line), message)
            break
        for index, (entry, unit) in columns.items():
            fact = _cell(sheet, row, index, values.reading(entry, limits, spelling, unit), entry, problems)
            if fact is not None and facts.setdefault(entry.name, fact) is not fact:
                problems.add(place_of(fact.pointer), f"{entry.name} stands here a second time; keep one")
    return list(facts.values())


def _entries(sheet: Sheet, header: Row, problems: Problems) -> Iterator[tuple[int, tuple[Entry, str]]]:
    for index, title in enumerate(header.cells):
        meant = sheet.titles.meant(title)
        entry, unit = names.named(meant)
        if entry is not None:
            yield index, (entry, unit or names.with_unit(title)[1])
        elif meant:
            problems.advise(sheet.place(header.line, index + 1), partial(names.advice, title))


def _cell(
    sheet: Sheet,
    row: Row,
    index: int,
    reading: Callable[[object], object],
    entry: Entry,
    problems: Problems,
) -> FoundFact | None:
    if not row.cells[index]:
        return None
    try:
        value = reading(row.cells[index])
    except Unfit as unfit:
        problems.add(sheet.place(row.line, index + 1), f"{entry.name}: {unfit}")
        return None
    return values.value_fact(entry.name, value, sheet.pointer(row.line, index + 1))
