"""A published form as a table: which value stands where in it, and which name of the vocabulary it has here.

What the table does not name is not lost: it is kept by its place, in the fact `Kept` or with the row it
belongs to. A value that cannot be what its name says is refused by its place and costs no other.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from bpc_worker.documents.reading import readings

Reading: TypeAlias = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Said:
    """A text that a document holds at this path, such as the version of its form."""

    path: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A single value: the fact `Value`, or, where the form says when it was measured, `Measured`."""

    path: str
    name: str  # in the vocabulary
    read: Reading | None = None  # None: as the vocabulary says
    unit: str = ""  # that the form always has, where it is not ours
    unit_beside: str = ""  # the member beside the value that says its unit
    at: str = ""  # where the time of measurement stands: beside the value, or with `/` from the top
    kept: bool = False  # as well, as the fact does not say all that it says

    @property
    def fact_type(self) -> str:
        return "Measured" if self.at else "Value"


@dataclass(frozen=True, slots=True)
class Member:
    """A value of a row; an empty path is the item itself."""

    name: str
    path: str
    read: Reading
    needed: bool = False  # without it there is no row
    unit_at: str = ""  # where the item says the unit of the number
    unit: str = ""  # in which we keep it


@dataclass(frozen=True, slots=True)
class Rows:
    """A list: one fact for each item."""

    path: str
    fact_type: str
    prefix: str
    members: tuple[Member, ...]
    fixed: Mapping[str, object] = field(default_factory=dict)  # what the form says by where it stands
    key: str = ""  # the member that tells rows apart; "": their number and content
    whole: bool = False  # what is left of an item is kept with its row
    when: Said | None = None  # only items that say so
    check: Callable[[Mapping[str, object]], str | None] = lambda _: (
        None
    )  # what is wrong with a row as a whole
    split: str = ""  # the items are a text, with this between them

    def at(self, path: str) -> "Rows":
        return replace(self, path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    name: str  # "Catena-X battery pass 6"
    kind: str  # to be declared with it
    marks: tuple[str, ...]  # paths: one of them is enough
    cells: tuple[Cell, ...] = ()
    rows: tuple[Rows, ...] = ()
    version: Said | None = None  # only documents that say so
    versions: str = ""  # those that are read, in words
    time: Reading = readings.moment  # how it writes the time of a measurement
    source: str = ""  # of measured values; "": the form's name


def marks(paths: str) -> tuple[str, ...]:
    return tuple(paths.split())
