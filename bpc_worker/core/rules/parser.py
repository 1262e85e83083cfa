"""Rule text -> Module: tables, fields and tests."""

from bpc_worker.core.rules import law_syntax, syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.parse_expressions import parse_expression, parse_name
from bpc_worker.core.rules.parse_law import parse_law
from bpc_worker.core.rules.parse_tests import parse_example, parse_property
from bpc_worker.core.rules.parse_types import (
    ROWS,
    doubled,
    parse_audiences,
    parse_key,
    parse_names_of_audiences,
    parse_path,
    parse_type,
)
from bpc_worker.core.rules.source import Limits, too_deep_a_stack, unchecked
from bpc_worker.core.rules.tokens import Kind, tokenize


def parse(source: str, limits: Limits | None = None) -> syntax.Module:
    """What is written in a rule text; RuleError at the first place that is not of the language."""
    try:
        limits = limits or Limits()
        return _module(Cursor(tokenize(source, limits), limits))
    except RecursionError:
        raise too_deep_a_stack() from None


def parse_lambda(text: str, limits: Limits | None = None) -> syntax.Lambda:
    """The lambda of a proof node, from its text alone."""
    try:
        limits = limits or Limits()
        cursor = Cursor(tokenize(f"f({text})", limits), limits)
        call = parse_expression(cursor)
    except RecursionError:
        raise too_deep_a_stack() from None
    if cursor.token.kind is Kind.END and isinstance(call, syntax.Call) and len(call.arguments) == 1:
        [found] = call.arguments
        if isinstance(found, syntax.Lambda):
            return found
    raise unchecked("this is not a lambda", "RULE_PARSE_ERROR")


def _module(cursor: Cursor) -> syntax.Module:
    """module = { declaration | law | table | field | example | property } ;"""
    tables, fields, examples, properties = [], [], [], []
    audiences: tuple[str, ...] | None = None
    law: law_syntax.LawBlock | None = None
    while cursor.token.kind is not Kind.END:
        if cursor.at("field"):
            fields.append(_field(cursor))
        elif cursor.at("table") or cursor.sees("draft", "table"):
            tables.append(_table(cursor))
        elif cursor.at("example"):
            examples.append(parse_example(cursor))
        elif cursor.at("property"):
            properties.append(parse_property(cursor))
        elif cursor.at("audiences"):
            audiences = _declaration(cursor, audiences)
        elif cursor.at("law"):
            if law is not None:
                raise doubled("two laws", cursor.token.span)
            law = parse_law(cursor)
        else:
            hint = "a rule text is a row of these, and each ends with ';'"
            known = "'field', 'table', 'audiences', 'law', 'example' or 'property'"
            raise cursor.unexpected(known, hint=hint)
    return syntax.Module(tuple(tables), tuple(fields), tuple(examples), tuple(properties), audiences, law)


def _declaration(cursor: Cursor, before: tuple[str, ...] | None) -> tuple[str, ...]:
    """declaration = "audiences" audience { "," audience } ";" ;"""
    start = cursor.next()
    if before is not None:
        raise doubled("two declarations of audiences", start.span)
    names = parse_names_of_audiences(cursor)
    cursor.expect(";", hint="after the names comes ';': audiences public, authorities;")
    return names


def _field(cursor: Cursor) -> syntax.Field:
    """field = "field" path ":" type [ "for" audiences ] "=" expression ";" ;"""
    start = cursor.next()
    path, path_span = parse_path(cursor)
    cursor.expect(":", hint="a field has a type: field path: Type = expression;")
    kind = parse_type(cursor)
    audiences = parse_audiences(cursor) if cursor.take("for") else ("public",)
    cursor.expect("=", hint="after the type come = and an expression, or first for and audiences")
    body = parse_expression(cursor)
    cursor.expect(";", hint="a field ends with ';'")
    return syntax.Field(path, kind, audiences, body, path_span, cursor.since(start))


def _table(cursor: Cursor) -> syntax.Table:
    """table = [ "draft" ] "table" NAME ":" type "=" "{" [ row { "," row } [ "," ] ] "}" ";" ;
    row = TEXT ":" expression ;
    """
    start = cursor.token
    draft = cursor.take("draft") is not None
    cursor.next()
    form = 'a table has the type of its rows: table name: Int = {"key": 1};'
    name = parse_name(cursor, "the name of the table", hint=form)
    cursor.expect(":", hint=form)
    kind = parse_type(cursor)
    cursor.expect("=", hint=form)
    cursor.expect("{", hint=form)
    rows: dict[str, syntax.Expression] = {}
    while not cursor.at("}"):
        key = parse_key(cursor, rows)
        cursor.expect(":", hint=ROWS)
        rows[key] = parse_expression(cursor)
        if cursor.take(",") is None:
            break
    cursor.expect("}", hint=ROWS)
    cursor.expect(";", hint="a table ends with ';'")
    return syntax.Table(name.name, kind, tuple(rows.items()), draft, name.span, cursor.since(start))
