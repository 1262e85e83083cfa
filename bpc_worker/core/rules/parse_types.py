"""Tokens -> types, paths and literals: the leaves of the grammar."""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal

from bpc_worker.core.base.audience import AUDIENCES, NOBODY
from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules import types
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.source import RuleError, Span, limit_exceeded, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.tokens import Kind, Token

KEYWORDS = frozenset({
    "field", "table", "example", "property", "let", "if", "then", "else", "assert", "cite", "true", "false",
    "none", "date", "qty", "record", "for", "forall", "in",
})  # fmt: skip
ROWS = 'write {"key": value, "other": value}'
_SIMPLE = {
    "Bool": types.BOOL, "Int": types.INT, "Text": types.TEXT, "Date": types.DATE, "Month": types.MONTH,
    "Moment": types.MOMENT, "Texts": types.TEXTS,
}  # fmt: skip


def parse_type(cursor: Cursor) -> types.Type:
    """type = "Bool" | "Int" | "Text" | "Date" | "Month" | "Moment" | "Texts"
    | "Dec" "(" scale ")" | "Qty" "(" unit ")" | "Opt" "(" type ")" | "List" "(" type ")"
    | "Map" "(" "Text" "," type ")" | recordType ;
    """
    with cursor.deeper():
        known = f"known are {', '.join([*_SIMPLE, *_COMPOSED])}"
        name = cursor.expect_kind(Kind.NAME, "a type", hint=known)
        if name.text in _SIMPLE:
            return _SIMPLE[name.text]
        reader = _COMPOSED.get(name.text)
        if reader is None:
            hint = did_you_mean(name.text, [*_SIMPLE, *_COMPOSED], known)
            raise RuleError("RULE_PARSE_ERROR", f"unknown type {quoted(name.text)}", name.span, hint=hint)
        cursor.expect("(", hint=_FORMS)
        found = reader(cursor)
        cursor.expect(")", hint=_FORMS)
        return found


_FORMS = "types are written Dec(2), Qty(kWh), Opt(Int), List(Int), Map(Text, Int), Record(name: Int)"


def _dec(cursor: Cursor) -> types.Type:
    return types.DecType(parse_scale(cursor))


def parse_scale(cursor: Cursor) -> int:
    """scale = INTEGER ;"""
    token = cursor.expect_kind(Kind.INTEGER, "a scale (how many digits after the point)", hint=_FORMS)
    return checked_scale(integer(token), cursor.limits.scale, token.span)


def checked_scale(scale: int, highest: int, span: Span) -> int:
    if scale > highest:
        hint = "round(half_even, scale, …) shortens a number"
        raise limit_exceeded("too many digits after the point", highest, span, hint=hint)
    return scale


def integer(token: Token) -> int:
    return int(Decimal(token.text))  # int() alone has a limit of its own, which the environment sets


def _qty(cursor: Cursor) -> types.Type:
    return types.QtyType(parse_unit(cursor))


def parse_unit(cursor: Cursor) -> str:
    """unit = NAME ;"""
    known = f"known are {' '.join(UNITS)}"
    token = cursor.expect_kind(Kind.NAME, "a unit", hint=known)
    if token.text not in UNITS:
        hint = did_you_mean(token.text, UNITS, known)
        raise RuleError("RULE_TYPE_ERROR", f"unknown unit {quoted(token.text)}", token.span, hint=hint)
    return token.text


def _opt(cursor: Cursor) -> types.Type:
    start = cursor.token
    inner = parse_type(cursor)
    if isinstance(inner, types.OptType):
        raise RuleError("RULE_TYPE_ERROR", "an Opt of an Opt", cursor.since(start), hint="one Opt is enough")
    return types.OptType(inner)


def _list(cursor: Cursor) -> types.Type:
    return types.ListType(parse_type(cursor))


def _map(cursor: Cursor) -> types.Type:
    cursor.expect("Text", hint="the keys of a Map are Text")
    cursor.expect(",", hint=_FORMS)
    return types.MapType(parse_type(cursor))


def _record(cursor: Cursor) -> types.Type:
    """recordType = "Record" "(" [ member { "," member } [ "," ] ] ")" ;
    member = NAME ":" type ;
    """
    start = cursor.token
    members: dict[str, types.Type] = {}
    while not cursor.at(")"):
        name = cursor.expect_kind(Kind.NAME, "the name of a record's member", hint=_FORMS)
        if name.text in members:
            raise doubled(f"two members {quoted(name.text)}", name.span, "RULE_TYPE_ERROR")
        cursor.expect(":", hint=_FORMS)
        members[name.text] = parse_type(cursor)
        if cursor.take(",") is None:
            break
    found = types.record(members)
    if types.is_too_large(found, cursor.limits):
        what, hint = "a record of too many members", "make several fields of it"
        raise limit_exceeded(what, types.MAX_PARTS, cursor.since(start), hint=hint)
    return found


def doubled(message: str, span: Span, code: str = "RULE_PARSE_ERROR") -> RuleError:
    return RuleError(code, message, span, hint="rename one of them, or remove it")


_COMPOSED: Mapping[str, Callable[[Cursor], types.Type]] = {
    "Dec": _dec, "Qty": _qty, "Opt": _opt, "List": _list, "Map": _map, "Record": _record,
}  # fmt: skip


def parse_path(cursor: Cursor) -> tuple[str, Span]:
    """path = NAME { "." NAME } ;"""
    start = cursor.token
    form = "a path is made of names: energy.total"
    parts = [cursor.expect_kind(Kind.NAME, "the path of a field", hint=form).text]
    while cursor.take("."):
        parts.append(cursor.expect_kind(Kind.NAME, "a name after '.'", hint=form).text)
    if len(parts) > cursor.limits.nesting:
        what, hint = f"a path of {len(parts)} names", "write a shorter one"
        raise limit_exceeded(what, cursor.limits.nesting, cursor.since(start), hint=hint)
    return ".".join(parts), cursor.since(start)


def parse_audiences(cursor: Cursor) -> tuple[str, ...]:
    """audiences = "nobody" | names ;"""
    return () if cursor.take(NOBODY) else parse_names_of_audiences(cursor)


def parse_names_of_audiences(cursor: Cursor) -> tuple[str, ...]:
    """names = audience { "," audience } ;

    A set, so sorted and each once.
    """
    found = {_audience(cursor)}
    while cursor.take(","):
        found.add(_audience(cursor))
    return tuple(sorted(found))


def _audience(cursor: Cursor) -> str:
    """audience = "public" | "legitimate_interest" | "authorities" | "commission" ;"""
    known = f"known are {', '.join(AUDIENCES)}"
    token = cursor.expect_kind(Kind.NAME, "an audience", hint=known)
    if token.text not in AUDIENCES:
        hint = did_you_mean(token.text, AUDIENCES, known)
        raise RuleError("RULE_PARSE_ERROR", f"unknown audience {quoted(token.text)}", token.span, hint=hint)
    return token.text


def parse_text(cursor: Cursor, what: str, *, hint: str) -> str:
    return cursor.expect_kind(Kind.TEXT, what, hint=hint).text


def parse_key(cursor: Cursor, seen: Mapping[str, object]) -> str:
    """A key of a table or of a JSON object: one that canonical JSON can hold, and not there yet."""
    key = parse_text(cursor, "a key in quotes", hint=ROWS)
    token = cursor.previous
    if key in seen:
        raise doubled(f"two values for {quoted(key)}", token.span)
    if key and max(key) > "\uffff":
        message, hint = "a key with a character above U+FFFF", "write it in the value, and another key"
        raise RuleError("RULE_PARSE_ERROR", message, token.span, hint=hint)
    return key


def parse_date(cursor: Cursor) -> date:
    form = f'write {cursor.previous.text}("2027-02-18")'
    cursor.expect("(", hint=form)
    token = cursor.expect_kind(Kind.TEXT, "a date in quotes", hint=form)
    cursor.expect(")", hint=form)
    found = iso_date(token.text)
    if found is None:
        message, hint = f"{quoted(token.text)} is not a date", 'write it as "2027-02-18"'
        raise RuleError("RULE_PARSE_ERROR", message, token.span, hint=hint)
    return found


def iso_date(text: str) -> date | None:
    """YYYY-MM-DD and no other form."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if found.isoformat() == text else None


def parse_number(cursor: Cursor) -> Decimal:
    """number = [ "-" ] ( INTEGER | DECIMAL ) ;"""
    sign = "-" if cursor.take("-") else ""
    if cursor.token.kind not in {Kind.INTEGER, Kind.DECIMAL}:
        raise cursor.unexpected("a number", hint="write it in digits: 75, 1.5 or -0.25")
    token = cursor.next()
    return Decimal(sign + decimal_text(cursor, token))


def decimal_text(cursor: Cursor, token: Token) -> str:
    """The digits of a number, if not too many stand behind the point."""
    checked_scale(len(token.text.partition(".")[2]), cursor.limits.scale, token.span)
    return token.text
