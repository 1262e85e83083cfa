"""Times, numbers and stored values as a page shows them. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

HIDDEN: Final = "•••"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_QUOTED = re.compile(r"""(?<!\w)'[^']*'(?!\w)|"[^"]*"|“[^”]*”""")


def stamp(moment: datetime | None) -> str:
    """To the second, in UTC."""
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def span(length: timedelta | None) -> str:
    """With two units at most, so that it can be read in passing."""
    if length is None:
        return ""
    seconds = max(0, round(length.total_seconds()))
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE} min"
    return f"{seconds // _DAY} d {seconds % _DAY // _HOUR} h"


def since(now: datetime, then: datetime | None) -> str:
    return "" if then is None else span(now - then)


def number(count: int) -> str:
    return f"{count:,}"


def bounded(count: int, most: int) -> str:
    """`most` is one more than what is shown as a number."""
    return f"{most - 1:,}+" if count >= most else number(count)


def masked(json_text: str | None) -> str:
    """The same JSON with its names and ids, and without its values."""
    if json_text is None:
        return ""
    try:
        value = msgspec.json.decode(json_text)
    except msgspec.DecodeError:
        return HIDDEN
    return msgspec.json.format(msgspec.json.encode(_hidden(value)), indent=4).decode()


def _hidden(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _hidden(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_hidden(each) for each in value]
    if value is None or isinstance(value, bool) or _is_id(value):
        return value
    return HIDDEN


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value.lower()
    except ValueError:
        return False


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def or_none(text: str | None) -> str | None:
    """A field of a form that was left empty asks for nothing."""
    return text or None


def unquoted(message: str) -> str:
    """A sentence about a document without what it quotes of it."""
    return _QUOTED.sub(lambda found: f"{found[0][0]}{HIDDEN}{found[0][-1]}", message)
