"""What a setting may be: in words, as a function that parses it, and as JSON Schema for editors."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_network
from typing import TypeVar

from bpc_worker.jobs.model import Priority

T = TypeVar("T")
Parse = Callable[[object], object]
Schema = Mapping[str, object]

_HEX_KEY = re.compile(r"[0-9a-fA-F]{64}")
_BASE_PATH = re.compile(r"(?:/[A-Za-z0-9][A-Za-z0-9._-]*)+")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_LIST = {"type": "array", "items": {"type": "string"}}


class NotAllowedError(ValueError):
    """A value that is not allowed, with more to say than the list of what is."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be: in words, and as a function that raises ValueError otherwise."""

    allowed: str
    parse: Parse
    schema: Schema = field(default_factory=dict)


def _number(read: type[int] | type[float], fits: Callable[[float], bool]) -> Parse:
    def parse(value: object) -> float:
        found = read(value) if isinstance(value, str) else value
        if isinstance(found, bool) or not isinstance(found, int | read) or not fits(found):
            raise ValueError
        return read(found)

    return parse


def whole(low: int, high: int) -> Kind:
    schema = {"type": "integer", "minimum": low, "maximum": high}
    words = f"a whole number from {low} to {high}"
    return Kind(words, _number(int, lambda found: low <= found <= high), schema)


def number(low: float, high: float, *, above: bool = False) -> Kind:
    """A number from `low` (or above it) to `high`."""
    schema = {"type": "number", "exclusiveMinimum" if above else "minimum": low, "maximum": high}
    words = f"a number {'above' if above else 'from'} {low:g} to {high:g}"
    return Kind(words, _number(float, lambda n: low <= n <= high and not (above and n == low)), schema)


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


def _one_of(words: Mapping[str, object]) -> Parse:
    """What one of the words stands for."""

    def parse(value: object) -> object:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError
        return words[word]

    return parse


def choice(*options: str) -> Kind:
    return Kind(" or ".join(options), _one_of({word: word for word in options}), {"enum": list(options)})


_SWITCH = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(("false", "0", "no", "off"), False)
switch = Kind("true or false (also 1/0, yes/no, on/off)", _one_of(_SWITCH), {"type": "boolean"})


def _printable(fits: Callable[[str], object]) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or not fits(value):
            raise ValueError
        return value

    return parse


def _short(longest: int) -> Callable[[object], str]:
    return _printable(lambda value: 0 < len(value) <= longest)


def text(longest: int) -> Kind:
    schema = {"type": "string", "minLength": 1, "maxLength": longest}
    words = f"text of 1 to {longest} printable characters (in YAML, quote numbers)"
    return Kind(words, _short(longest), schema)


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


def decoded(value: object, least: int, most: int) -> bytes:
    """So many bytes, from base64."""
    return _sized(b64decode(str(value).strip(), validate=True), least, most)


def _sized(found: bytes, least: int, most: int) -> bytes:
    if not least <= len(found) <= most:
        raise NotAllowedError(f"it has {len(found)} bytes")
    return found


def secret_bytes(least: int, most: int) -> Kind:
    """Random bytes in base64."""
    length = f"exactly {least}" if least == most else f"{least} to {most}"
    schema = {"type": "string", "contentEncoding": "base64"}
    return Kind(f"{length} bytes in base64", lambda value: decoded(value, least, most), schema)


def public_key_text(value: object) -> str:
    """In base64, however it was written."""
    written = str(value).strip()
    found = bytes.fromhex(written) if _HEX_KEY.fullmatch(written) else b64decode(written, validate=True)
    return b64encode(_sized(found, 32, 32)).decode("ascii")


public_key = Kind("exactly 32 bytes in base64 or hex", public_key_text, {"type": "string"})


def _listed(
    read: Callable[[object], T], each: Callable[[T], T] = lambda found: found, *, least: int = 0
) -> Callable[[object], tuple[T, ...]]:
    """At least so many of what is read, none of them twice, each as the other function gives it back."""

    def parse(value: object) -> tuple[T, ...]:
        parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or len(parts) < least:
            raise ValueError
        return tuple(each(found) for found in dict.fromkeys([read(part) for part in parts]))

    return parse


def _like(pattern: str, complaint: str) -> Callable[[str], str]:
    def check(written: str) -> str:
        if not re.fullmatch(pattern, written):
            raise NotAllowedError(f"{written} {complaint}")
        return written

    return check


def _cidr(written: str) -> str:
    try:
        ip_network(written)
    except ValueError as error:
        raise NotAllowedError(str(error)) from error
    return written


def _ending(written: str) -> str:
    return "." + written.lower().removeprefix(".")


_OR_COMMAS = "a list or separated by commas"
_PATH = {"type": "string", "pattern": "^/"}
_port = whole(1, 65535)
_names = _listed(_short(100), least=1)
_folders = _listed(_short(4096), _like("/.*", "is not an absolute path"))
_own_folders = _listed(
    _short(4096), _like("([^=/][^=]{0,199}=)?/.*", "is neither an absolute path nor TENANT=/an/absolute/path")
)
_tables = _listed(_short(63), _like("[a-z_][a-z0-9_]*", "is no plain name of a table"))
_ports = _listed(_port.parse, least=1)

names = Kind(
    f"names of 1 to 100 characters, {_OR_COMMAS}",
    # A file of old has a mapping from priority to queue here.
    lambda value: _names(list(value.values()) if isinstance(value, dict) else value),
    {**_LIST, "minItems": 1},
)
folders = Kind(f"absolute paths of folders, {_OR_COMMAS}", _folders, _LIST)
own_folders = Kind(
    "absolute paths of folders, each as TENANT=/PATH with the tenant's name or id, or as /PATH where there"
    f" is one tenant only, {_OR_COMMAS}",
    _own_folders,
    _LIST,
)
folder = Kind("the absolute path of a folder", lambda value: _folders([value])[0], _PATH)
file = Kind("the absolute path of a file", folder.parse, _PATH)
cidrs = Kind(f"networks like 10.1.0.0/16 or fd00::/8, {_OR_COMMAS}", _listed(_short(50), _cidr), _LIST)
patterns = Kind(f"patterns like *.csv, {_OR_COMMAS}", _listed(_short(200)), _LIST)
endings = Kind(f"endings of file names like .json, {_OR_COMMAS}", _listed(_short(200), _ending), _LIST)
tables = Kind(f"plain lower-case names of tables, {_OR_COMMAS}", _tables, _LIST)
ports = Kind(
    f"whole numbers from 1 to 65535, {_OR_COMMAS}",
    lambda value: _ports([value] if isinstance(value, int) else value),
    {"type": "array", "items": _port.schema, "minItems": 1},
)
base_path = Kind(
    "nothing, or a path like /battery of plain segments",
    _printable(lambda value: not value or _BASE_PATH.fullmatch(value)),
    {"type": "string", "pattern": f"^({_BASE_PATH.pattern})?$"},
)
header = Kind(
    "the name of an HTTP header",
    _printable(_HEADER.fullmatch),
    {"type": "string", "pattern": f"^{_HEADER.pattern}$"},
)
priority = Kind(
    "critical, high, normal or low (or 0 to 3)",
    lambda value: Priority.named(value).label,
    {"enum": [*(each.label for each in Priority), *(each.value for each in Priority)]},
)
