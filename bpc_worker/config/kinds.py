"""What a setting may be: in words, as a function that parses it, and as JSON Schema for editors."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_network

from bpc_worker.jobs.model import Priority

Parse = Callable[[object], object]
Schema = Mapping[str, object]

_HEX_KEY = re.compile(r"[0-9a-fA-F]{64}")
_LIST = {"type": "array", "items": {"type": "string"}}


class NotAllowedError(ValueError):
    """A value that is not allowed, with more to say than the list of what is."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be: in words, and as a function that raises ValueError otherwise."""

    allowed: str
    parse: Parse
    schema: Schema = field(default_factory=dict)


def whole(low: int, high: int) -> Kind:
    def parse(value: object) -> int:
        number = int(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise ValueError
        return number

    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Kind(f"a whole number from {low} to {high}", parse, schema)


def number(low: float, high: float, *, above: bool = False) -> Kind:
    """A number from `low` (or above it) to `high`."""

    def fits(number: float) -> bool:
        return low <= number <= high and not (above and number == low)

    def parse(value: object) -> float:
        number = float(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float) or not fits(number):
            raise ValueError
        return float(number)

    schema = {"type": "number", "exclusiveMinimum" if above else "minimum": low, "maximum": high}
    return Kind(f"a number {'above' if above else 'from'} {low:g} to {high:g}", parse, schema)


_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_PART = r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)"


def seconds_of(value: object) -> object:
    """A text like 500ms, 30s or 1m30s in seconds; anything else as it is."""
    if isinstance(value, str) and re.fullmatch(f"(?:{_PART})+", value.strip()):
        return sum(float(amount) * _UNITS[unit] for amount, unit in re.findall(_PART, value))
    return value


def duration(low: float, high: float) -> Kind:
    seconds = number(low, high)
    schema = {"anyOf": [seconds.schema, {"type": "string", "pattern": f"^({_PART})+$"}]}
    words = f"seconds from {low:g} to {high:g}, or a duration like 500ms, 30s or 1m30s"
    return Kind(words, lambda value: seconds.parse(seconds_of(value)), schema)


def text(longest: int) -> Kind:
    def parse(value: object) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= longest or not value.isprintable():
            raise ValueError
        return value

    schema = {"type": "string", "minLength": 1, "maxLength": longest}
    return Kind(f"text of 1 to {longest} printable characters (in YAML, quote numbers)", parse, schema)


def choice(*options: str) -> Kind:
    def parse(value: object) -> str:
        word = str(value).strip().lower()
        if word not in options:
            raise ValueError
        return word

    return Kind(" or ".join(options), parse, {"enum": list(options)})


_SWITCH = {"true": True, "1": True, "yes": True, "on": True}
_SWITCH |= {"false": False, "0": False, "no": False, "off": False}


def _switch(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in _SWITCH:
        raise ValueError
    return _SWITCH[word]


switch = Kind("true or false (also 1/0, yes/no, on/off)", _switch, {"type": "boolean"})


_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})|%00")
_PLACE = re.compile(r"(.*?)(?::(\d+))?")
_HIGHEST_PORT = 65535


def url(*schemes: str, libpq: bool = False) -> Kind:
    """As libpq reads it, which takes several hosts and no % but that of an escape; or as Python does."""
    # Strict about user, password and port: what is not a password here would be shown as a host.
    host = r"(?:\[[^\[\]\s/?#@,]+\]|[^\s:/?#@,\[\]]*)(?::\d{1,5})?"
    start = "|".join(schemes)
    login, more = (r"[^\s@/?#]*@", rf"(?:,{host})*") if libpq else (r"[^\s@/?#\[\]]*@", "")
    shape = re.compile(rf"(?:{start})://({login})?({host}{more})(/[^\s?#]*)?(?:[?#]\S*)?")

    def parse(value: object) -> str:
        found = shape.fullmatch(value) if isinstance(value, str) and value.isprintable() else None
        if found is None or not all(map(_is_place, found[2].split(","))):
            raise ValueError
        if found[1] is None and "@" in (found[3] or ""):  # a "/" in the password, which began like a port
            raise ValueError
        if libpq and _BAD_ESCAPE.search(found[0]):
            raise NotAllowedError("a % that means itself is written %25")
        return found[0]

    begins = " or ".join(f"{scheme}://" for scheme in schemes)
    words = f"a URL that begins with {begins}, user and password percent-encoded"
    return Kind(words, parse, {"type": "string", "pattern": f"^({start})://"})


def _is_place(place: str) -> bool:
    """A host and perhaps its port; in brackets an address."""
    found = _PLACE.fullmatch(place)
    if found is not None and found[1].startswith("["):
        IPv6Address(found[1][1:-1])
    return found is not None and int(found[2] or 0) <= _HIGHEST_PORT


_name = text(100)


def _list_of(value: object, kind: Kind) -> tuple[str, ...]:
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise ValueError  # noqa: TRY004 - the word for a value that is not allowed
    for part in parts:
        kind.parse(part)
    return tuple(dict.fromkeys(parts))


def _names(value: object) -> tuple[str, ...]:
    # A file of old has a mapping from priority to queue here.
    found = _list_of(list(value.values()) if isinstance(value, dict) else value, _name)
    if not found:
        raise ValueError
    return found


names = Kind("names of 1 to 100 characters, a list or separated by commas", _names, {**_LIST, "minItems": 1})


def secret_bytes(least: int, most: int) -> Kind:
    """Random bytes in base64."""

    def parse(value: object) -> bytes:
        found = b64decode(str(value).strip(), validate=True)
        if not least <= len(found) <= most:
            raise NotAllowedError(f"it has {len(found)} bytes")
        return found

    length = f"exactly {least}" if least == most else f"{least} to {most}"
    return Kind(f"{length} bytes in base64", parse, {"type": "string", "contentEncoding": "base64"})


def _public_key(value: object) -> str:
    """In base64, however it was written."""
    written = str(value).strip()
    found = bytes.fromhex(written) if _HEX_KEY.fullmatch(written) else b64decode(written, validate=True)
    if len(found) != 32:  # noqa: PLR2004 - that is what an Ed25519 key has
        raise NotAllowedError(f"it has {len(found)} bytes")
    return b64encode(found).decode("ascii")


public_key = Kind("exactly 32 bytes in base64 or hex", _public_key, {"type": "string"})


def _folders(value: object) -> tuple[str, ...]:
    found = _list_of(value, text(4096))
    for folder in found:
        if not folder.startswith("/"):
            raise NotAllowedError(f"{folder} is not an absolute path")
    return found


folders = Kind("absolute paths of folders, a list or separated by commas", _folders, _LIST)


def _folder(value: object) -> str:
    [found] = _folders([value])
    return found


folder = Kind("the absolute path of a folder", _folder, {"type": "string", "pattern": "^/"})


file = Kind("the absolute path of a file", _folder, {"type": "string", "pattern": "^/"})


def _ports(value: object) -> tuple[int, ...]:
    parts = [value] if isinstance(value, int) else value
    parts = parts.split(",") if isinstance(parts, str) else parts
    if not isinstance(parts, list | tuple) or not parts:
        raise ValueError
    return tuple(dict.fromkeys(int(str(_port.parse(part))) for part in parts))


_port = whole(1, 65535)
ports = Kind(
    "whole numbers from 1 to 65535, a list or separated by commas",
    _ports,
    {"type": "array", "items": _port.schema, "minItems": 1},
)


def _cidrs(value: object) -> tuple[str, ...]:
    found = _list_of(value, text(50))
    for cidr in found:
        try:
            ip_network(cidr)
        except ValueError as error:
            raise NotAllowedError(str(error)) from error
    return found


cidrs = Kind("networks like 10.1.0.0/16 or fd00::/8, a list or separated by commas", _cidrs, _LIST)


def _patterns(value: object) -> tuple[str, ...]:
    return _list_of(value, text(200))


patterns = Kind("patterns like *.csv, a list or separated by commas", _patterns, _LIST)

# What is being written, or was left by a program; names that begin with a dot are left alone anyway.
UNFINISHED = (
    "*.tmp",
    "*.part",
    "*.partial",
    "*.crdownload",
    "*.filepart",
    "*.swp",
    "*~",
    "Thumbs.db",
    "desktop.ini",
)


def _endings(value: object) -> tuple[str, ...]:
    return tuple("." + ending.lower().removeprefix(".") for ending in _patterns(value))


endings = Kind("endings of file names like .json, a list or separated by commas", _endings, _LIST)


def _priority(value: object) -> str:
    return Priority.named(value).label


priority = Kind(
    "critical, high, normal or low (or 0 to 3)",
    _priority,
    {"enum": [*(each.label for each in Priority), *(each.value for each in Priority)]},
)


def _tables(value: object) -> tuple[str, ...]:
    found = _list_of(value, text(63))
    for table in found:
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", table):
            raise NotAllowedError(f"{table} is no plain name of a table")
    return found


tables = Kind("plain lower-case names of tables, a list or separated by commas", _tables, _LIST)
