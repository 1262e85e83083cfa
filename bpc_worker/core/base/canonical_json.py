"""BPC-CJSON-1: the one text form of a JSON value, so that equal values have equal hashes.

A strict subset of RFC 8785: integers only, and no keys above U+FFFF, where the order of UTF-8
bytes (ours) and of UTF-16 units (the RFC's) part ways. Any RFC 8785 library makes the same bytes.
"""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | bool | None"

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 256

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_NOT_WHOLE = "only integers are allowed; write decimals as strings"
_NOT_SAFE = "integers reach from -(2^53-1) to 2^53-1; write bigger ones as strings"

_BAD_IN_TEXT = re.compile("[\0\ud800-\udfff]")
_BAD_IN_KEY = re.compile("[\0\ud800-\udfff\U00010000-\U0010ffff]")
# Possessive, and with an optional end: hostile text is scanned once, not once per quote.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},:]', re.DOTALL)

# With these options the standard encoder escapes exactly what RFC 8785 escapes, and sorts keys
# by code point, which is the order of their UTF-8 bytes. It does not look at what it writes: it is for values
# that were checked where they came in.
text_of_checked = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode
quoted = json.encoder.encode_basestring  # the same, of a text


class CanonicalJsonError(ValueError):
    """A value or text that has no place in BPC-CJSON-1; `path` is a JSON pointer, "" the root."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path or 'root'}: {self.reason}"


def encode(value: object) -> bytes:
    """The canonical bytes of a value made of dict, list, tuple, str, int, bool and None."""
    try:
        _check(value, 0)
        return text_of_checked(value).encode()
    except RecursionError:  # a caller near the end of the stack, not a deep value
        raise CanonicalJsonError("", _TOO_DEEP) from None


def decode(data: bytes) -> JsonValue:
    """The value that `data` is the canonical text of."""
    text = _decode_utf8(data)
    value = _parse(text)
    canonical = encode(value)
    if canonical != data:
        raise _first_difference(text, canonical.decode())
    return value


def _check(value: object, depth: int) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif value is None or isinstance(value, bool):
        pass
    elif isinstance(value, int):
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise CanonicalJsonError("", _NOT_SAFE)
    elif isinstance(value, dict):
        _check_members(value, depth + 1)
    elif isinstance(value, list | tuple):
        _check_items(value, depth + 1)
    elif isinstance(value, _Refused):
        raise CanonicalJsonError(value.path, value.reason)
    elif isinstance(value, float):
        raise CanonicalJsonError("", _NOT_WHOLE)
    else:
        raise CanonicalJsonError("", f"{type(value).__name__} is not a JSON type")


def _check_members(members: dict[object, object], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise CanonicalJsonError("", _TOO_DEEP)
    for key, value in members.items():
        if not isinstance(key, str):
            raise CanonicalJsonError("", f"keys are strings, not {type(key).__name__}")
        try:
            _check_key(key)
            _check(value, depth)
        except CanonicalJsonError as error:
            raise _below(key, error) from None


def _check_items(items: list[object] | tuple[object, ...], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise CanonicalJsonError("", _TOO_DEEP)
    for index, item in enumerate(items):
        try:
            _check(item, depth)
        except CanonicalJsonError as error:
            raise _below(str(index), error) from None


def _check_key(key: str) -> None:
    if _BAD_IN_KEY.search(key):
        _check_text(key)
        raise CanonicalJsonError("", "keys may not hold characters above U+FFFF")


def _check_text(text: str) -> None:
    if bad := _BAD_IN_TEXT.search(text):
        raise CanonicalJsonError("", "NUL" if bad[0] == "\0" else "lone surrogate")


def _below(step: str, error: CanonicalJsonError) -> CanonicalJsonError:
    # A lone surrogate or a NUL in a key would make the error itself impossible to print or store.
    shown = step.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return CanonicalJsonError(f"/{_escaped(shown)}{error.path}", error.reason)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True, slots=True)
class _Refused:
    """Stands in a parsed tree where the text was wrong, so that the check can name the place."""

    reason: str
    path: str = ""


def _parse(text: str) -> JsonValue:
    try:
        value: JsonValue = _read(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON at character {error.pos}: {error.msg}"
        raise CanonicalJsonError(_path_at(text, error.pos), reason) from None
    except RecursionError:
        raise CanonicalJsonError(_path_at(text, len(text)), _TOO_DEEP) from None
    return value


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        reason = f"not UTF-8 at byte {error.start}"
        raise CanonicalJsonError(_path_at(before, len(before)), reason) from None


def _first_difference(text: str, canonical: str) -> CanonicalJsonError:
    pairs = enumerate(zip(text, canonical, strict=False))
    at = next((index for index, (is_, should) in pairs if is_ != should), len(canonical))
    expected = canonical[at : at + 1] or "the end"
    reason = f"not canonical at character {at}: expected {expected!r}, found {text[at : at + 1]!r}"
    return CanonicalJsonError(_path_at(text, at), reason)


def _path_at(text: str, end: int) -> str:
    """The path that a reader is on after `end` characters; keys appear as they are written."""
    steps: list[str | int | None] = []  # None: inside an object, before its next key
    for token in _TOKEN.finditer(text):
        if token.start() >= end or len(steps) > MAX_DEPTH:
            break
        match token[0]:
            case "{":
                steps.append(None)
            case "[":
                steps.append(0)
            case "}" | "]":
                del steps[-1:]
            case ",":
                steps[-1:] = [_after(step) for step in steps[-1:]]
            case word if word != ":" and steps[-1:] == [None]:
                steps[-1] = _escaped(word[1:].removesuffix('"'))
    return "".join(f"/{step}" for step in steps[:MAX_DEPTH] if step is not None)


def _after(step: str | int | None) -> int | None:
    return step + 1 if isinstance(step, int) else None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | _Refused:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    keys = sorted(key for key, _ in pairs)
    again = next(key for key, following in pairwise(keys) if key == following)
    error = _below(again, CanonicalJsonError("", "duplicate key"))
    return _Refused(error.reason, error.path)


def _integer(digits: str) -> int | _Refused:
    if len(digits) > len(str(-MAX_INTEGER)):  # also keeps int() away from its own length limit
        return _Refused(_NOT_SAFE)
    return _Refused("-0 is written 0") if digits == "-0" else int(digits)


def _not_whole(_: str) -> _Refused:
    return _Refused(_NOT_WHOLE)


_read = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_not_whole,
    parse_constant=_not_whole,
).decode
