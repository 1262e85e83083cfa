"""Load sql/…: from inside the wheel, or from the checkout beside the package."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

_INCLUDE = re.compile(r"^-- include: (\w+)\n", re.MULTILINE)
_PARAMETER = re.compile(r"%\((\w+)\)s")


@cache
def sql_root() -> Traversable:
    beside = Path(__file__).parents[2] / "sql"
    packaged = files("bpc_worker") / "_sql"
    return packaged if packaged.is_dir() else beside


@cache
def query(name: str) -> bytes:
    """The statement in sql/queries/<name>.sql; psycopg takes bytes without a cast.

    A line `-- include: NAME` stands for the text of sql/fragments/NAME.sql.
    """
    return _INCLUDE.sub(
        lambda found: _text(f"fragments/{found[1]}.sql"), _text(f"queries/{name}.sql")
    ).encode()


def read_all() -> None:
    """Every query at once: what runs for weeks must not need a descriptor, or the disk, for the next one."""
    for path in _names_below(sql_root() / "queries"):
        query(path)
    for path in _names_below(sql_root() / "composed"):
        composed(path)


def _names_below(folder: Traversable, prefix: str = "") -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _names_below(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".sql"):
            yield prefix + entry.name.removesuffix(".sql")


def _text(path: str) -> str:
    return (sql_root() / path).read_text(encoding="utf-8")


@cache
def composed(name: str) -> str:
    """The text of sql/composed/<name>.sql, with places for names that are checked before."""
    return _text(f"composed/{name}.sql")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with numbered parameters, and their names in that order."""

    text: bytes
    names: tuple[str, ...]


@cache
def prepared(name: str) -> Prepared:
    """The statement of `query` in PostgreSQL's own words: psycopg would translate a long one every time."""
    return numbered(query(name))


@lru_cache(maxsize=500)
def numbered(statement: bytes) -> Prepared:
    names: dict[str, int] = {}
    text = _PARAMETER.sub(lambda found: f"${names.setdefault(found[1], len(names) + 1)}", statement.decode())
    return Prepared(text.replace("%%", "%").encode(), tuple(names))


def scripts(folder: str) -> list[tuple[str, str]]:
    """(name, text) of every file of sql/<folder>, in order."""
    return sorted(
        (entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
        for entry in (sql_root() / folder).iterdir()
        if entry.name.endswith(".sql")
    )
