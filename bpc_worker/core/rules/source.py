"""Positions in a rule text, and the error that shows them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of the source."""

    start: int
    end: int

    def to(self, other: "Span") -> "Span":
        return Span(self.start, other.end)


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of everything a rule text can make us do. Beyond one: RULE_LIMIT_EXCEEDED."""

    source_bytes: int = 1_048_576
    nesting: int = 64
    nodes: int = 200_000
    digits: int = 1_000
    steps: int = 5_000_000
    cases: int = 100_000
    scale: int = 30


class RuleError(Exception):
    """One thing wrong in a rule text, or found while it ran, with the place and a hint."""

    def __init__(self, code: str, message: str, span: Span = NOWHERE, *, hint: str | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.span = span
        self.hint = hint


def limit_exceeded(what: str, limit: int, span: Span = NOWHERE) -> RuleError:
    hint = "split the rule text, or raise the limit in the configuration"
    return RuleError("RULE_LIMIT_EXCEEDED", f"{what} (the limit is {limit})", span, hint=hint)


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
        text=source[line_start:line_end],
        width=max(1, min(span.end, line_end) - start),
    )


_WINDOW = 100


def render(source: str, error: RuleError) -> str:
    """The error as a person reads it: message, place, the line with the place underlined, hint."""
    at = place(source, error.span)
    first = max(0, at.column - 1 - _WINDOW // 2) if len(at.text) > _WINDOW else 0
    shown = at.text[first : first + _WINDOW]
    before = at.text[first : at.column - 1]
    indent = "".join("\t" if character == "\t" else " " for character in before)
    lines = [
        f"{error.code}: {error.message} (line {at.line}, column {at.column})",
        f"    {shown}",
        f"    {indent}{'^' * min(at.width, max(1, len(shown) - len(before)))}",
    ]
    if error.hint is not None:
        lines.append(f"hint: {error.hint}")
    return "\n".join(lines)
