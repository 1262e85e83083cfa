"""A CSV as records: columns found by name, whatever their order, case and spelling."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Problems, quoted
from bpc_worker.documents.reading.csv_text import Row, place, rows
from bpc_worker.documents.reading.json_text import REFUSED
from bpc_worker.documents.reading.record import Record

_BETWEEN_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Line:
    """A row as a record, and the pointer to it."""

    record: Record
    pointer: str


def lines(
    text: str,
    synonyms: Mapping[str, str],
    needed: Callable[[Collection[str]], tuple[str, ...]],
    limits: Limits,
    problems: Problems,
) -> Iterator[Line]:
    """The rows below the header.

    Which columns are needed may depend on those that are there; a missing one is a problem once, not per row.
    """
    found = rows(text, limits, problems)
    header = next(found, None)
    if header is None:
        if not problems:
            problems.add("", "the file holds no header; its first line names the columns")
        return
    columns = _columns(header, synonyms, problems)
    missing = _missing(header, columns, needed(columns), problems)
    for row in found:
        if _fits(row, header, problems):
            yield _line(row, columns, missing, problems)


def _columns(header: Row, synonyms: Mapping[str, str], problems: Problems) -> dict[str, int]:
    """Which column, counted from 0, holds which value."""
    columns: dict[str, int] = {}
    for index, title in enumerate(header.cells):
        name = synonyms.get(_BETWEEN_WORDS.sub("_", title.lower()).strip("_"))
        if name is not None and columns.setdefault(name, index) != index:
            message = f"a second column for {name}, {quoted(title)}; keep one"
            problems.add(place(header.line, index + 1), message)
    return columns


def _missing(
    header: Row, columns: Mapping[str, int], needed: tuple[str, ...], problems: Problems
) -> dict[str, object]:
    absent = [name for name in needed if name not in columns]
    if absent:
        given = ", ".join(quoted(title) for title in header.cells[:20])
        names = f"column {absent[0]} is" if len(absent) == 1 else f"columns {', '.join(absent)} are"
        problems.add(f"line {header.line}", f"{names} missing; found are {given}")
    return dict.fromkeys(absent, REFUSED)


def _fits(row: Row, header: Row, problems: Problems) -> bool:
    if row.whole and len(row.cells) != len(header.cells):
        numbers = f"{len(row.cells)} cells, the header {len(header.cells)}"
        problems.add(
            f"line {row.line}", f"the row has {numbers}; a cell with the delimiter in it needs quotes"
        )
    return row.whole and len(row.cells) == len(header.cells)


def _line(row: Row, columns: Mapping[str, int], missing: dict[str, object], problems: Problems) -> Line:
    def where(name: str) -> str:
        return place(row.line, columns[name] + 1) if name in columns else f"line {row.line}"

    values: dict[str, object] = {name: row.cells[index] for name, index in columns.items()}
    record = Record(values | missing, f"line {row.line}", where, problems)
    return Line(record, f"{row.line}:1")
