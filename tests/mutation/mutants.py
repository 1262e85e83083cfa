"""Small wrong changes of a rule text, found by its tokens: what a slip of the hand would leave behind.

The law's list is left alone: it is made from a table, and a test compares the two letter by letter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import takewhile

from bpc_worker.core.base.audience import AUDIENCES
from bpc_worker.core.base.calendar import add_months, month_of
from bpc_worker.core.base.numbers import ROUNDING
from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules.parser import parse
from bpc_worker.core.rules.source import Limits, Span
from bpc_worker.core.rules.syntax import Field, Module, Table
from bpc_worker.core.rules.tokens import Kind, Token, tokenize

_OPERATORS = {
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "&&": ("||",), "||": ("&&",),
    "==": ("!=",), "!=": ("==",),
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
}  # fmt: skip
_SWAPPED = {
    "true": ("false",), "false": ("true",), "min": ("max",), "max": ("min",),
    "withheld": ("missing",), "missing": ("withheld",), "notApplicable": ("missing",), "notYet": ("missing",),
    "note": ("warn",), "warn": ("note", "stop"), "stop": ("warn",),
    **{mode: tuple(other for other in ROUNDING if other != mode) for mode in ROUNDING},
}  # fmt: skip
_VALUE_ENDS = (Kind.NAME, Kind.INTEGER, Kind.DECIMAL, Kind.TEXT)
_UNIT_FIRST = ("Qty", "toQty", "convert", "given", "declared", "measured", "lastMeasured")
_CALLS = frozenset({"min", "max", "withheld", "missing", "notApplicable", "notYet"})
_SEVERITIES = frozenset({"note", "warn", "stop"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """`source` with [start, end) replaced by `text`."""

    owner: str  # the field or table it is in
    span: Span
    text: str
    change: str

    def applied(self, source: str) -> str:
        return source[: self.span.start] + self.text + source[self.span.end :]


def mutants(source: str) -> list[Mutant]:
    """Every mutant of the tables and fields, in order of place; tests are left alone."""
    module = parse(source)
    tokens = tokenize(source, Limits())
    found: list[Mutant] = []
    for owner, name in owners(module):
        inside = [token for token in tokens if owner.span.start <= token.span.start < owner.span.end]
        found += _of_tokens(inside, name, is_table=isinstance(owner, Table))
        if isinstance(owner, Field):
            found += _of_audiences(inside, owner)
            found += _of_statements(inside, owner)
    return sorted(found, key=lambda mutant: mutant.span.start)


def owners(module: Module) -> list[tuple[Table | Field, str]]:
    return [
        *((table, table.name) for table in module.tables),
        *((field, field.path) for field in module.fields),
    ]


def _of_tokens(tokens: list[Token], owner: str, *, is_table: bool) -> Iterator[Mutant]:
    for at, token in enumerate(tokens):
        for text, change in _changes(tokens, at, is_table=is_table):
            yield Mutant(owner, token.span, text, change)
        if token.text in {"if", "assert"} or (token.text == "usable" and tokens[at + 1].text == "("):
            yield _of_condition(tokens, at, owner)


def _changes(tokens: list[Token], at: int, *, is_table: bool) -> Iterator[tuple[str, str]]:
    token = tokens[at]
    match token.kind:
        case Kind.SYMBOL:
            for text in _operators(tokens, at):
                yield text, f"{token.text} -> {text or 'nothing'}"
        case Kind.INTEGER | Kind.DECIMAL:
            for text in _numbers(token.text):
                yield text, f"{token.text} -> {text}"
        case Kind.NAME:
            for text in _names(tokens, at):
                yield text, f"{token.text} -> {text}"
        case Kind.TEXT:
            for text in _texts(tokens, at, is_table=is_table):
                yield f'"{text}"', f'"{token.text}" -> "{text}"'


def _operators(tokens: list[Token], at: int) -> tuple[str, ...]:
    token = tokens[at]
    if token.text == "!":
        return ("",)
    if token.text == "-" and not _ends_a_value(tokens[at - 1]):
        return ("",)
    return _OPERATORS.get(token.text, ())


def _ends_a_value(token: Token) -> bool:
    return token.kind in _VALUE_ENDS or token.text == ")"


def _numbers(text: str) -> Iterator[str]:
    """One more and one less in the last digit."""
    unit = Decimal(1).scaleb(-len(text.partition(".")[2]))
    yield format(Decimal(text) + unit, "f")
    yield format(Decimal(text) - unit, "f")


def _names(tokens: list[Token], at: int) -> tuple[str, ...]:
    word, following = tokens[at].text, tokens[at + 1].text
    if _is_unit(tokens, at):
        kind, _ = UNITS[word]
        return tuple(other for other, (same, _) in UNITS.items() if same == kind and other != word)
    if (word in _CALLS and following != "(") or (word in _SEVERITIES and tokens[at - 1].text != "severity"):
        return ()
    return _SWAPPED.get(word, ())


def _is_unit(tokens: list[Token], at: int) -> bool:
    """toQty(unit, …), declared(unit, …) and the like, Qty(unit), qty(number, unit)"""
    if tokens[at].text not in UNITS:
        return False
    before = [token.text for token in tokens[max(0, at - 5) : at]]
    if before[-2:] in [[word, "("] for word in _UNIT_FIRST]:
        return True
    return before[-1:] == [","] and "qty" in {before[-4], before[-5]} and before[-3] in {"(", "-"}


def _texts(tokens: list[Token], at: int, *, is_table: bool) -> Iterator[str]:
    """Dates, months, the keys of a table, and texts that something is compared with."""
    text = tokens[at].text
    neighbours = {tokens[at - 1].text, tokens[at + 1].text}
    before = [token.text for token in tokens[max(0, at - 2) : at]]
    if before == ["date", "("]:
        for days in (1, -1):
            yield (date.fromisoformat(text) + timedelta(days=days)).isoformat()
    elif before == ["month", "("]:
        for months in (1, -1):
            later = add_months(date.fromisoformat(f"{text}-01"), months)
            assert later is not None
            yield str(month_of(later))
    elif neighbours & {"==", "!="} or (is_table and tokens[at + 1].text == ":"):
        yield f"{text}_"


def _of_condition(tokens: list[Token], at: int, owner: str) -> Mutant:
    """if (c) -> if (!(c));   assert(c, …) -> assert(true || c, …), and so usable"""
    opened = tokens[at + 1]
    if tokens[at].text != "if":
        return Mutant(owner, opened.span, "(true || ", f"{tokens[at].text} -> dropped")
    last = _closing(tokens, at + 1)
    return Mutant(
        owner,
        opened.span.to(tokens[last].span),
        f"(!{_between(tokens, at + 1, last)})",
        "if (c) -> if (!(c))",
    )


def _closing(tokens: list[Token], at: int) -> int:
    depth = 0
    for position in range(at, len(tokens)):
        depth += (
            {"(": 1, ")": -1}.get(tokens[position].text, 0) if tokens[position].kind is Kind.SYMBOL else 0
        )
        if depth == 0:
            return position
    raise AssertionError(tokens[at])


def _between(tokens: list[Token], first: int, last: int) -> str:
    return " ".join(_written(token) for token in tokens[first : last + 1])


def _written(token: Token) -> str:
    if token.kind is not Kind.TEXT:
        return token.text
    escaped = token.text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _of_audiences(tokens: list[Token], field: Field) -> Iterator[Mutant]:
    """One audience more, one less."""
    ends = next(at for at, token in enumerate(tokens) if token.text == "=" and token.kind is Kind.SYMBOL)
    starts = next((at for at, token in enumerate(tokens[:ends]) if token.text == "for"), None)
    span = tokens[starts].span.to(tokens[ends - 1].span) if starts is not None else None
    place = span or Span(tokens[ends].span.start, tokens[ends].span.start)
    for change, text in _one_off(field.audiences):
        yield Mutant(field.path, place, f"{text} ", change)


def _of_statements(tokens: list[Token], field: Field) -> Iterator[Mutant]:
    """The same for whoever may see a statement: those named with it, else those who see the field."""
    for at, token in enumerate(tokens):
        if token.text != "emitCompliance":
            continue
        last = _closing(tokens, at + 1)
        last += 2 if tokens[last + 1].text == "severity" else 0
        place, named = Span(tokens[last].span.end, tokens[last].span.end), field.audiences
        if tokens[last + 1].text == "for":
            names = [each.text for each in takewhile(_names_audiences, tokens[last + 2 :])]
            place = tokens[last + 1].span.to(tokens[last + 1 + len(names)].span)
            named = tuple(name for name in names if name in AUDIENCES)
        for change, text in _one_off(named):
            yield Mutant(field.path, place, f" {text} ", f"{tokens[at + 2].text}: {change}")


def _names_audiences(token: Token) -> bool:
    return token.text == "," or token.text in AUDIENCES


def _one_off(named: Sequence[str]) -> Iterator[tuple[str, str]]:
    for audience in AUDIENCES:
        changed = set(named) ^ {audience}
        if changed:
            yield (
                f"{'without' if audience in named else 'with'} {audience}",
                f"for {', '.join(sorted(changed))}",
            )
