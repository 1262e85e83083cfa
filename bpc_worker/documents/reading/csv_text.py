"""CSV text to rows, strictly, each cell with its line and its place in the line.

RFC 4180 with `;` or `,`, whichever stands more often in the header. Blanks around a cell are dropped,
and rows without any content are passed over, as spreadsheets leave both behind.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Problems, quoted

_QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')
_HEADER = re.compile(r'(?:[^"\r\n]++|"[^"]*+"?)*+')
_IN_QUOTES = re.compile(r'"[^"]*+"?')
_BARE = {mark: re.compile(rf'[^"\r\n{mark}]*+') for mark in ";,"}
_TO_NEXT = {mark: re.compile(rf"[^\r\n{mark}]*+") for mark in ";,"}
_BLANK_LINES = re.compile(r"(?:\r?\n)++")
_POINTER = re.compile("([0-9]+):([0-9]+)")
_BLANKS = " \t\N{NO-BREAK SPACE}"


class Row(NamedTuple):
    line: int
    cells: tuple[str, ...]
    whole: bool  # every cell could be read


def rows(text: str, limits: Limits, problems: Problems) -> Iterator[Row]:
    """The header and what follows, until the text ends or cannot be understood."""
    reader = _Reader(text, delimiter(text), limits, problems)
    count = 0
    while (row := reader.row()) is not None:
        count += 1
        if count > limits.csv_rows + 1:  # and the header
            problems.too_large(f"line {row.line}", f"more than {limits.csv_rows} rows; split the file")
            return
        if any(row.cells) or not row.whole:
            yield row


def delimiter(text: str) -> str:
    found = _HEADER.match(text.lstrip("\r\n"))
    header = _IN_QUOTES.sub("", found[0]) if found else ""
    return ";" if header.count(";") >= header.count(",") else ","


def place(line: int, column: int) -> str:
    return f"line {line}, column {column}"


def place_of(pointer: str) -> str:
    """What a pointer is to people: of a table's cell, its line and column."""
    found = _POINTER.fullmatch(pointer)
    return place(int(found[1]), int(found[2])) if found else pointer


@dataclass(slots=True)
class _Reader:
    text: str
    mark: str
    limits: Limits
    problems: Problems
    at: int = 0
    line: int = 1
    whole: bool = True

    def row(self) -> Row | None:
        """The next row; None at the end, or where reading cannot go on."""
        self._skip_blank_lines()
        if self.at >= len(self.text):
            return None
        start, cells = self.line, list[str]()
        self.whole = True
        while True:
            if len(cells) == self.limits.csv_columns:
                self._too_large(len(cells) + 1, f"more than {self.limits.csv_columns} columns")
                return None
            cell = self._cell(len(cells) + 1)
            if cell is None:
                return None
            cells.append(cell)
            if self._ends_row(len(cells)):
                return Row(start, tuple(cells), self.whole)

    def _skip_blank_lines(self) -> None:
        end = _BLANK_LINES.match(self.text, self.at)
        if end is not None:
            self.line += self.text.count("\n", self.at, end.end())
            self.at = end.end()

    def _cell(self, column: int) -> str | None:
        quoted_cell = self.text.startswith('"', self.at)
        found = (_QUOTED if quoted_cell else _BARE[self.mark]).match(self.text, self.at)
        if found is None:
            self._problem(
                column, "a quote is opened and never closed; close it, or double quotes inside a text"
            )
            self.at = len(self.text)
            return None
        self.at = found.end()
        cell = found[1].replace('""', '"') if quoted_cell else found[0]
        if len(cell) > self.limits.cell_bytes // 4 and len(cell.encode()) > self.limits.cell_bytes:
            self._too_large(column, f"a cell of more than {self.limits.cell_bytes} bytes; shorten it")
            return None
        if "\0" in cell:
            self._problem(column, "the cell holds NUL; remove it")
        self.line += cell.count("\n")
        self._skip_rest(column, quoted_cell=quoted_cell)
        return cell.strip(_BLANKS)

    def _skip_rest(self, column: int, *, quoted_cell: bool) -> None:
        """What stands between a cell and the next mark is a mistake."""
        rest = _TO_NEXT[self.mark].match(self.text, self.at)
        if rest is None or not rest[0]:
            return
        self.at = rest.end()
        if quoted_cell:
            self._problem(
                column, f"text behind a closing quote: {quoted(rest[0])}; double quotes inside a text"
            )
        else:
            self._problem(
                column, "a quote in the middle of a cell; put the whole cell in quotes and double it"
            )

    def _ends_row(self, column: int) -> bool:
        """Step over what follows a cell: a delimiter, the end of the line, or nothing more."""
        if self.text.startswith(self.mark, self.at):
            self.at += 1
            return False
        if self.text.startswith("\r", self.at):
            self.at += 1
            if not self.text.startswith("\n", self.at):
                self._problem(column, "a carriage return without line feed; end lines with LF or CR LF")
        if self.text.startswith("\n", self.at):
            self.at += 1
        self.line += 1
        return True

    def _problem(self, column: int, message: str) -> None:
        self.whole = False
        self.problems.add(place(self.line, column), message)

    def _too_large(self, column: int, message: str) -> None:
        self.problems.too_large(place(self.line, column), message)
        self.at = len(self.text)
