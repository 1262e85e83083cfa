"""Positions in a rule text, the limits of what it may ask for, and the error that shows its place."""

from dataclasses import dataclass, fields
from typing import NamedTuple

from bpc_worker.core.base.numbers import MAX_DIGITS, MAX_SCALE

MAX_NESTING = 64

_HIGHEST = {"nesting": MAX_NESTING, "digits": MAX_DIGITS, "scale": MAX_SCALE}


class Span(NamedTuple):
    """Characters [start, end) of the source. A tuple, as they are made by the hundred thousand."""

    start: int
    end: int

    def to(self, other: "Span") -> "Span":
        return Span(self.start, other.end)


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of everything a rule text can make us do. Beyond one: RULE_LIMIT_EXCEEDED.

    Nesting, digits and scale can be lowered, not raised: Python's stack and the format rest on them.
    """

    source_bytes: int = 1_048_576
    nesting: int = MAX_NESTING
    nodes: int = 200_000
    digits: int = MAX_DIGITS
    steps: int = 5_000_000
    test_steps: int = 20_000_000
    cases: int = 100_000
    scale: int = MAX_SCALE

    def __post_init__(self) -> None:
        for field in fields(self):
            value, highest = getattr(self, field.name), _HIGHEST.get(field.name)
            if value < 1 or (highest is not None and value > highest):
                allowed = "at least 1" if highest is None else f"between 1 and {highest}"
                raise ValueError(f"the limit {field.name} is {allowed}, not {value}")


class RuleError(Exception):
    """One thing wrong in a rule text, or found while it ran, with the place and a hint."""

    def __init__(self, code: str, message: str, span: Span = NOWHERE, *, hint: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.span = span
        self.hint = hint

    def at(self, span: Span) -> "RuleError":
        """The same error with a place, if it has none yet."""
        return self if self.span != NOWHERE else RuleError(self.code, self.message, span, hint=self.hint)

    def __reduce__(self) -> tuple[object, ...]:
        """An error that a child process raises arrives whole."""
        return _error, (self.code, self.message, self.span, self.hint)


def _error(code: str, message: str, span: Span, hint: str) -> RuleError:
    return RuleError(code, message, span, hint=hint)


def limit_exceeded(
    what: str,
    limit: int,
    span: Span = NOWHERE,
    *,
    hint: str = "split the rule text, or raise the limit in the configuration",
) -> RuleError:
    return RuleError("RULE_LIMIT_EXCEEDED", f"{what} (the limit is {limit})", span, hint=hint)


def too_deep_a_stack() -> RuleError:
    """What to raise where Python's own stack ended: a caller near its end, as rules are never that deep."""
    message = "called too deep inside another program to read rules"
    hint = "call from a thread or process of its own"
    return RuleError("RULE_LIMIT_EXCEEDED", message, hint=hint)


def unchecked(message: str, code: str = "RULE_TYPE_ERROR") -> RuleError:
    """What the check of a rule text keeps from running: only a proof that somebody changed asks for it."""
    hint = "no rule text that was checked does this: look at the step of the proof"
    return RuleError(code, message, hint=hint)


@dataclass(frozen=True, slots=True)
class Place:
    line: int
    column: int  # both from 1
    text: str  # the whole line
    width: int  # how many characters of it are meant


def place(source: str, span: Span) -> Place:
    start = min(span.start, len(source))
    line_start = source.rfind("\n", 0, start) + 1
    line_end = source.find("\n", start)
    line_end = len(source) if line_end < 0 else line_end
    return Place(
        line=source.count("\n", 0, start) + 1,
        column=start - line_start + 1,
        text=source[line_start:line_end].removesuffix("\r"),
        width=max(1, min(span.end, line_end) - start),
    )


_WINDOW = 100
_LONGEST_QUOTE = 40


def quoted(text: str) -> str:
    """A piece of the source inside a message: on one line, printable, not too long."""
    short = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return f"'{_printable(short)}'"


def render(source: str, error: RuleError) -> str:
    """The error as a person reads it: message, place, the line with the place underlined, hint."""
    at = place(source, error.span)
    first = max(0, at.column - 1 - _WINDOW // 2) if len(at.text) > _WINDOW else 0
    shown = at.text[first : first + _WINDOW]
    before = at.text[first : at.column - 1]
    indent = "".join("\t" if character == "\t" else " " for character in before)
    return "\n".join(
        [
            f"{error.code}: {error.message} (line {at.line}, column {at.column})",
            f"    {_printable(shown)}",
            f"    {indent}{'^' * min(at.width, max(1, len(shown) - len(before)))}",
            f"hint: {error.hint}",
        ]
    )


def _printable(text: str) -> str:
    """One character for each, so that underlines stay in place; none that moves a terminal's cursor."""
    return "".join(each if each.isprintable() or each == "\t" else "\ufffd" for each in text)
