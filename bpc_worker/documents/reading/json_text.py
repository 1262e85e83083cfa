"""JSON text to values, strictly and without recursion; what is wrong is named by its JSON pointer.

A number is kept as it was written, exactly; one beyond the limits is Unreadable, and the form decides what
that costs. Where another value is wrong but the text goes on, REFUSED stands in its place and reading goes
on, so that a sender learns everything at once.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, auto
from typing import Final, NoReturn, TypeAlias

from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Problems, Unfit, pointer, quoted
from bpc_worker.documents.reading import decimal_text
from bpc_worker.documents.reading.decimal_text import BeyondError

_TOKEN = re.compile(
    r"""[ \t\n\r]*+(?:
      (?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<open>[{\[])
    | (?P<close>[}\]])
    | (?P<mark>[,:])
    | (?P<bare>[^ \t\n\r"{}\[\],:]++)
    | (?P<unclosed>")
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_CONTROL = re.compile("[\0-\x1f]")
_BAD_IN_TEXT = re.compile("[\0\ud800-\udfff]")
_ABOVE_PLANE_0 = re.compile("[\U00010000-\U0010ffff]")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


class Refused(Enum):
    """Stands where a value was wrong; the problem is already listed."""

    REFUSED = auto()


REFUSED: Final = Refused.REFUSED


@dataclass(frozen=True, slots=True)
class Number:
    value: Decimal
    whole: bool  # written without point and exponent


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A number of JSON that nothing here can hold."""

    why: str


Value: TypeAlias = "dict[str, Value] | list[Value] | str | Number | bool | Refused | Unreadable | None"


def decode(text: str, limits: Limits, problems: Problems) -> Value:
    """The value of the text; REFUSED where reading could not go on."""
    try:
        return _Decoder(text, _TOKEN.finditer(text), limits, problems).value()
    except _Stop:
        return REFUSED


class _Stop(Exception):  # noqa: N818 - no error of ours: the problem is listed, reading ends
    """Nothing after this place can be understood."""


class _Next(Enum):
    VALUE = auto()
    FIRST = auto()  # a value or a key, or the end of an empty container
    KEY = auto()
    AFTER = auto()  # a comma, or the end of the container


@dataclass(slots=True)
class _Frame:
    """A container that is still open, and the step to the value that is being read."""

    held: dict[str, Value] | list[Value]
    step: str | int | None = None
    kept: bool = True  # False: the key was wrong, its value is read and dropped


@dataclass(slots=True)
class _Decoder:
    text: str
    tokens: Iterator[re.Match[str]]  # one after the other without a gap, the last is the end
    limits: Limits
    problems: Problems
    at: int = 0  # where the last token begins
    values: int = 0
    frames: list[_Frame] = field(default_factory=list)

    def value(self) -> Value:
        root: list[Value] = []
        self.frames.append(_Frame(root))
        expected = self._value(self._token())
        while len(self.frames) > 1:
            expected = self._go_on(expected)
        if self._token().lastgroup != "end":
            self._stop("there is text behind the end of the document; send one JSON value")
        return root[0]

    def _go_on(self, expected: _Next) -> _Next:
        token = self._token()
        frame = self.frames[-1]
        if token.lastgroup == "close" and expected in {_Next.FIRST, _Next.AFTER}:
            return self._close(token["close"])
        if expected is _Next.AFTER:
            return self._comma(token)
        if isinstance(frame.held, dict) and expected is not _Next.VALUE:
            return self._key(token, frame, frame.held)
        return self._value(token)

    def _token(self) -> re.Match[str]:
        token = next(self.tokens)
        self.at = token.start(token.lastgroup or 0)
        return token

    def _value(self, token: re.Match[str]) -> _Next:
        frame = self.frames[-1]
        if isinstance(frame.held, list):
            frame.step = len(frame.held)
        self._count()
        match token.lastgroup:
            case "open":
                return self._open(token["open"])
            case "text":
                self._keep(self._string(token["text"]))
            case "bare":
                self._keep(self._bare(token["bare"]))
            case _:
                self._unexpected(token, "a value")
        return _Next.AFTER

    def _open(self, mark: str) -> _Next:
        if len(self.frames) > self.limits.json_depth:
            self._too_large(f"nested deeper than {self.limits.json_depth} levels; send a flatter document")
        held: dict[str, Value] | list[Value] = {} if mark == "{" else []
        self._keep(held)
        self.frames.append(_Frame(held))
        return _Next.FIRST

    def _close(self, mark: str) -> _Next:
        wanted = "}" if isinstance(self.frames[-1].held, dict) else "]"
        if mark != wanted:
            self._stop(f"{wanted} is expected here, found {mark}")
        self.frames.pop()
        return _Next.AFTER

    def _comma(self, token: re.Match[str]) -> _Next:
        inside_object = isinstance(self.frames[-1].held, dict)
        if token["mark"] != ",":
            self._unexpected(token, "a comma or }" if inside_object else "a comma or ]")
        return _Next.KEY if inside_object else _Next.VALUE

    def _key(self, token: re.Match[str], frame: _Frame, held: dict[str, Value]) -> _Next:
        if token.lastgroup != "text":
            self._unexpected(token, "a key in double quotes")
        frame.step = token["text"][1:-1]
        key = self._string(token["text"])
        frame.kept = isinstance(key, str) and self._is_good_key(key, frame, held)
        colon = self._token()
        if colon["mark"] != ":":
            self._unexpected(colon, "a colon")
        return _Next.VALUE

    def _is_good_key(self, key: str, frame: _Frame, held: dict[str, Value]) -> bool:
        frame.step = key
        if _ABOVE_PLANE_0.search(key):
            self._problem("a key may not hold characters above U+FFFF (such as emoji); rename it")
        elif key in held:
            self._problem(f"the key {quoted(key)} stands here more than once; keep one")
        else:
            return True
        return False

    def _keep(self, value: Value) -> None:
        frame = self.frames[-1]
        if isinstance(frame.held, list):
            frame.held.append(value)
        elif frame.kept:
            frame.held[str(frame.step)] = value

    def _string(self, token: str) -> str | Refused:
        if len(token) > self.limits.string_bytes // 4 and len(token.encode()) - 2 > self.limits.string_bytes:
            self._too_large(f"a text of more than {self.limits.string_bytes} bytes; shorten it")
        if _CONTROL.search(token):
            return self._problem("a text holds a raw line break, NUL or other control character; escape it")
        if "\\" not in token:
            return token[1:-1]
        try:
            text = str(json.loads(token))
        except json.JSONDecodeError as error:
            return self._problem(f"a text holds a bad escape after the backslash: {error.msg}")
        if bad := _BAD_IN_TEXT.search(text):
            what = "NUL (\\u0000)" if bad[0] == "\0" else "half of a surrogate pair"
            return self._problem(f"a text holds {what}, which cannot be stored; remove it")
        return text

    def _bare(self, token: str) -> Value:
        if token in _WORDS:
            return _WORDS[token]
        try:
            value = decimal_text.read_json(token, self.limits)
        except BeyondError as beyond:
            return Unreadable(str(beyond))
        except Unfit as unfit:
            return self._problem(str(unfit))
        return Number(value, whole=token.lstrip("-").isdecimal())

    def _count(self) -> None:
        self.values += 1
        if self.values > self.limits.json_values:
            self._too_large(f"more than {self.limits.json_values} values; split the document")

    def _problem(self, message: str) -> Refused:
        self.problems.add("" if self.problems.full else self._pointer(), message)
        return REFUSED

    def _too_large(self, message: str) -> NoReturn:
        self.problems.too_large(self._pointer(), message)
        raise _Stop

    def _unexpected(self, token: re.Match[str], wanted: str) -> NoReturn:
        if token.lastgroup == "end":
            self._stop(f"the text ends where {wanted} is expected; is the file complete?")
        if token.lastgroup == "unclosed":
            self._stop("a text that begins here is never closed; add the closing quote")
        self._stop(f"{wanted} is expected, found {quoted(str(token[token.lastgroup or 0]))}")

    def _stop(self, message: str) -> NoReturn:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        self.problems.add(self._pointer(), f"not JSON at line {line}, column {column}: {message}")
        raise _Stop

    def _pointer(self) -> str:
        return pointer(frame.step for frame in self.frames[1:] if frame.step is not None)
