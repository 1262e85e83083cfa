"""Load sql/…: from inside the wheel, or from the checkout beside the package."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

_CONDITION = re.compile(r"\s*-- if (?P<no>no )?(?P<part>\w+)")
_PARAMETER = re.compile(r"%\((\w+)\)s")


@cache
def sql_root() -> Traversable:
    beside = Path(__file__).parents[2] / "sql"
    packaged = files("bpc_worker") / "_sql"
    return packaged if packaged.is_dir() else beside


@cache
def query(name: str) -> bytes:
    """The statement in sql/queries/<name>.sql; psycopg takes bytes without a cast."""
    return (sql_root() / "queries" / f"{name}.sql").read_bytes()


def composed(name: str) -> str:
    """The text of sql/composed/<name>.sql, with places for names that are checked before."""
    return (sql_root() / "composed" / f"{name}.sql").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with numbered parameters, and their names in that order."""

    text: bytes
    names: tuple[str, ...]

    def values(self, params: Mapping[str, object]) -> list[object]:
        return [params[name] for name in self.names]


@cache
def prepared(name: str, *parts: str) -> Prepared:
    """The statement of `query` in PostgreSQL's own words: psycopg would translate a long one every time.

    Lines between `-- if PART` and `-- end` are there when that part is asked for, between `-- if no PART` and
    `-- end` when it is not. Parts may stand inside one another.
    """
    names: dict[str, int] = {}
    wanted = "\n".join(_lines_of(query(name).decode(), parts))
    text = _PARAMETER.sub(lambda found: f"${names.setdefault(found[1], len(names) + 1)}", wanted)
    return Prepared(text.replace("%%", "%").encode(), tuple(names))


def _lines_of(text: str, parts: Collection[str]) -> Iterator[str]:
    inside: list[bool] = []
    for line in text.splitlines():
        condition = _CONDITION.fullmatch(line)
        if condition is not None:
            inside.append((condition["part"] in parts) != bool(condition["no"]))
        elif line.strip() == "-- end":
            inside.pop()
        elif all(inside):
            yield line


def scripts(folder: str) -> list[tuple[str, str]]:
    """(name, text) of every file of sql/<folder>, in order."""
    return sorted(
        (entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
        for entry in (sql_root() / folder).iterdir()
        if entry.name.endswith(".sql")
    )
