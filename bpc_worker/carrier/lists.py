"""The list of batteries that labels are for: a serial or a URL a line, or a CSV file with more about each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from bpc_worker.carrier.errors import CarrierError, refuse
from bpc_worker.carrier.label import METALS, Label
from bpc_worker.core.base.gs1 import Gs1Error, read_digital_link
from bpc_worker.core.base.identifier import IdentifierError, TooLong, check_length, host_of
from bpc_worker.core.base.serials import SerialError, check_plain
from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Problems
from bpc_worker.documents.reading import csv_text
from bpc_worker.files.reading import read_at_most

Key = Literal["serial", "identifier"]  # what a list names batteries by

_MAX_BYTES = 256 * 1024 * 1024
_LIMITS = Limits(csv_rows=1_000_000, csv_columns=100, cell_bytes=2000, problems=20)
_MAX_NAME = 200  # of a file, without its ending
_METALS = "metals"
_COLUMN = re.compile("[a-z][a-z0-9_]*")
_REMEDIES: dict[type[Exception], str] = {
    TooLong: "; shorten host or serial, or say --longer-than-registry",
    SerialError: "; say --set-82 to print all that GS1 allows",
}


@dataclass(frozen=True, slots=True)
class Entry:
    line: int
    values: Mapping[str, str]  # by column; the key is always there


def read_list(path: Path, key: Key) -> list[Entry]:
    """All of it, or everything that is wrong with it. The ending says whether it is CSV."""
    try:
        text = read_at_most(path, _MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise CarrierError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CarrierError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from error
    entries = _from_csv(path, text, key) if path.suffix.lower() == ".csv" else _from_lines(text, key)
    if not entries:
        raise CarrierError(f"{path}: there is no {key} in it")
    refuse([f"{path}: {problem}" for problem in _list_problems(entries, key)])
    return entries


def identified(entries: Sequence[Entry], urls: Mapping[str, str], about: Mapping[str, str]) -> list[Entry]:
    """Entries with serials and the URLs that belong to them; the list may name what is told about all."""
    found = [
        Entry(entry.line, {**about, **entry.values, "identifier": urls[entry.values["serial"]]})
        for entry in entries
    ]
    refuse(
        [f"line {entry.line}: the identifier of {entry.values['serial']} is {there.values['identifier']}"
         for entry, there in zip(entries, found, strict=True)
         if entry.values.get("identifier", there.values["identifier"]) != there.values["identifier"]]
    )  # fmt: skip
    return found


def labels_of(entries: Sequence[Entry], metals: Sequence[str], common: Mapping[str, str]) -> list[Label]:
    """What stands on each; a column of the list goes before what is said for all."""
    labels = [_label(entry, metals, common) for entry in entries]
    seen: dict[str, int] = {}
    problems = []
    for entry, label in zip(entries, labels, strict=True):
        if len(label.name) > _MAX_NAME:
            problems.append(f"line {entry.line}: too long for the name of a file")
        if label.name in seen:
            problems.append(
                f"line {entry.line}: its files would be called like those of line {seen[label.name]}"
            )
        seen[label.name] = entry.line
    refuse(problems)
    return labels


def check_identifiers(entries: Sequence[Entry], *, at_most: int | None, set_82: bool) -> list[str]:
    """Their shape, GTIN and length, and that people can read and type them; the serials that are in them."""
    problems, serials = [], []
    for entry in entries:
        try:
            serials += _checked(entry.values["identifier"], at_most, set_82=set_82)
        except (Gs1Error, SerialError, IdentifierError) as error:
            problems.append(f"line {entry.line}: {error}{_REMEDIES.get(type(error), '')}")
    refuse(problems)
    return serials


def _checked(url: str, at_most: int | None, *, set_82: bool) -> list[str]:
    host = host_of(url)
    if at_most is not None:
        check_length(url, at_most)
    if url.startswith(f"https://{host}/p/"):
        return []
    serial = read_digital_link(url).serial
    if not set_82:
        check_plain(serial)
    return [serial]


def _label(entry: Entry, metals: Sequence[str], common: Mapping[str, str]) -> Label:
    own = {name: value for name, value in entry.values.items() if value}
    values = {**common, **own}
    listed = values.pop(_METALS, None)
    wanted = metals if listed is None else re.split("[ ,;]+", listed)
    serial = entry.values.get("serial")
    return Label(
        name=quote(serial, safe="") if serial else _name_of(entry.values["identifier"]),
        identifier=entry.values["identifier"],
        values=values,
        metals=tuple(metal for metal in METALS if metal in wanted),
    )


def _name_of(url: str) -> str:
    """Its path, without anything that a file system could take for a folder."""
    return "_".join(url.removeprefix("https://").split("/")[1:])


def _from_lines(text: str, key: Key) -> list[Entry]:
    lines = enumerate(text.splitlines(), start=1)
    return [Entry(number, {key: line.strip()}) for number, line in lines if line.strip()]


def _from_csv(path: Path, text: str, key: Key) -> list[Entry]:
    problems = Problems(_LIMITS.problems)
    rows = csv_text.rows(text, _LIMITS, problems)
    header = next(rows, None)
    names = [] if header is None else [cell.lower().replace(" ", "_") for cell in header.cells]
    if key not in names:
        raise CarrierError(f"{path}: no column is called {key}; the first line names the columns")
    refuse(
        [f"{path}: column {name!r}: names have letters and digits, and stand once"
         for name in names
         if not _COLUMN.fullmatch(name) or names.count(name) > 1]
    )  # fmt: skip
    entries = []
    for row in rows:
        if len(row.cells) != len(names):
            problems.add(f"line {row.line}", f"{len(row.cells)} cells, the first line has {len(names)}")
        else:
            entries.append(Entry(row.line, dict(zip(names, row.cells, strict=True))))
    if problems:
        raise CarrierError(
            *(f"{path}: {each.where}: {each.message}" for each in problems.rejected().problems)
        )
    return entries


def _list_problems(entries: Sequence[Entry], key: Key) -> Iterator[str]:
    seen: dict[str, int] = {}
    for entry in entries:
        value = entry.values[key]
        if not value:
            yield f"line {entry.line}: no {key}"
        elif value in seen:
            yield f"line {entry.line}: {value!r} again, after line {seen[value]}"
        seen[value] = entry.line
        listed = entry.values.get(_METALS, "")
        if listed and not set(re.split("[ ,;]+", listed)) <= set(METALS):
            yield f"line {entry.line}: metals {listed!r}; known are {' and '.join(METALS)}"
