"""Records of the pipeline as JSON has them: hashes in hex, times in UTC, numbers as they were written."""

from datetime import UTC, date, datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec

T = TypeVar("T")

_KEPT = (bytes, datetime, date, UUID)


def plain(found: object) -> Any:
    """Of records, and of what is in them."""
    return _plain(msgspec.to_builtins(found, builtin_types=_KEPT))


def as_type(found: object, kind: type[T]) -> T:
    """The members that the API shows."""
    return msgspec.convert(plain(found), kind)


def _plain(value: object) -> object:
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case bytes():
            return value.hex()
        case datetime():
            return value.astimezone(UTC)
        case _:
            return value
