"""Tokens -> the tests of a rule module: examples and properties."""

from collections.abc import Callable, Mapping

from bpc_worker.core.base.canonical_json import MAX_INTEGER
from bpc_worker.core.rules import syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.parse_expressions import parse_expression, parse_name
from bpc_worker.core.rules.parse_fixtures import check_variables, parse_fixtures
from bpc_worker.core.rules.parse_literals import parse_severity
from bpc_worker.core.rules.parse_types import (
    doubled,
    integer,
    parse_audiences,
    parse_path,
    parse_text,
    parse_type,
)
from bpc_worker.core.rules.source import RuleError, limit_exceeded, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.tokens import Kind

EMPTY_KINDS = ("withheld", "notApplicable", "missing", "notYet")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_EXAMPLE = "write example name: { facts } => expect(path, == value);"
_PROPERTY = "write property name: cases(500) seed(1) { facts } forall x: Int in [1, 9] => condition;"


def parse_example(cursor: Cursor) -> syntax.Example:
    """example = "example" NAME ":" fixtures "=>" expectation { "," expectation } ";" ;"""
    start = cursor.next()
    name = parse_name(cursor, "the name of the example", hint=_EXAMPLE)
    cursor.expect(":", hint=_EXAMPLE)
    fixtures = parse_fixtures(cursor)
    cursor.expect("=>", hint=_EXAMPLE)
    expectations = [_expectation(cursor)]
    while cursor.take(","):
        expectations.append(_expectation(cursor))
    cursor.expect(";", hint="an example ends with ';'")
    check_variables(fixtures, ())
    return syntax.Example(name.name, fixtures, tuple(expectations), cursor.since(start))


def parse_property(cursor: Cursor) -> syntax.Property:
    """property = "property" NAME ":" cases seed fixtures "forall" generator { "," generator }
    "=>" expression ";" ;
    cases = "cases" "(" INTEGER ")" ;
    seed = "seed" "(" INTEGER ")" ;
    """
    start = cursor.next()
    name = parse_name(cursor, "the name of the property", hint=_PROPERTY)
    cursor.expect(":", hint=_PROPERTY)
    cases = _counted(cursor, "cases", cursor.limits.cases)
    seed = _counted(cursor, "seed", MAX_INTEGER)
    fixtures = parse_fixtures(cursor)
    cursor.expect("forall", hint=_PROPERTY)
    generators: dict[str, syntax.Generator] = {}
    while not generators or cursor.take(","):
        generator = _generator(cursor, generators)
        generators[generator.name] = generator
    cursor.expect("=>", hint=_PROPERTY)
    claim = parse_expression(cursor)
    cursor.expect(";", hint="a property ends with ';'")
    check_variables(fixtures, tuple(generators))
    return syntax.Property(
        name.name, cases, seed, fixtures, tuple(generators.values()), claim, cursor.since(start)
    )


def _counted(cursor: Cursor, word: str, largest: int) -> int:
    cursor.expect(word, hint=_PROPERTY)
    cursor.expect("(", hint=_PROPERTY)
    token = cursor.expect_kind(Kind.INTEGER, "a number", hint=_PROPERTY)
    cursor.expect(")", hint=_PROPERTY)
    number = integer(token)
    if number > largest:
        what, hint = f"{word}({quoted(token.text)[1:-1]})", "write a smaller number"
        raise limit_exceeded(what, largest, token.span, hint=hint)
    if word == "cases" and number == 0:
        hint = "write cases(1) or more"
        raise RuleError("RULE_PARSE_ERROR", "a property of no cases", token.span, hint=hint)
    return number


def _expectation(cursor: Cursor) -> syntax.Expectation:
    """expectation = expectValue | expectEmpty | expectAudiences | expectError | expectCompliance ;"""
    known = f"known are {', '.join(_EXPECTATIONS)}"
    start = cursor.expect_kind(Kind.NAME, "an expectation", hint=known)
    if start.text not in _EXPECTATIONS:
        hint = did_you_mean(start.text, _EXPECTATIONS, known)
        raise RuleError(
            "RULE_PARSE_ERROR", f"unknown expectation {quoted(start.text)}", start.span, hint=hint
        )
    form, read = _EXPECTATIONS[start.text]
    cursor.expect("(", hint=form)
    found = read(cursor, form)
    cursor.expect(")", hint=form)
    return found


def _expect_value(cursor: Cursor, form: str) -> syntax.Expectation:
    """expectValue = "expect" "(" path "," ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) expression ")" ;"""
    path, path_span = parse_path(cursor)
    cursor.expect(",", hint=form)
    operator = cursor.take(*_COMPARISONS)
    if operator is None:
        raise cursor.unexpected("a comparison", hint=form)
    value = parse_expression(cursor)
    return syntax.ExpectValue(path, operator.text, value, path_span, cursor.since(operator))


def _expect_empty(cursor: Cursor, form: str) -> syntax.Expectation:
    """expectEmpty = "expectEmpty" "(" path "," emptyKind [ "," TEXT ] ")" ;
    emptyKind = "withheld" | "notApplicable" | "missing" | "notYet" ;
    """
    path, path_span = parse_path(cursor)
    cursor.expect(",", hint=form)
    kind = cursor.take(*EMPTY_KINDS)
    if kind is None:
        raise cursor.unexpected(", ".join(EMPTY_KINDS[:-1]) + f" or {EMPTY_KINDS[-1]}", hint=form)
    reason = parse_text(cursor, "the reason in quotes", hint=form) if cursor.take(",") else None
    return syntax.ExpectEmpty(path, kind.text, path_span, reason)


def _expect_audiences(cursor: Cursor, form: str) -> syntax.Expectation:
    """expectAudiences = "expectAudiences" "(" path "," audiences ")" ;"""
    path, path_span = parse_path(cursor)
    cursor.expect(",", hint=form)
    return syntax.ExpectAudiences(path, parse_audiences(cursor), path_span)


def _expect_error(cursor: Cursor, form: str) -> syntax.Expectation:
    """expectError = "expectError" "(" TEXT ")" ;"""
    return syntax.ExpectError(parse_text(cursor, "a code in quotes", hint=form))


def _expect_compliance(cursor: Cursor, form: str) -> syntax.Expectation:
    """expectCompliance = "expectCompliance" "(" TEXT "," ( "true" | "false" ) [ "," severity ] ")" ;"""
    code = parse_text(cursor, "a code in quotes", hint=form)
    cursor.expect(",", hint=form)
    holds = cursor.take("true", "false")
    if holds is None:
        raise cursor.unexpected("true or false", hint=form)
    severity = parse_severity(cursor) if cursor.take(",") else None
    return syntax.ExpectCompliance(code, holds.text == "true", severity)


_EXPECTATIONS: Mapping[str, tuple[str, Callable[[Cursor, str], syntax.Expectation]]] = {
    "expect": ("write expect(path, == value)", _expect_value),
    "expectEmpty": ("write expectEmpty(path, missing)", _expect_empty),
    "expectAudiences": ("write expectAudiences(path, public, authorities)", _expect_audiences),
    "expectError": ('write expectError("CODE")', _expect_error),
    "expectCompliance": ('write expectCompliance("CODE", true)', _expect_compliance),
}


def _generator(cursor: Cursor, seen: Mapping[str, object]) -> syntax.Generator:
    """generator = NAME ":" type "in" ( range | choice ) ;
    range = "[" expression "," expression "]" ;
    choice = "{" expression { "," expression } [ "," ] "}" ;
    """
    start = cursor.token
    form = 'write forall x: Int in [1, 9], y: Text in {"a", "b"}'
    name = parse_name(cursor, "the name of a generated value", hint=form)
    if name.name in seen:
        raise doubled(f"two generated values {quoted(name.name)}", name.span)
    cursor.expect(":", hint=form)
    kind = parse_type(cursor)
    cursor.expect("in", hint=form)
    is_range = cursor.at("[")
    choices = _range(cursor) if is_range else _choice(cursor)
    return syntax.Generator(name.name, kind, choices, is_range, cursor.since(start))


def _range(cursor: Cursor) -> tuple[syntax.Expression, ...]:
    form = "a range has two ends: [low, high]"
    cursor.next()
    low = parse_expression(cursor)
    cursor.expect(",", hint=form)
    high = parse_expression(cursor)
    cursor.expect("]", hint=form)
    return low, high


def _choice(cursor: Cursor) -> tuple[syntax.Expression, ...]:
    form = "a range [low, high] or a choice {a, b}"
    cursor.expect("{", hint=form)
    choices = [parse_expression(cursor)]
    while cursor.take(",") and not cursor.at("}"):
        choices.append(parse_expression(cursor))
    cursor.expect("}", hint=form)
    return tuple(choices)
