"""Tokens -> the tests of a rule module: examples and properties."""

from datetime import date

from bpc_worker.core.rules import syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.parse_expressions import parse_expression, parse_name
from bpc_worker.core.rules.parse_types import parse_date, parse_path, parse_text, parse_type
from bpc_worker.core.rules.source import RuleError, limit_exceeded
from bpc_worker.core.rules.tokens import Kind

EMPTY_KINDS = ("withheld", "notApplicable", "missing")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_LARGEST_SEED = 2**53 - 1


def parse_example(cursor: Cursor) -> syntax.Example:
    """example = "example" NAME ":" fixtures "=>" expectation { "," expectation } ";" ;"""
    start = cursor.expect("example")
    name = parse_name(cursor, "the name of the example")
    cursor.expect(":")
    fixtures = _fixtures(cursor)
    cursor.expect("=>")
    expectations = [_expectation(cursor)]
    while cursor.take(","):
        expectations.append(_expectation(cursor))
    cursor.expect(";", hint="an example ends with ';'")
    return syntax.Example(name.name, fixtures, tuple(expectations), cursor.since(start))


def parse_property(cursor: Cursor) -> syntax.Property:
    """property = "property" NAME ":" "cases" "(" INTEGER ")" "seed" "(" INTEGER ")" fixtures
    "forall" generator { "," generator } "=>" expression ";" ;
    """
    start = cursor.expect("property")
    name = parse_name(cursor, "the name of the property")
    cursor.expect(":")
    cases = _counted(cursor, "cases", cursor.limits.cases)
    seed = _counted(cursor, "seed", _LARGEST_SEED)
    fixtures = _fixtures(cursor)
    cursor.expect("forall")
    generators = [_generator(cursor)]
    while cursor.take(","):
        generators.append(_generator(cursor))
    cursor.expect("=>")
    claim = parse_expression(cursor)
    cursor.expect(";", hint="a property ends with ';'")
    return syntax.Property(name.name, cases, seed, fixtures, tuple(generators), claim, cursor.since(start))


def _counted(cursor: Cursor, word: str, largest: int) -> int:
    """cases = "cases" "(" INTEGER ")" ;   seed = "seed" "(" INTEGER ")" ;"""
    cursor.expect(word)
    cursor.expect("(")
    token = cursor.expect_kind(Kind.INTEGER, "a number")
    cursor.expect(")")
    if int(token.text) > largest:
        raise limit_exceeded(f"{word}({token.text})", largest, token.span)
    return int(token.text)


def _fixtures(cursor: Cursor) -> syntax.Fixtures:
    """fixtures = "{" { factFixture | "lawDate" "(" TEXT ")" ";" } "}" ;
    factFixture = "fact" NAME "(" TEXT "," TEXT ")" "=" json ";" ;
    """
    cursor.expect("{")
    facts: list[syntax.FactFixture] = []
    law_date: date | None = None
    while cursor.take("}") is None:
        start = cursor.token
        if cursor.take("lawDate"):
            law_date = parse_date(cursor)
        else:
            cursor.expect("fact")
            name = parse_name(cursor, "a name for the fact")
            cursor.expect("(")
            fact_type = parse_text(cursor, "the fact's type in quotes")
            cursor.expect(",")
            fact_key = parse_text(cursor, "the fact's key in quotes")
            cursor.expect(")")
            cursor.expect("=")
            payload = _json(cursor)
            if not isinstance(payload, dict):
                raise RuleError("RULE_PARSE_ERROR", "a fact is a JSON object", cursor.since(start))
            facts.append(syntax.FactFixture(name.name, fact_type, fact_key, payload, cursor.since(start)))
        cursor.expect(";", hint="a fixture ends with ';'")
    return syntax.Fixtures(tuple(facts), law_date)


def _json(cursor: Cursor) -> syntax.Json:
    """json = "{" [ TEXT ":" json { "," TEXT ":" json } ] "}" | "[" [ json { "," json } ] "]"
    | TEXT | [ "-" ] INTEGER | "true" | "false" | "null" | NAME ;
    """
    with cursor.deeper():
        token = cursor.token
        if cursor.take("{"):
            return _json_object(cursor)
        if cursor.take("["):
            items: list[syntax.Json] = []
            while not cursor.at("]"):
                items.append(_json(cursor))
                if cursor.take(",") is None:
                    break
            cursor.expect("]")
            return tuple(items)
        if token.kind is Kind.TEXT:
            return cursor.next().text
        if token.kind is Kind.INTEGER or cursor.at("-"):
            sign = -1 if cursor.take("-") else 1
            return sign * int(cursor.expect_kind(Kind.INTEGER, "a number").text)
        if token.kind is Kind.DECIMAL:
            hint = f'facts keep decimals as text: "{token.text}"'
            raise RuleError("RULE_PARSE_ERROR", "a fraction in a fact", token.span, hint=hint)
        if cursor.at("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[cursor.next().text]
        name = parse_name(cursor, "a JSON value, or the name of a generated one")
        return syntax.Variable(name.name, name.span)


def _json_object(cursor: Cursor) -> dict[str, syntax.Json]:
    found: dict[str, syntax.Json] = {}
    while not cursor.at("}"):
        key = parse_text(cursor, "a key in quotes")
        if key in found:
            raise RuleError("RULE_PARSE_ERROR", f"two values for '{key}'", cursor.previous.span)
        cursor.expect(":")
        found[key] = _json(cursor)
        if cursor.take(",") is None:
            break
    cursor.expect("}")
    return found


def _expectation(cursor: Cursor) -> syntax.Expectation:
    """expectation = "expect" "(" path "," comparison sum ")" | "expectEmpty" "(" path "," emptyKind ")"
    | "expectError" "(" TEXT ")" | "expectCompliance" "(" TEXT "," ( "true" | "false" ) ")" ;
    """
    start = cursor.expect_kind(Kind.NAME, "an expectation")
    cursor.expect("(")
    found: syntax.Expectation
    match start.text:
        case "expect":
            path, _ = parse_path(cursor)
            cursor.expect(",")
            if not cursor.at(*_COMPARISONS):
                raise cursor.unexpected("a comparison such as ==")
            operator = cursor.next().text
            found = syntax.ExpectValue(path, operator, parse_expression(cursor), cursor.since(start))
        case "expectEmpty":
            path, _ = parse_path(cursor)
            cursor.expect(",")
            if not cursor.at(*EMPTY_KINDS):
                raise cursor.unexpected(" or ".join(EMPTY_KINDS))
            found = syntax.ExpectEmpty(path, cursor.next().text, cursor.since(start))
        case "expectError":
            found = syntax.ExpectError(parse_text(cursor, "a code in quotes"), cursor.since(start))
        case "expectCompliance":
            code = parse_text(cursor, "a code in quotes")
            cursor.expect(",")
            if not cursor.at("true", "false"):
                raise cursor.unexpected("true or false")
            found = syntax.ExpectCompliance(code, cursor.next().text == "true", cursor.since(start))
        case other:
            hint = "known are expect, expectEmpty, expectError, expectCompliance"
            raise RuleError("RULE_PARSE_ERROR", f"unknown expectation '{other}'", start.span, hint=hint)
    cursor.expect(")")
    return found


def _generator(cursor: Cursor) -> syntax.Generator:
    """generator = NAME ":" type "in" ( "[" sum "," sum "]" | "{" sum { "," sum } "}" ) ;"""
    name = parse_name(cursor, "the name of a generated value")
    start = cursor.previous
    cursor.expect(":")
    kind = parse_type(cursor)
    cursor.expect("in")
    is_range = cursor.take("[") is not None
    if not is_range:
        cursor.expect("{", hint="a range [low, high] or a choice {a, b}")
    choices = [parse_expression(cursor)]
    while cursor.take(","):
        choices.append(parse_expression(cursor))
    cursor.expect("]" if is_range else "}")
    span = cursor.since(start)
    if is_range and len(choices) != 2:  # noqa: PLR2004 - low and high
        raise RuleError("RULE_PARSE_ERROR", "a range has two ends", span, hint="write [low, high]")
    return syntax.Generator(name.name, kind, tuple(choices), is_range, span)
