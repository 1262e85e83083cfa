"""Tokens -> the tests of a rule module: examples and properties."""

from collections.abc import Callable, Mapping

from bpc_worker.core.canonical_json import MAX_INTEGER
from bpc_worker.core.rules import syntax
from bpc_worker.core.rules.cursor import Cursor
from bpc_worker.core.rules.parse_expressions import parse_expression, parse_name
from bpc_worker.core.rules.parse_types import (
    integer,
    parse_audiences,
    parse_date,
    parse_key,
    parse_path,
    parse_text,
    parse_type,
)
from bpc_worker.core.rules.source import RuleError, limit_exceeded, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.tokens import Kind

EMPTY_KINDS = ("withheld", "notApplicable", "missing")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


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
    _check_variables(fixtures, ())
    return syntax.Example(name.name, fixtures, tuple(expectations), cursor.since(start))


def parse_property(cursor: Cursor) -> syntax.Property:
    """property = "property" NAME ":" cases seed fixtures "forall" generator { "," generator }
    "=>" expression ";" ;
    cases = "cases" "(" INTEGER ")" ;
    seed = "seed" "(" INTEGER ")" ;
    """
    start = cursor.expect("property")
    name = parse_name(cursor, "the name of the property")
    cursor.expect(":")
    cases = _counted(cursor, "cases", cursor.limits.cases)
    seed = _counted(cursor, "seed", MAX_INTEGER)
    fixtures = _fixtures(cursor)
    cursor.expect("forall")
    generators: dict[str, syntax.Generator] = {}
    while not generators or cursor.take(","):
        generator = _generator(cursor, generators)
        generators[generator.name] = generator
    cursor.expect("=>")
    claim = parse_expression(cursor)
    cursor.expect(";", hint="a property ends with ';'")
    _check_variables(fixtures, tuple(generators))
    return syntax.Property(
        name.name, cases, seed, fixtures, tuple(generators.values()), claim, cursor.since(start)
    )


def _counted(cursor: Cursor, word: str, largest: int) -> int:
    cursor.expect(word)
    cursor.expect("(")
    token = cursor.expect_kind(Kind.INTEGER, "a number")
    cursor.expect(")")
    number = integer(token)
    if number > largest:
        raise limit_exceeded(f"{word}({quoted(token.text)[1:-1]})", largest, token.span)
    if word == "cases" and number == 0:
        raise RuleError("RULE_PARSE_ERROR", "a property of no cases", token.span)
    return number


def _fixtures(cursor: Cursor) -> syntax.Fixtures:
    """fixtures = "{" { ( fact | "lawDate" "(" TEXT ")" ) ";" } "}" ;"""
    cursor.expect("{")
    facts: list[syntax.FactFixture] = []
    law_dates = []
    while cursor.take("}") is None:
        start = cursor.token
        if cursor.take("lawDate") is None:
            facts.append(_fact(cursor))
        else:
            law_dates.append(parse_date(cursor))
        if len(law_dates) > 1:
            raise RuleError("RULE_PARSE_ERROR", "two law dates", cursor.since(start))
        cursor.expect(";", hint="a fixture ends with ';'")
    _check_facts(facts)
    return syntax.Fixtures(tuple(facts), law_dates[0] if law_dates else None)


def _fact(cursor: Cursor) -> syntax.FactFixture:
    """fact = "fact" NAME "(" TEXT "," TEXT ")" "=" object ;"""
    start = cursor.token
    if cursor.take("fact") is None:
        raise cursor.unexpected("'fact', 'lawDate' or '}'")
    name = parse_name(cursor, "a name for the fact")
    cursor.expect("(")
    fact_type = parse_text(cursor, "the fact's type in quotes")
    cursor.expect(",")
    fact_key = parse_text(cursor, "the fact's key in quotes")
    cursor.expect(")")
    cursor.expect("=")
    if not cursor.at("{"):
        raise cursor.unexpected('a JSON object such as {"years": 8}')
    return syntax.FactFixture(name.name, fact_type, fact_key, _object(cursor), cursor.since(start))


def _check_facts(facts: list[syntax.FactFixture]) -> None:
    seen: set[tuple[str, str]] = set()
    for fact in facts:
        if (fact.fact_type, fact.fact_key) in seen:
            message = f"two facts {quoted(fact.fact_type)} {quoted(fact.fact_key)}"
            raise RuleError("RULE_PARSE_ERROR", message, fact.span)
        seen.add((fact.fact_type, fact.fact_key))


def _check_variables(fixtures: syntax.Fixtures, known: tuple[str, ...]) -> None:
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
        name = parse_name(cursor, "a JSON value, or the name of a generated one")
        return syntax.Variable(name.name, name.span)


def _object(cursor: Cursor) -> dict[str, syntax.Json]:
    """object = "{" [ TEXT ":" json { "," TEXT ":" json } [ "," ] ] "}" ;"""
    cursor.expect("{")
    found: dict[str, syntax.Json] = {}
    while not cursor.at("}"):
        key = parse_key(cursor, found)
        cursor.expect(":")
        found[key] = _json(cursor)
        if cursor.take(",") is None:
            break
    cursor.expect("}")
    return found


def _array(cursor: Cursor) -> tuple[syntax.Json, ...]:
    """array = "[" [ json { "," json } [ "," ] ] "]" ;"""
    cursor.expect("[")
    items: list[syntax.Json] = []
    while not cursor.at("]"):
        items.append(_json(cursor))
        if cursor.take(",") is None:
            break
    cursor.expect("]")
    return tuple(items)


def _whole(cursor: Cursor) -> int:
    start = cursor.token
    sign = -1 if cursor.take("-") else 1
    if cursor.token.kind is Kind.DECIMAL:
        hint = f'facts keep decimals as text: "{cursor.token.text[:40]}"'
        raise RuleError("RULE_PARSE_ERROR", "a fraction in a fact", cursor.token.span, hint=hint)
    number = sign * integer(cursor.expect_kind(Kind.INTEGER, "a number"))
    if abs(number) > MAX_INTEGER:
        hint = "facts keep numbers beyond 2^53-1 as text"
        raise RuleError("RULE_PARSE_ERROR", "too large a number in a fact", cursor.since(start), hint=hint)
    return number


def _expectation(cursor: Cursor) -> syntax.Expectation:
    """expectation = expectValue | expectEmpty | expectAudiences | expectError | expectCompliance ;"""
    start = cursor.expect_kind(Kind.NAME, "an expectation")
    read = _EXPECTATIONS.get(start.text)
    if read is None:
        hint = did_you_mean(start.text, _EXPECTATIONS, f"known are {', '.join(_EXPECTATIONS)}")
        raise RuleError(
            "RULE_PARSE_ERROR", f"unknown expectation {quoted(start.text)}", start.span, hint=hint
        )
    cursor.expect("(")
    found = read(cursor)
    cursor.expect(")")
    return found


def _expect_value(cursor: Cursor) -> syntax.Expectation:
    """expectValue = "expect" "(" path "," ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) expression ")" ;"""
    path, path_span = parse_path(cursor)
    cursor.expect(",")
    operator = cursor.take(*_COMPARISONS)
    if operator is None:
        raise cursor.unexpected("a comparison such as ==")
    value = parse_expression(cursor)
    return syntax.ExpectValue(path, operator.text, value, path_span, cursor.since(operator))


def _expect_empty(cursor: Cursor) -> syntax.Expectation:
    """expectEmpty = "expectEmpty" "(" path "," ( "withheld" | "notApplicable" | "missing" ) ")" ;"""
    path, path_span = parse_path(cursor)
    cursor.expect(",")
    kind = cursor.take(*EMPTY_KINDS)
    if kind is None:
        raise cursor.unexpected(", ".join(EMPTY_KINDS[:-1]) + f" or {EMPTY_KINDS[-1]}")
    return syntax.ExpectEmpty(path, kind.text, path_span)


def _expect_audiences(cursor: Cursor) -> syntax.Expectation:
    """expectAudiences = "expectAudiences" "(" path "," audience { "," audience } ")" ;"""
    path, path_span = parse_path(cursor)
    cursor.expect(",")
    return syntax.ExpectAudiences(path, parse_audiences(cursor), path_span)


def _expect_error(cursor: Cursor) -> syntax.Expectation:
    """expectError = "expectError" "(" TEXT ")" ;"""
    return syntax.ExpectError(parse_text(cursor, "a code in quotes"))


def _expect_compliance(cursor: Cursor) -> syntax.Expectation:
    """expectCompliance = "expectCompliance" "(" TEXT "," ( "true" | "false" ) ")" ;"""
    code = parse_text(cursor, "a code in quotes")
    cursor.expect(",")
    holds = cursor.take("true", "false")
    if holds is None:
        raise cursor.unexpected("true or false")
    return syntax.ExpectCompliance(code, holds.text == "true")


_EXPECTATIONS: Mapping[str, Callable[[Cursor], syntax.Expectation]] = {
    "expect": _expect_value,
    "expectEmpty": _expect_empty,
    "expectAudiences": _expect_audiences,
    "expectError": _expect_error,
    "expectCompliance": _expect_compliance,
}


def _generator(cursor: Cursor, seen: Mapping[str, object]) -> syntax.Generator:
    """generator = NAME ":" type "in" ( range | choice ) ;
    range = "[" expression "," expression "]" ;
    choice = "{" expression { "," expression } [ "," ] "}" ;
    """
    start = cursor.token
    name = parse_name(cursor, "the name of a generated value")
    if name.name in seen:
        raise RuleError("RULE_PARSE_ERROR", f"two generated values {quoted(name.name)}", name.span)
    cursor.expect(":")
    kind = parse_type(cursor)
    cursor.expect("in")
    is_range = cursor.at("[")
    choices = _range(cursor) if is_range else _choice(cursor)
    return syntax.Generator(name.name, kind, choices, is_range, cursor.since(start))


def _range(cursor: Cursor) -> tuple[syntax.Expression, ...]:
    cursor.expect("[")
    low = parse_expression(cursor)
    cursor.expect(",", hint="a range has two ends: [low, high]")
    high = parse_expression(cursor)
    cursor.expect("]", hint="a range has two ends: [low, high]")
    return low, high


def _choice(cursor: Cursor) -> tuple[syntax.Expression, ...]:
    cursor.expect("{", hint="a range [low, high] or a choice {a, b}")
    choices = [parse_expression(cursor)]
    while cursor.take(",") and not cursor.at("}"):
        choices.append(parse_expression(cursor))
    cursor.expect("}")
    return tuple(choices)
