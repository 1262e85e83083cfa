"""One thing of a document, read member by member: what is taken, and what is listed as a problem."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bpc_worker.documents.problems import Problems, Unfit, pointer
from bpc_worker.documents.reading.json_text import REFUSED, Unreadable
from bpc_worker.documents.reading.readings import shown

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Record:
    """Named values, and where each of them stands."""

    values: Mapping[str, object]
    here: str
    where: Callable[[str], str]
    problems: Problems

    def need(self, name: str, reading: Callable[[object], T]) -> T | None:
        """The value; None, with a problem, if it is missing or unfit."""
        if name not in self.values:
            self.problems.add(self.here, f"{name} is missing; add it")
            return None
        return self._read(name, reading)

    def may(self, name: str, reading: Callable[[object], T]) -> T | None:
        """The value; None if there is none, or, with a problem, if it is unfit."""
        if self.values.get(name) in (None, ""):
            return None
        return self._read(name, reading)

    def only(self, known: Iterable[str]) -> None:
        """Every member is one of these, or a problem."""
        names = tuple(known)
        for each in self.values:
            if each not in names:
                self.problems.unknown(self.where(each), each, names)

    def inner(self, name: str) -> "Record | None":
        """The object that is a member; None, with a problem, if it is none."""
        if name not in self.values:
            self.problems.add(self.here, f"{name} is missing; add it")
            return None
        return json_record(self.values[name], self.where(name), self.problems)

    def _read(self, name: str, reading: Callable[[object], T]) -> T | None:
        value = self.values[name]
        if value is REFUSED or isinstance(value, Unreadable):
            return None
        try:
            return reading(value)
        except Unfit as unfit:
            self.problems.add(self.where(name), f"{name}: {unfit}")
            return None


def json_record(value: object, here: str, problems: Problems) -> Record | None:
    """A JSON object; None, with a problem, for any other value."""
    if isinstance(value, dict):
        return Record(value, here, lambda name: f"{here}{pointer([name])}", problems)
    if value is not REFUSED:
        problems.add(here, f"an object in braces is expected, found {shown(value)}")
    return None


def present(**members: object) -> dict[str, object]:
    """Those that are not None."""
    return {name: value for name, value in members.items() if value is not None}
