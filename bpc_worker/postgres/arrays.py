"""Array literals. psycopg makes arrays too, but item by item in Python, with a search for quotes in each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID


def arrays(columns: Mapping[str, Sequence[object]]) -> dict[str, object]:
    """Each column as an array, under its name."""
    return {name: array(items) for name, items in columns.items()}


def array(items: Iterable[object]) -> str:
    """The text of a one-dimensional PostgreSQL array of texts, numbers, uuids, times or bytes."""
    return "{" + ",".join([_ITEMS.get(type(item), _any)(item) for item in items]) + "}"


def _null(_: object) -> str:
    return "NULL"


def _text(item: object) -> str:
    text = str(item)
    if "\\" in text or '"' in text:
        text = text.replace("\\", r"\\").replace('"', r"\"")
    return f'"{text}"'


def _bytes(item: object) -> str:
    assert isinstance(item, bytes)  # noqa: S101 - chosen by type
    return rf'"\\x{item.hex()}"'


def _uuid(item: object) -> str:
    assert isinstance(item, UUID)  # noqa: S101 - chosen by type
    return item.hex


def _any(item: object) -> str:
    """A subclass, such as a StrEnum."""
    return _text(item) if isinstance(item, str) else str(item)


_ITEMS: dict[type, Callable[[Any], str]] = {
    type(None): _null, str: _text, bytes: _bytes, UUID: _uuid, datetime: _text,
    int: str, float: str,
}  # fmt: skip
