"""A place of a document, shown: a cell among its neighbours, a member in its object.

Pure; of a workbook only the words are shown.
"""

import json
import re
from itertools import islice
from typing import Final

import msgspec

from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Problems
from bpc_worker.documents.reading.csv_text import Row, rows
from bpc_worker.documents.reading.encodings import decoded

MOST_BYTES: Final = 4 * 1024 * 1024
_PLACE = re.compile(r"(?:line )?([0-9]+)(?:(?:, column |:)([0-9]+))?")
_AROUND = 1  # rows before and behind
_BESIDE = 3  # cells
_MEMBERS = 12
_LONGEST = 120


class Cell(msgspec.Struct, frozen=True):
    text: str
    is_it: bool = False


class ShownRow(msgspec.Struct, frozen=True):
    name: str
    cells: list[Cell]


class ShownPlace(msgspec.Struct, frozen=True):
    """A table with titles, or the members of an object without."""

    titles: list[str]
    rows: list[ShownRow]


def place(content: bytes, mime_type: str, where: str) -> ShownPlace | None:
    """None where the place cannot be shown."""
    text = decoded(content, Problems(1))
    if text is None:
        return None
    if "json" in mime_type:
        return _in_json(text, where)
    return _in_table(text, where) if "csv" in mime_type else None


def _in_table(text: str, where: str) -> ShownPlace | None:
    found = _PLACE.fullmatch(where)
    if found is None:
        return None
    line, column = int(found[1]), int(found[2] or 0)
    listed = rows(text, Limits(), Problems(1))
    header = next(listed, None)
    near: list[Row] = []
    for row in listed:
        if row.line > line and sum(each.line > line for each in near) >= _AROUND:
            break
        near.append(row)
        before = [each for each in near if each.line < line]
        near = [each for each in near if each.line >= line or each in before[-_AROUND:]]
    if header is None or not any(each.line == line for each in near):
        return None
    first = max(column - 1 - _BESIDE, 0)
    beside = slice(first, first + 2 * _BESIDE + 1)
    return ShownPlace(
        titles=[_cut(each) for each in header.cells[beside]],
        rows=[
            ShownRow(
                str(row.line),
                [
                    Cell(_cut(each), row.line == line and first + number + 1 == column)
                    for number, each in enumerate(row.cells[beside])
                ],
            )
            for row in near
        ],
    )


def _in_json(text: str, where: str) -> ShownPlace | None:
    if not where.startswith("/"):
        return None
    try:
        here: object = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    steps = [each.replace("~1", "/").replace("~0", "~") for each in where.split("/")[1:]]
    for step in steps[:-1]:
        here = _below(here, step)
    if isinstance(here, list):
        members = [(str(number), each) for number, each in enumerate(here)]
    elif isinstance(here, dict):
        members = list(here.items())
    else:
        return None
    at = next((number for number, (name, _) in enumerate(members) if name == steps[-1]), None)
    first = max((at or 0) - _MEMBERS // 2, 0)
    lines = [
        ShownRow(_cut(name), [Cell(_short(value), name == steps[-1])])
        for name, value in islice(members, first, first + _MEMBERS)
    ]
    if at is None:  # what is missing shows as that
        lines.append(ShownRow(_cut(steps[-1]), [Cell("", is_it=True)]))
    return ShownPlace([], lines)


def _below(here: object, step: str) -> object:
    if isinstance(here, dict):
        return here.get(step)
    if isinstance(here, list) and step.isdecimal() and int(step) < len(here):
        return here[int(step)]
    return None


def _short(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ … {len(value)} }}"
    if isinstance(value, list):
        return f"[ … {len(value)} ]"
    return _cut(value if isinstance(value, str) else json.dumps(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
