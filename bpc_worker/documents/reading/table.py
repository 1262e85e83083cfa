"""A table as records: columns found by name, whatever their order, case and spelling."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from bpc_worker.documents.mapping import Titles
from bpc_worker.documents.model import Limits
from bpc_worker.documents.names import normal
from bpc_worker.documents.problems import Problems, quoted
from bpc_worker.documents.reading.csv_text import Row, place, rows
from bpc_worker.documents.reading.json_text import REFUSED
from bpc_worker.documents.reading.record import Record

_NEAR = 0.8
_LOOKED_AT = 100  # characters
_LAST_OF_PLANE_0 = "\uffff"  # titles become keys of facts


@dataclass(slots=True)
class Sheet:
    """Rows, the header first, and how their cells are named to people and in pointers."""

    rows: Iterator[Row]
    row_place: Callable[[int], str]
    place: Callable[[int, int], str]  # of a line and a column, counted from 1
    pointer: Callable[[int, int], str]
    titles: Titles  # what the sender's own titles mean


@dataclass(frozen=True, slots=True)
class Line:
    """A row as a record, and the pointer to it."""

    record: Record
    pointer: str
    pointer_of: Callable[[str], str]  # to the cell of one value
    further: Mapping[str, str]  # what stands in columns of other names, by their titles


def csv_sheet(text: str, titles: Titles, limits: Limits, problems: Problems) -> Sheet:
    return Sheet(
        rows(text, limits, problems),
        row_place=lambda line: f"line {line}",
        place=place,
        pointer=lambda line, column: f"{line}:{column}",
        titles=titles,
    )


def lines(
    sheet: Sheet,
    synonyms: Mapping[str, str],
    needed: Callable[[Collection[str]], tuple[str, ...]],
    problems: Problems,
) -> Iterator[Line]:
    """The rows below the header.

    Which columns are needed may depend on those that are there; a missing one is a problem once, not per row.
    """
    header = header_of(sheet, problems)
    if header is None:
        return
    titles = [sheet.titles.meant(title) for title in header.cells]
    columns = _columns(sheet, header, titles, synonyms, problems)
    missing = _missing(sheet, header, columns, needed(columns), problems)
    further = {index: title for index, title in enumerate(titles) if title and index not in columns.values()}
    for index, title in further.items():
        _check_further(title, sheet.place(header.line, index + 1), synonyms, columns, problems)
    for row in fitting(sheet, header, problems):
        yield _line(sheet, row, columns, missing, further, problems)


def header_of(sheet: Sheet, problems: Problems) -> Row | None:
    header = next(sheet.rows, None)
    if header is None and not problems:
        problems.add("", "the file holds no header; its first line names the columns")
    return header


def fitting(sheet: Sheet, header: Row, problems: Problems) -> Iterator[Row]:
    """The rows with as many cells as the header; the others are problems."""
    for row in sheet.rows:
        if row.whole and len(row.cells) != len(header.cells):
            numbers = f"{len(row.cells)} cells, the header {len(header.cells)}"
            message = f"the row has {numbers}; a cell with the delimiter in it needs quotes"
            problems.add(sheet.row_place(row.line), message)
        elif row.whole:
            yield row


def _columns(
    sheet: Sheet, header: Row, titles: list[str], synonyms: Mapping[str, str], problems: Problems
) -> dict[str, int]:
    """Which column, counted from 0, holds which value."""
    columns: dict[str, int] = {}
    for index, title in enumerate(titles):
        name = synonyms.get(normal(title))
        if name is not None and columns.setdefault(name, index) != index:
            message = f"a second column for {name}, {quoted(title)}; keep one"
            problems.add(sheet.place(header.line, index + 1), message)
    return columns


def _missing(
    sheet: Sheet, header: Row, columns: Mapping[str, int], needed: tuple[str, ...], problems: Problems
) -> dict[str, object]:
    absent = [name for name in needed if name not in columns]
    if absent:
        given = ", ".join(quoted(title) for title in header.cells[:20])
        names = f"column {absent[0]} is" if len(absent) == 1 else f"columns {', '.join(absent)} are"
        hint = "name them so, or say in mapping.yaml which they are"
        problems.add(sheet.row_place(header.line), f"{names} missing; found are {given}; {hint}")
    return dict.fromkeys(absent, REFUSED)


def _check_further(
    title: str, where: str, synonyms: Mapping[str, str], columns: Collection[str], problems: Problems
) -> None:
    """A column that is nearly one that is read was meant to be it: it must not be kept unread."""
    if max(title) > _LAST_OF_PLANE_0:
        problems.add(where, f"the title {quoted(title)} holds a character above U+FFFF; take another")
    if problems.full or normal(title) in synonyms:
        return
    unused = [word for word, name in synonyms.items() if name not in columns]
    near = get_close_matches(normal(title)[:_LOOKED_AT], unused, n=1, cutoff=_NEAR)
    if near:
        hint = "if not, give it another name"
        problems.add(where, f"{quoted(title)} is not known here; did you mean {near[0]}? {hint}")


def _line(
    sheet: Sheet,
    row: Row,
    columns: Mapping[str, int],
    missing: dict[str, object],
    further: Mapping[int, str],
    problems: Problems,
) -> Line:
    here = sheet.row_place(row.line)

    def where(name: str) -> str:
        return sheet.place(row.line, columns[name] + 1) if name in columns else here

    def pointer_of(name: str) -> str:
        return sheet.pointer(row.line, columns.get(name, 0) + 1)

    values: dict[str, object] = {name: row.cells[index] for name, index in columns.items()}
    more = {title: row.cells[index] for index, title in further.items() if row.cells[index]}
    record = Record(values | missing, here, where, problems)
    return Line(record, pointer_of(""), pointer_of, more)
