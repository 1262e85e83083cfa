"""Tokens -> types, paths and literals: the leaves of the grammar."""

from datetime import date
from decimal import Decimal

from bpc_worker.core.rules import types
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.source import RuleError, Span, limit_exceeded
from bpc_worker.core.rules.tokens import Kind
from bpc_worker.core.units import UNITS, nearest_unit

KEYWORDS = frozenset(
    [
        "field",
        "table",
        "example",
        "property",
        "let",
        "if",
        "then",
        "else",
        "assert",
        "cite",
        "true",
        "false",
        "none",
        "date",
        "qty",
        "fact",
        "for",
        "forall",
        "in",
    ]  # fmt: skip
)
_SIMPLE = {"Bool": types.BOOL, "Int": types.INT, "Text": types.TEXT, "Date": types.DATE}


def parse_type(cursor: Cursor) -> types.Type:
    """type = "Bool" | "Int" | "Text" | "Date" | "Dec" "(" INTEGER ")" | "Qty" "(" unit ")" | "Opt" "(" type ")"
    | "List" "(" type ")" | "Map" "(" "Text" "," type ")" | "Record" "(" [ NAME ":" type { "," NAME ":" type } ] ")" ;
    """
    with cursor.deeper():
        name = cursor.expect_kind(Kind.NAME, "a type")
        if name.text in _SIMPLE:
            return _SIMPLE[name.text]
        readers = {
            "Dec": _dec, "Qty": _qty, "Opt": _opt, "List": _list, "Map": _map, "Record": _record,
        }  # fmt: skip
        if name.text not in readers:
            known = ", ".join([*_SIMPLE, *readers])
            raise RuleError(
                "RULE_PARSE_ERROR", f"unknown type '{name.text}'", name.span, hint=f"known are {known}"
            )
        cursor.expect("(")
        found = readers[name.text](cursor)
        cursor.expect(")")
        return found


def _dec(cursor: Cursor) -> types.Type:
    return types.DecType(parse_scale(cursor))


def parse_scale(cursor: Cursor) -> int:
    """scale = INTEGER ;"""
    token = cursor.expect_kind(Kind.INTEGER, "a scale (how many digits after the point)")
    scale = int(token.text)
    if scale > cursor.limits.scale:
        raise limit_exceeded(f"a scale of {token.text}", cursor.limits.scale, token.span)
    return scale


def _qty(cursor: Cursor) -> types.Type:
    return types.QtyType(parse_unit(cursor))


def parse_unit(cursor: Cursor) -> str:
    """unit = NAME ;"""
    token = cursor.expect_kind(Kind.NAME, "a unit")
    if token.text not in UNITS:
        near = nearest_unit(token.text)
        hint = f"did you mean {near}?" if near else f"known are {' '.join(UNITS)}"
        raise RuleError("RULE_TYPE_ERROR", f"unknown unit '{token.text}'", token.span, hint=hint)
    return token.text


def _opt(cursor: Cursor) -> types.Type:
    start = cursor.token
    inner = parse_type(cursor)
    if isinstance(inner, types.OptType):
        raise RuleError("RULE_TYPE_ERROR", "an Opt of an Opt", start.span, hint="one Opt is enough")
    return types.OptType(inner)


def _list(cursor: Cursor) -> types.Type:
    return types.ListType(parse_type(cursor))


def _map(cursor: Cursor) -> types.Type:
    cursor.expect("Text", hint="the keys of a Map are Text")
    cursor.expect(",")
    return types.MapType(parse_type(cursor))


def _record(cursor: Cursor) -> types.Type:
    fields: dict[str, types.Type] = {}
    while not cursor.at(")"):
        name = cursor.expect_kind(Kind.NAME, "the name of a record's field")
        cursor.expect(":")
        if name.text in fields:
            raise RuleError("RULE_TYPE_ERROR", f"the record has two fields '{name.text}'", name.span)
        fields[name.text] = parse_type(cursor)
        if cursor.take(",") is None:
            break
    return types.RecordType(tuple(sorted(fields.items())))


def parse_path(cursor: Cursor) -> tuple[str, Span]:
    """path = NAME { "." NAME } ;"""
    start = cursor.token
    parts = [cursor.expect_kind(Kind.NAME, "the path of a field").text]
    while cursor.take("."):
        parts.append(cursor.expect_kind(Kind.NAME, "a name after '.'").text)
    return ".".join(parts), cursor.since(start)


def parse_text(cursor: Cursor, what: str) -> str:
    """TEXT"""
    return cursor.expect_kind(Kind.TEXT, what).text


def parse_date(cursor: Cursor) -> date:
    """ "(" TEXT ")" with an ISO date"""
    cursor.expect("(")
    token = cursor.expect_kind(Kind.TEXT, 'a date such as "2027-02-18"')
    cursor.expect(")")
    found = iso_date(token.text)
    if found is None:
        raise RuleError(
            "RULE_PARSE_ERROR", f"'{token.text}' is not a date", token.span, hint='write it as "2027-02-18"'
        )
    return found


def iso_date(text: str) -> date | None:
    """YYYY-MM-DD and no other form."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if found.isoformat() == text else None


def parse_number(cursor: Cursor) -> int | Decimal:
    """number = [ "-" ] ( INTEGER | DECIMAL ) ;"""
    sign = "-" if cursor.take("-") else ""
    token = cursor.next()
    if token.kind is Kind.INTEGER:
        return int(sign + token.text)
    if token.kind is Kind.DECIMAL:
        check_scale(cursor, token.text, token.span)
        return Decimal(sign + token.text)
    raise RuleError("RULE_PARSE_ERROR", "expected a number", token.span)


def check_scale(cursor: Cursor, text: str, span: Span) -> None:
    scale = len(text.partition(".")[2])
    if scale > cursor.limits.scale:
        raise limit_exceeded(f"{scale} digits after the point", cursor.limits.scale, span)
