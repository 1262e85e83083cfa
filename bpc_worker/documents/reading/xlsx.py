"""The sheets of a workbook (XLSX) as rows of text, in the order of its tabs, one cell after the other."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from bpc_worker.documents.mapping import Titles
from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading.archive import DAMAGED, Archive, TooLarge, opened
from bpc_worker.documents.reading.cells import Look, number_text
from bpc_worker.documents.reading.csv_text import Row
from bpc_worker.documents.reading.table import Sheet
from bpc_worker.documents.reading.workbook import Relations, Strings, Styles, Tab, Workbook

_WORKBOOK = "xl/workbook.xml"
_CELL = re.compile("([A-Z]{1,3})([0-9]{1,7})")
_BLANKS = " \t\r\n\N{NO-BREAK SPACE}"


@dataclass(slots=True)
class _Cell:
    line: int
    column: int  # from 1
    type: str
    style: str | None
    parts: list[str] = field(default_factory=list)
    formula: bool = False


@dataclass(slots=True)
class _Rows:
    """Handler of a sheet: rows as they are complete."""

    title: str
    strings: list[str]
    look: Look
    limits: Limits
    problems: Problems
    done: list[Row] = field(default_factory=list)
    cells: dict[int, str] = field(default_factory=dict)
    line: int = 0
    cell: _Cell | None = None
    column: int = 0
    reading: bool = False
    aside: bool = False
    whole: bool = True
    size: int = 0
    count: int = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "row":
            line = _number(attributes.get("r", ""), self.line + 1)
            if line <= self.line:
                raise Unfit(f"row {line} stands behind row {self.line}; {DAMAGED}")
            self.line = line
            self.cells, self.column, self.whole = {}, 0, True
        elif name == "c":
            self._open(attributes)
        elif self.cell is not None:
            self.aside = self.aside or name == "rPh"
            self.cell.formula = self.cell.formula or name == "f"
            self.reading = name in {"v", "t"} and not self.aside

    def text(self, data: str) -> None:
        if self.reading and self.cell is not None:
            self.size += len(data)
            if self.size > self.limits.cell_bytes:
                where = cell_name(self.title, self.line, self.cell.column)
                raise TooLarge(f"{where} holds more than {self.limits.cell_bytes} bytes; shorten it")
            self.cell.parts.append(data)

    def end(self, name: str) -> None:
        self.reading = False
        self.aside = self.aside and name != "rPh"
        if name == "c" and self.cell is not None:
            self._close(self.cell)
            self.cell = None
        elif name == "row" and (self.cells or not self.whole):
            self.count += 1
            if self.count > self.limits.csv_rows + 1:  # and the header
                raise TooLarge(f"more than {self.limits.csv_rows} rows; split the workbook")
            cells = tuple(self.cells.get(index, "") for index in range(1, max(self.cells, default=0) + 1))
            self.done.append(Row(self.line, cells, self.whole))

    def _open(self, attributes: Mapping[str, str]) -> None:
        place = _CELL.fullmatch(attributes.get("r", ""))
        self.column = _column(place[1]) if place else self.column + 1
        if self.column > self.limits.csv_columns:
            where = cell_name(self.title, self.line, self.column)
            raise TooLarge(f"{where}: more than {self.limits.csv_columns} columns; send only the data")
        self.size = 0
        self.cell = _Cell(self.line, self.column, attributes.get("t", "n"), attributes.get("s"))

    def _close(self, cell: _Cell) -> None:
        try:
            text = self._said(cell).strip(_BLANKS)
        except Unfit as unfit:
            self.whole = False
            self.problems.add(cell_name(self.title, cell.line, cell.column), str(unfit))
            return
        if text:
            self.cells[cell.column] = text

    def _said(self, cell: _Cell) -> str:
        stored = "".join(cell.parts)
        if cell.column in self.cells:
            raise Unfit(f"stands in the workbook twice; {DAMAGED}")
        if not stored and cell.formula:
            raise Unfit("holds a formula without a result; open the workbook, save it and send that")
        if cell.type == "e":
            raise Unfit(f"holds the error {quoted(stored)}; correct it")
        if cell.type == "b":
            return "true" if stored == "1" else "false"
        if cell.type == "s":
            index = _number(stored, -1)
            if not 0 <= index < len(self.strings):
                raise Unfit("names a text that the workbook does not hold; open it, save it and send that")
            return self.strings[index]
        return number_text(stored, self.look, cell.style) if stored and cell.type == "n" else stored


def sheets(content: bytes, titles: Titles, limits: Limits, problems: Problems) -> list[Sheet]:
    """Those that are to be read and not empty; none, with problems, where it cannot be read."""
    try:
        return [sheet for sheet in _sheets(content, titles, limits, problems) if _begins(sheet)]
    except TooLarge as large:
        problems.too_large("", str(large))
    except Unfit as unfit:
        problems.add("", str(unfit))
    return []


def cell_name(title: str, line: int, column: int) -> str:
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{title}!{letters}{line}"


def _sheets(content: bytes, titles: Titles, limits: Limits, problems: Problems) -> list[Sheet]:
    archive = opened(content, limits)
    if not archive.has(_WORKBOOK):
        raise Unfit("this is a ZIP archive, but no workbook; send the XLSX itself, or the data as CSV")
    workbook, relations, strings, styles = Workbook(), Relations(), Strings(limits), Styles()
    archive.read(_WORKBOOK, workbook)
    archive.read("xl/_rels/workbook.xml.rels", relations)
    for part, handler in (("xl/sharedStrings.xml", strings), ("xl/styles.xml", styles)):
        if archive.has(part):
            archive.read(part, handler)
    look = Look(styles.styles, workbook.from_1904)
    found = []
    for tab in _wanted(workbook.tabs, titles):
        rows = _Rows(tab.title, strings.texts, look, limits, problems)
        found.append(_sheet(archive, relations.targets.get(tab.relation, ""), rows, titles))
    return found


def _begins(sheet: Sheet) -> bool:
    first = next(sheet.rows, None)
    if first is not None:
        sheet.rows = chain([first], sheet.rows)
    return first is not None


def _wanted(tabs: list[Tab], titles: Titles) -> list[Tab]:
    missing = set(titles.sheets) - {tab.title for tab in tabs}
    if missing:
        known = ", ".join(quoted(tab.title) for tab in tabs[:20])
        raise Unfit(f"the mapping names the sheet {quoted(min(missing))}, the workbook has {known}")
    if titles.sheets:
        return [tab for tab in tabs if tab.title in titles.sheets]
    hidden = next((tab.title for tab in tabs if tab.hidden), None)
    if hidden is not None:
        hint = "show or delete it, or name the sheets that count in mapping.yaml"
        raise Unfit(f"the sheet {quoted(hidden)} is hidden; {hint}")
    return tabs


def _sheet(archive: Archive, part: str, rows: _Rows, titles: Titles) -> Sheet:
    return Sheet(
        _rows(archive, part, rows),
        row_place=lambda line: f"{rows.title}, row {line}",
        place=lambda line, column: cell_name(rows.title, line, column),
        pointer=lambda line, column: cell_name(rows.title, line, column),
        titles=titles,
    )


def _rows(archive: Archive, part: str, handler: _Rows) -> Iterator[Row]:
    """Each as wide as the first, which is the header."""
    width = 0
    try:
        for _ in archive.pieces(part, handler):
            for row in handler.done:
                width = width or len(row.cells)
                yield _as_wide(row, width, handler)
            handler.done.clear()
    except TooLarge as large:
        handler.problems.too_large(handler.title, str(large))
    except Unfit as unfit:
        handler.problems.add(handler.title, str(unfit))


def _as_wide(row: Row, width: int, handler: _Rows) -> Row:
    if len(row.cells) <= width:
        return row._replace(cells=row.cells + ("",) * (width - len(row.cells)))
    where = cell_name(handler.title, row.line, len(row.cells))
    handler.problems.add(where, "stands in a column without a title; give it one in the first row")
    return row._replace(cells=row.cells[:width], whole=False)


def _number(text: str, otherwise: int) -> int:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else otherwise


def _column(letters: str) -> int:
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column
