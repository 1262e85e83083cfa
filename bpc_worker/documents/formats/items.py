"""Tables about single batteries: lists of serials with their own values, and what was measured of each."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from bpc_worker.documents import names, values
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.csv_text import Row
from bpc_worker.documents.reading.decimal_text import Spelling
from bpc_worker.documents.reading.table import Sheet, fitting, header_of
from bpc_worker.documents.vocabulary import MEASURED, Entry

T = TypeVar("T")

_SYNONYMS = {
    "serial": ("serial", "serial_number", "serial_no", "sn", "seriennummer"),
    "measured_at": ("measured_at", "time", "zeitpunkt"),
    "source": ("source", "quelle"),
    "name": ("name", "property", "merkmal"),
    "value": ("value", "wert"),
}
_ROLES = {word: role for role, words in _SYNONYMS.items() for word in words}
_TALL = ("name", "value", "measured_at", "source")
_MEASURED = "measured_"  # before a name, where it could be that of a declared value too
_EVENT = "negative_event"  # in a tall table: its value says what happened


@dataclass(frozen=True, slots=True)
class _Column:
    index: int
    entry: Entry
    unit: str
    measured: bool


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of which the header is read."""

    sheet: Sheet
    header: Row
    spelling: Spelling
    limits: Limits
    problems: Problems
    roles: Mapping[str, int]  # which column says which battery, when, by whom
    columns: tuple[_Column, ...]  # that are values under their names

    def read(self, row: Row, index: int, reading: Callable[[object], T]) -> T | None:
        """The cell; None, with a problem, if it is unfit."""
        try:
            return reading(row.cells[index])
        except Unfit as unfit:
            title = quoted(self.header.cells[index])
            self.problems.add(self.sheet.place(row.line, index + 1), f"{title}: {unfit}")
            return None

    def reading(self, entry: Entry, unit: str = "") -> Callable[[object], object]:
        return values.reading(entry, self.limits, self.spelling, unit)

    def batteries(self) -> Iterator[tuple[Row, str]]:
        for row in fitting(self.sheet, self.header, self.problems):
            serial = self.read(row, self.roles["serial"], readings.name)
            if serial is not None:
                yield row, serial

    def facts(self, row: Row, serial: str) -> list[FoundFact]:
        """What the row says of the battery."""
        told = self._tall(row) if "name" in self.roles else self._wide(row)
        return [replace(each, item=serial) for each in told]

    def _wide(self, row: Row) -> Iterator[FoundFact]:
        """Every cell under a name is a value."""
        told = [each for each in self.columns if row.cells[each.index]]
        when = self._when(row) if any(each.measured for each in told) else None
        for column in told:
            value = self.read(row, column.index, self.reading(column.entry, column.unit))
            pointer = self.sheet.pointer(row.line, column.index + 1)
            if value is not None and not column.measured:
                yield values.value_fact(column.entry.name, value, pointer)
            elif value is not None and when is not None:
                yield values.row_fact("Measured", column.entry.name, {"value": value} | when, pointer)

    def _tall(self, row: Row) -> Iterator[FoundFact]:
        """The row names what was measured."""
        at = self.roles["value"]
        name, when = self.read(row, self.roles["name"], _measured_name), self._when(row)
        if name is None or when is None:
            return
        pointer = self.sheet.pointer(row.line, at + 1)
        reading = readings.text if name == _EVENT else self.reading(MEASURED[name])
        value = self.read(row, at, reading)
        if value is not None and name == _EVENT:
            moment = when["measured_at"]
            yield values.row_fact("NegativeEvent", f"event:{moment}", {"at": moment, "what": value}, pointer)
        elif value is not None:
            yield values.row_fact("Measured", name, {"value": value} | when, pointer)

    def _when(self, row: Row) -> dict[str, object] | None:
        """When it was measured, and by whom."""
        moment = self.read(row, self.roles["measured_at"], readings.moment)
        source = self.read(row, self.roles["source"], readings.text)
        return None if moment is None or source is None else {"measured_at": moment, "source": source}


def serials_from_table(
    sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems
) -> list[FoundFact]:
    """One row per battery: its serial, and values of its own under names of the vocabulary."""
    table = _table(sheet, spelling, limits, problems, measured_only=False)
    if table is None:
        return []
    facts: list[FoundFact] = []
    seen: dict[str, str] = {}
    for row, serial in table.batteries():
        here = sheet.row_place(row.line)
        first = seen.setdefault(serial, here)
        if first != here:
            problems.add(here, f"{quoted(serial)} stands already at {first}; keep one")
        if not any(cell for index, cell in enumerate(row.cells) if index != table.roles["serial"]):
            hint = "`bpc-worker serials add` takes serials without values"
            problems.add(here, f"{quoted(serial)} has no value of its own; {hint}")
        facts += table.facts(row, serial)
    if not facts and not problems:
        problems.add("", "the list names no battery; add a row for each")
    return facts


def measurements_from_table(
    sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems
) -> list[FoundFact]:
    """Rows of serial, time, source and values under their names, or of serial, name, value, time, source."""
    table = _table(sheet, spelling, limits, problems, measured_only=True)
    if table is None:
        return []
    facts: list[FoundFact] = []
    seen: dict[tuple[object, ...], FoundFact] = {}
    for row, serial in table.batteries():
        for fact in table.facts(row, serial):
            first = seen.setdefault((serial, fact.fact_key, fact.payload.get("measured_at")), fact)
            if first.payload != fact.payload:
                known = f"{fact.fact_key} of {quoted(serial)} at this time stands already at {first.pointer}"
                problems.add(sheet.row_place(row.line), f"{known} with another value; keep one")
            facts.append(fact)
    if not facts and not problems:
        problems.add("", "nothing was measured here; add a row for each measurement")
    return facts


def _table(
    sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems, *, measured_only: bool
) -> _Table | None:
    header = _header(sheet, problems)
    if header is None:
        return None
    roles = _roles(sheet, header, problems)
    tall = measured_only and "name" in roles
    if not tall:  # a name and a value are nothing by themselves
        roles = {role: index for role, index in roles.items() if role not in _TALL[:2]}
    found = [
        _column(title, index, measured_only=measured_only)
        for index, title in enumerate(header.cells)
        if title and _ROLES.get(names.normal(title)) not in roles
    ]
    columns = tuple(each for each in found if isinstance(each, _Column))
    for unknown in (each for each in found if isinstance(each, int)):
        problems.add(
            sheet.place(header.line, unknown + 1), _advice(header.cells[unknown], measured_only=measured_only)
        )
    needed = _TALL if tall else ("measured_at", "source") if any(each.measured for each in columns) else ()
    missing = [each for each in ("serial", *needed) if each not in roles]
    if missing:
        given = ", ".join(quoted(title) for title in header.cells[:20])
        what = f"column {missing[0]} is" if len(missing) == 1 else f"columns {', '.join(missing)} are"
        problems.add(sheet.row_place(header.line), f"{what} missing; found are {given}")
        return None
    return _Table(sheet, header, spelling, limits, problems, roles, columns)


def _header(sheet: Sheet, problems: Problems) -> Row | None:
    """With the names that the sender's own titles mean."""
    header = header_of(sheet, problems)
    return None if header is None else header._replace(cells=tuple(map(sheet.titles.meant, header.cells)))


def _roles(sheet: Sheet, header: Row, problems: Problems) -> dict[str, int]:
    roles: dict[str, int] = {}
    for index, title in enumerate(header.cells):
        role = _ROLES.get(names.normal(title))
        if role is not None and roles.setdefault(role, index) != index:
            problems.add(sheet.place(header.line, index + 1), f"a second column for {role}; keep one")
    return roles


def _column(title: str, index: int, *, measured_only: bool) -> _Column | int:
    """What a title means; its place where it means nothing."""
    base, unit = names.with_unit(title)
    word = names.normal(base)
    measured = MEASURED.get(word.removeprefix(_MEASURED))
    if measured is not None and (measured_only or word.startswith(_MEASURED)):
        return _Column(index, measured, unit, measured=True)
    entry, unit = names.named(title)
    if entry is not None and not measured_only:
        return _Column(index, entry, unit, measured=False)
    return index if measured is None or measured_only else _Column(index, measured, unit, measured=True)


def _advice(title: str, *, measured_only: bool) -> str:
    if measured_only:
        return f"{quoted(title)} is nothing that is measured; known are: {', '.join(MEASURED)}"
    return names.advice(title)


def _measured_name(value: object) -> str:
    word = names.normal(readings.name(value)).removeprefix(_MEASURED)
    if word not in MEASURED and word != _EVENT:
        known = ", ".join((*MEASURED, _EVENT))
        raise Unfit(f"{quoted(str(value))} is nothing that is measured; known are: {known}")
    return word
