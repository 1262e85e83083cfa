"""Tokens -> what a test is given: facts in JSON, and the law date."""

from bpc_worker.core.base.canonical_json import MAX_INTEGER
from bpc_worker.core.rules import syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.parse_expressions import parse_name
from bpc_worker.core.rules.parse_types import ROWS, doubled, integer, parse_date, parse_key, parse_text
from bpc_worker.core.rules.source import RuleError, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.tokens import Kind

_FACT = 'write fact name("Type", "key") = {"years": 8};'


def parse_fixtures(cursor: Cursor) -> syntax.Fixtures:
    """fixtures = "{" { ( fact | given | "lawDate" "(" TEXT ")" ) ";" } "}" ;"""
    cursor.expect("{", hint="the facts stand in braces, { } if there are none")
    facts: list[syntax.FactFixture] = []
    law_dates = []
    while cursor.take("}") is None:
        start = cursor.token
        if cursor.take("lawDate"):
            law_dates.append(parse_date(cursor))
        else:
            facts.append(_given(cursor) if cursor.at("given") else _fact(cursor))
        if len(law_dates) > 1:
            message, hint = "two law dates", "remove one of them"
            raise RuleError("RULE_PARSE_ERROR", message, cursor.since(start), hint=hint)
        cursor.expect(";", hint="a fixture ends with ';'")
    _check_facts(facts)
    return syntax.Fixtures(tuple(facts), law_dates[0] if law_dates else None)


def _given(cursor: Cursor) -> syntax.FactFixture:
    """given = "given" TEXT "=" json ;

    Short for the fact "Value" of this name that holds this value.
    """
    start = cursor.next()
    form = 'write given "composition.mass_kg" = "400.5";'
    name = parse_text(cursor, "the name of a value in quotes", hint=form)
    cursor.expect("=", hint=form)
    return syntax.FactFixture(name, "Value", name, {"value": _json(cursor)}, cursor.since(start))


def _fact(cursor: Cursor) -> syntax.FactFixture:
    """fact = "fact" NAME "(" TEXT "," TEXT ")" "=" object ;"""
    start = cursor.token
    if cursor.take("fact") is None:
        raise cursor.unexpected("'fact', 'given', 'lawDate' or '}'", hint=_FACT)
    name = parse_name(cursor, "a name for the fact", hint=_FACT)
    cursor.expect("(", hint=_FACT)
    fact_type = parse_text(cursor, "the fact's type in quotes", hint=_FACT)
    cursor.expect(",", hint=_FACT)
    fact_key = parse_text(cursor, "the fact's key in quotes", hint=_FACT)
    cursor.expect(")", hint=_FACT)
    cursor.expect("=", hint=_FACT)
    if not cursor.at("{"):
        raise cursor.unexpected("a JSON object", hint=_FACT)
    return syntax.FactFixture(name.name, fact_type, fact_key, _object(cursor), cursor.since(start))


def _check_facts(facts: list[syntax.FactFixture]) -> None:
    seen: set[tuple[str, str]] = set()
    for fact in facts:
        if (fact.fact_type, fact.fact_key) in seen:
            message = f"two facts {quoted(fact.fact_type)} {quoted(fact.fact_key)}"
            raise doubled(message, fact.span)
        seen.add((fact.fact_type, fact.fact_key))


def check_variables(fixtures: syntax.Fixtures, known: tuple[str, ...]) -> None:
    """Every name in the facts is a generated value's."""
    waiting: list[syntax.Json] = [fact.payload for fact in reversed(fixtures.facts)]
    while waiting:
        match waiting.pop():
            case syntax.Variable(name, span) if name not in known:
                hint = did_you_mean(name, known, 'texts stand in quotes; "forall" generates values')
                raise RuleError("RULE_TYPE_ERROR", f"unknown name {quoted(name)}", span, hint=hint)
            case tuple(items):
                waiting += reversed(items)
            case dict(members):
                waiting += reversed(members.values())
            case _:
                pass


def _json(cursor: Cursor) -> syntax.Json:
    """json = object | array | TEXT | [ "-" ] INTEGER | "true" | "false" | "null" | NAME ;"""
    with cursor.deeper():
        token = cursor.token
        if cursor.at("{"):
            return _object(cursor)
        if cursor.at("["):
            return _array(cursor)
        if cursor.at("-") or token.kind in {Kind.INTEGER, Kind.DECIMAL}:
            return _whole(cursor)
        if token.kind is Kind.TEXT:
            return cursor.next().text
        if cursor.at("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[cursor.next().text]
        hint = 'JSON is written "text", 8, true, null, [1, 2] or {"key": 1}'
        name = parse_name(cursor, "a JSON value, or the name of a generated one", hint=hint)
        return syntax.Variable(name.name, name.span)


def _object(cursor: Cursor) -> dict[str, syntax.Json]:
    """object = "{" [ TEXT ":" json { "," TEXT ":" json } [ "," ] ] "}" ;"""
    cursor.next()
    found: dict[str, syntax.Json] = {}
    while not cursor.at("}"):
        key = parse_key(cursor, found)
        cursor.expect(":", hint=ROWS)
        found[key] = _json(cursor)
        if cursor.take(",") is None:
            break
    cursor.expect("}", hint=ROWS)
    return found


def _array(cursor: Cursor) -> tuple[syntax.Json, ...]:
    """array = "[" [ json { "," json } [ "," ] ] "]" ;"""
    cursor.next()
    items: list[syntax.Json] = []
    while not cursor.at("]"):
        items.append(_json(cursor))
        if cursor.take(",") is None:
            break
    cursor.expect("]", hint="write [1, 2, 3]")
    return tuple(items)


def _whole(cursor: Cursor) -> int:
    start = cursor.token
    sign = -1 if cursor.take("-") else 1
    if cursor.token.kind is Kind.DECIMAL:
        hint = f'facts keep decimals as text: "{cursor.token.text[:40]}"'
        raise RuleError("RULE_PARSE_ERROR", "a fraction in a fact", cursor.token.span, hint=hint)
    number = sign * integer(
        cursor.expect_kind(Kind.INTEGER, "a number", hint="write a whole number in digits: -8")
    )
    if abs(number) > MAX_INTEGER:
        hint = "facts keep numbers beyond 2^53-1 as text"
        raise RuleError("RULE_PARSE_ERROR", "too large a number in a fact", cursor.since(start), hint=hint)
    return number
