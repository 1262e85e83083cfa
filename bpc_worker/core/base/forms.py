"""The one text form of time stamps, dates, uuids, hashes and signatures inside canonical JSON.

Readers accept that form alone: with a second spelling, one value would have two hashes.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from typing import TypeAlias, TypeVar
from uuid import UUID

from bpc_worker.core.base.canonical_json import MAX_INTEGER, CanonicalJsonError, JsonValue

HASH_SIZE = 32
SALT_SIZE = 16
SIGNATURE_SIZE = 64

Scalar: TypeAlias = datetime | date | UUID | bytes | str
T = TypeVar("T")
R = TypeVar("R")

_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HASH = re.compile(r"[0-9a-f]{64}")
_SALT = re.compile(r"[0-9a-f]{32}")
_SIGNATURE = re.compile(r"[A-Za-z0-9+/]{86}==")

_SHOWN = 60
_KINDS = {dict: "an object", list: "an array", bool: "a boolean", int: "an integer", type(None): "null"}


class FormError(ValueError):
    """A value that is not in its one form; `path` is a JSON pointer, "" the value itself."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


def timestamp(moment: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffffZ`, always in UTC and always with six decimals."""
    if moment.utcoffset() is None:
        raise _unexpected("a time stamp with a time zone", moment.isoformat())
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        raise _unexpected("a time stamp that is of the years 1 to 9999 in UTC", moment.isoformat()) from None
    return f"{utc.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def date_text(day: date) -> str:
    """`YYYY-MM-DD`."""
    if isinstance(day, datetime):  # it is a date to Python, but which one depends on the time zone
        raise _unexpected("a date", f"the time stamp {day.isoformat()}")
    return day.isoformat()


def uuid_text(uuid: UUID) -> str:
    """Lower case, with hyphens."""
    return str(uuid)


def hash_text(digest: bytes) -> str:
    """64 lower-case hex digits of a SHA-256."""
    if len(digest) != HASH_SIZE:
        raise _unexpected(f"a hash of {HASH_SIZE} bytes", f"{len(digest)} bytes")
    return digest.hex()


def salt_text(salt: bytes) -> str:
    """32 lower-case hex digits."""
    if len(salt) != SALT_SIZE:
        raise _unexpected(f"a salt of {SALT_SIZE} bytes", f"{len(salt)} bytes")
    return salt.hex()


def signature_text(signature: bytes) -> str:
    """Standard base64 (RFC 4648, section 4) with padding, 88 characters."""
    if len(signature) != SIGNATURE_SIZE:
        raise _unexpected(f"a signature of {SIGNATURE_SIZE} bytes", f"{len(signature)} bytes")
    return b64encode(signature).decode("ascii")


def text_of(value: Scalar) -> str:
    """The one text form of a value, by its type."""
    match value:
        case datetime():
            return timestamp(value)
        case date():
            return date_text(value)
        case UUID():
            return uuid_text(value)
        case bytes():
            return hash_text(value)
        case _:
            return parse_text(value)


def texts_of(values: Mapping[str, Scalar]) -> dict[str, JsonValue]:
    """The members of an object, each in its text form; an error names the member."""
    return {name: below(name, text_of, value) for name, value in values.items()}


def parse_timestamp(text: object) -> datetime:
    if isinstance(text, str) and _TIMESTAMP.fullmatch(text):
        with suppress(ValueError):  # 31 February, second 60
            return datetime.fromisoformat(text)
    raise _unexpected("a time stamp YYYY-MM-DDTHH:MM:SS.ffffffZ", shown(text))


def parse_date(text: object) -> date:
    if isinstance(text, str) and _DATE.fullmatch(text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    raise _unexpected("a date YYYY-MM-DD", shown(text))


def parse_uuid(text: object) -> UUID:
    if isinstance(text, str) and _UUID.fullmatch(text):
        return UUID(text)
    raise _unexpected("a lower-case uuid with hyphens", shown(text))


def parse_hash(text: object) -> bytes:
    if isinstance(text, str) and _HASH.fullmatch(text):
        return bytes.fromhex(text)
    raise _unexpected(f"{2 * HASH_SIZE} lower-case hex digits", shown(text))


def parse_salt(text: object) -> bytes:
    if isinstance(text, str) and _SALT.fullmatch(text):
        return bytes.fromhex(text)
    raise _unexpected(f"a salt: {2 * SALT_SIZE} lower-case hex digits", shown(text))


def parse_signature(text: object) -> bytes:
    if isinstance(text, str) and _SIGNATURE.fullmatch(text):
        signature = b64decode(text)
        if signature_text(signature) == text:  # the last letter has four bits that say nothing
            return signature
    raise _unexpected(f"{SIGNATURE_SIZE} bytes in standard base64 with padding", shown(text))


def parse_text(text: object) -> str:
    if isinstance(text, str) and text:
        return text
    raise _unexpected("a text that is not empty", shown(text))


def parse_count(number: object) -> int:
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MAX_INTEGER:
        return number
    raise _unexpected("an integer from 0 to 2^53-1", shown(number))


def parse_constant(expected: str) -> Callable[[object], str]:
    """A reader of a member that can hold one text only."""

    def parse(text: object) -> str:
        if text != expected:
            raise _unexpected(repr(expected), shown(text))
        return expected

    return parse


def each(act: Callable[[T], R]) -> Callable[[Iterable[T]], list[R]]:
    """`act` on every item; an error names the position."""
    return lambda items: [below(str(index), act, item) for index, item in enumerate(items)]


def parse_list(item: Callable[[object], R]) -> Callable[[object], list[R]]:
    """A reader of an array of such items."""

    def parse(items: object) -> list[R]:
        if not isinstance(items, list):
            raise _unexpected("an array", shown(items))
        return each(item)(items)

    return parse


def members(value: object, names: Sequence[str]) -> dict[str, object]:
    """The members of an object that has exactly these."""
    if not isinstance(value, dict):
        raise _unexpected("an object", shown(value))
    if missing := [name for name in names if name not in value]:
        raise FormError("", f"missing: {', '.join(missing)}")
    if unknown := [shown(name) for name in value if name not in names]:
        raise FormError("", f"unknown: {', '.join(unknown[:10])}")
    return value


def read(found: Mapping[str, object], name: str, reader: Callable[[object], T]) -> T:
    """One member of an object; an error names it."""
    return below(name, reader, found[name])


def below(step: str, act: Callable[[T], R], value: T) -> R:
    """`act` on a value that stands at `step`; an error names the step."""
    try:
        return act(value)
    except (CanonicalJsonError, FormError) as error:
        raise FormError(f"/{step}{error.path}", error.reason) from None


def shown(value: object) -> str:
    """What was found, short and printable enough for an error."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN else f"{value[:_SHOWN]!r}… ({len(value)} characters)"
    return _KINDS.get(type(value), type(value).__name__)


@contextmanager
def raised_as(kind: type[FormError]) -> Iterator[None]:
    """Errors of the forms and of canonical JSON, in the family of the format that is read or written."""
    try:
        yield
    except (CanonicalJsonError, FormError) as error:
        raise kind(error.path, error.reason) from None


def _unexpected(expected: str, found: str) -> FormError:
    return FormError("", f"expected {expected}, found {found}")
