"""What a check can say: something is wrong or worth knowing, why it matters, and what to paste."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import psycopg
from psycopg.rows import DictRow

from bpc_worker.config.settings import Settings
from bpc_worker.postgres.sql_files import query
from bpc_worker.registry import Registry

Level = Literal["wrong", "note"]
PastedInto = Literal["psql", "shell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`fix` can be pasted as it stands: into psql (as a superuser or the owner of the schema), or a shell."""

    check: str  # a stable name: family.fault
    what: str
    why: str
    fix: str
    paste: PastedInto = "psql"
    level: Level = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From where on something is worth a word."""

    stale_seconds: float = 300
    clock_seconds: float = 2
    free_disk_percent: float = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is examined: a worker's settings, and its own kind of connection to the database."""

    settings: Settings
    registry: Registry
    url: str
    connection: psycopg.Connection[DictRow]
    clock: Callable[[], float]
    embedded: bool = False
    thresholds: Thresholds = field(default_factory=Thresholds)

    def rows(self, name: str, **params: object) -> list[DictRow]:
        """The rows of sql/queries/doctor/<name>.sql."""
        return self.connection.execute(query(f"doctor/{name}"), params or None).fetchall()

    def row(self, name: str, **params: object) -> DictRow:
        [only] = self.rows(name, **params)
        return only

    @property
    def grave(self) -> Level:
        """What production must not have, and development may."""
        return "wrong" if self.settings.env == "prod" else "note"


Check = Callable[[Case], Iterator[Finding]]


def many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def quoted(name: object) -> str:
    """A name inside a statement that is pasted."""
    return '"' + str(name).replace('"', '""') + '"'


def literal(text: object) -> str:
    """A text inside a statement that is pasted."""
    plain = str(text).replace("'", "''")
    return f" E'{plain}'".replace("\\", "\\\\") if "\\" in plain else f"'{plain}'"
