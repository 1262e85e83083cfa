"""Rows of the database as typed records: what a query promises is checked once, here."""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent

Record = TypeVar("Record")  # a Struct or a dataclass


def all_of(rows: Sequence[Mapping[str, object]], record: type[Record]) -> list[Record]:
    return [msgspec.convert(dict(row), record) for row in rows]


def maybe(rows: Sequence[Mapping[str, object]], record: type[Record]) -> Record | None:
    return msgspec.convert(dict(rows[0]), record) if rows else None


def one(rows: Sequence[Mapping[str, object]], record: type[Record], what: str) -> Record:
    """The row, or NOT_FOUND: in the same words for an id of another tenant and for one of nobody."""
    found = maybe(rows, record)
    if found is None:
        raise Permanent(Code.NOT_FOUND, f"there is no such {what}")
    return found


def value(rows: Sequence[Mapping[str, object]], kind: type[Record]) -> Record:
    """The only column of the only row."""
    [[found]] = [row.values() for row in rows]
    return msgspec.convert(found, kind)


def as_uuid(value: object) -> UUID:
    if not isinstance(value, UUID):
        raise TypeError(f"expected a uuid, found {type(value).__name__}")
    return value
