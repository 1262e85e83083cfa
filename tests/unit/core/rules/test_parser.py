from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.rules import syntax, types
from bpc_worker.core.rules.parser import parse, parse_lambda
from bpc_worker.core.rules.source import Limits, RuleError
from tests.unit.core.rules.support import raised


def shape(node: syntax.Argument) -> str:
    """An expression with a pair of parentheses around every part."""
    match node:
        case syntax.Literal() | syntax.QuantityLiteral() | syntax.Name():
            return leaf_shape(node)
        case syntax.Call(function, arguments):
            return f"{function}({', '.join(map(shape, arguments))})"
        case syntax.RecordLiteral(members):
            return f"{{{', '.join(f'{name}: {shape(each)}' for name, each in members)}}}"
        case syntax.Lambda(parameters, body):
            return f"[{' '.join(name.name for name in parameters)} => {shape(body)}]"
        case syntax.Unary(operator, operand):
            return f"({operator}{shape(operand)})"
        case syntax.Chain(first, rest):
            return f"({shape(first)}{''.join(f' {operator} {shape(each)}' for operator, _, each in rest)})"
        case syntax.Conditional(condition, then, otherwise):
            return f"if {shape(condition)} {shape(then)} {shape(otherwise)}"
        case syntax.Block(statements, result):
            return f"<{' '.join(map(statement_shape, statements))} {shape(result)}>"


def leaf_shape(node: syntax.Literal | syntax.QuantityLiteral | syntax.Name) -> str:
    match node:
        case syntax.Literal(str(value)):
            return repr(value)
        case syntax.Literal(value):
            return str(value)
        case syntax.QuantityLiteral(value, unit):
            return f"{value}{unit}"
        case syntax.Name(name):
            return name


def statement_shape(node: syntax.Statement) -> str:
    match node:
        case syntax.Let(name, value):
            return f"{name.name}={shape(value)};"
        case syntax.Assertion(condition, code, message):
            return f"assert {shape(condition)} {code} {message};"
        case syntax.Usable(condition, detail):
            return f"usable {shape(condition)} {shape(detail)};"
        case syntax.Citation(text):
            return f"cite {text};"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1", "1"),
        ("1.50", "1.50"),
        ("true", "True"),
        ("false", "False"),
        ("none", "None"),
        ('"a"', "'a'"),
        ('date("2027-02-18")', "2027-02-18"),
        ("qty(1.5, kg)", "1.5kg"),
        ("qty(-2, degC)", "-2degC"),
        ("((x))", "x"),
        ("1 + 2 + 3", "(1 + 2 + 3)"),
        ("1 - 2 * 3 + 4", "(1 - (2 * 3) + 4)"),
        ("1 * 2 + 3", "((1 * 2) + 3)"),
        ("a || b && c == d + e * f", "(a || (b && (c == (d + (e * f)))))"),
        ("a * b + c == d && e || f", "(((((a * b) + c) == d) && e) || f)"),
        ("a && b || c && d", "((a && b) || (c && d))"),
        ("(a || b) && c", "((a || b) && c)"),
        ("!a == b", "((!a) == b)"),
        ("- -a * b", "((-(-a)) * b)"),
        ("a - -1", "(a - (-1))"),
        ("!!a", "(!(!a))"),
        ("f()", "f()"),
        ("f(1, g(2),)", "f(1, g(2))"),
        ("map(l, x => x + 1)", "map(l, [x => (x + 1)])"),
        ("fold(l, 0, (acc, x) => acc)", "fold(l, 0, [acc x => acc])"),
        ("f((a), (b))", "f(a, b)"),
        ("f(x => let y = x; y)", "f([x => <y=x; y>])"),
        ("record()", "{}"),
        ("record(b: 1, a: x,)", "{b: 1, a: x}"),
        ("record(let: 1, field: 2)", "{let: 1, field: 2}"),
        ('field("a")', "field('a')"),
        ("if (a) then b else if (c) then d else e", "if a b if c d e"),
        ("(if (a) then b else c) + 1", "(if a b c + 1)"),
        (
            'let x = 1; assert(x > 0, "C", "m"); cite("Art. 1"); x',
            "<x=1; assert (x > 0) C m; cite Art. 1; x>",
        ),
        ("let x = let y = 1; y; x", "<x=<y=1; y>; x>"),
        ('usable(a > b, "d"); usable', "<usable (a > b) 'd'; usable>"),
        ('month("2027-02") == month', "(2027-02 == month)"),
        ('moment("2027-02-18T12:00:00Z")', "2027-02-18T12:00:00Z"),
        ('texts("en": "a",)', "Texts(by_language={'en': 'a'})"),
        ("fact + cases + lawDate + public", "(fact + cases + lawDate + public)"),
    ],
)
def test_expressions(expression: str, expected: str) -> None:
    [field] = parse(f"field a: Int = {expression};").fields

    assert shape(field.body) == expected


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("Bool", types.BOOL),
        ("Int", types.INT),
        ("Text", types.TEXT),
        ("Date", types.DATE),
        ("Dec(0)", types.DecType(0)),
        ("Dec(30)", types.DecType(30)),
        ("Qty(kgCO2e_per_kWh)", types.QtyType("kgCO2e_per_kWh")),
        ("Opt(List(Int))", types.OptType(types.ListType(types.INT))),
        ("Map(Text, Dec(2))", types.MapType(types.DecType(2))),
        ("Record()", types.RecordType(())),
        ("Record(b: Int, a: Text,)", types.RecordType((("a", types.TEXT), ("b", types.INT)))),
    ],
)
def test_types(written: str, kind: types.Type) -> None:
    [field] = parse(f"field a: {written} = 1;").fields

    assert field.type == kind


@pytest.mark.parametrize(
    ("written", "audiences"),
    [
        ("", ("public",)),
        ("for public", ("public",)),
        ("for commission, authorities, commission", ("authorities", "commission")),
        ("for legitimate_interest", ("legitimate_interest",)),
    ],
)
def test_audiences_are_a_set(written: str, audiences: tuple[str, ...]) -> None:
    [field] = parse(f"field a.b.c: Int {written} = 1;").fields

    assert (field.path, field.audiences) == ("a.b.c", audiences)


def test_tables() -> None:
    module = parse('table t: Int = {"b": 1, "a": 2,}; table e: Text = {};')

    assert [(table.name, [key for key, _ in table.rows]) for table in module.tables] == [
        ("t", ["b", "a"]),
        ("e", []),
    ]


def test_examples() -> None:
    [example] = parse(
        """example small: {
             fact b("Battery", "battery:X") = {"a": "1.5", "b": [1, -2, true, false, null, [], {},],};
             lawDate("2027-02-18");
           } => expect(a.b, == 1 + 1), expectEmpty(c, missing), expectError("CODE"),
             expectAudiences(a.b, public, authorities, public),
             expectCompliance("ART", false), expectCompliance("ART2", true);"""
    ).examples

    [fact] = example.fixtures.facts
    assert (example.name, example.fixtures.law_date) == ("small", date(2027, 2, 18))
    assert (fact.name, fact.fact_type, fact.fact_key) == ("b", "Battery", "battery:X")
    assert fact.payload == {"a": "1.5", "b": (1, -2, True, False, None, (), {})}
    value, empty, error, audiences, compliance, holds = example.expectations
    assert isinstance(value, syntax.ExpectValue)
    assert (value.path, value.operator, shape(value.value)) == ("a.b", "==", "(1 + 1)")
    assert isinstance(empty, syntax.ExpectEmpty)
    assert (empty.path, empty.kind) == ("c", "missing")
    assert isinstance(error, syntax.ExpectError)
    assert error.code == "CODE"
    assert isinstance(audiences, syntax.ExpectAudiences)
    assert (audiences.path, audiences.audiences) == ("a.b", ("authorities", "public"))
    assert isinstance(compliance, syntax.ExpectCompliance)
    assert isinstance(holds, syntax.ExpectCompliance)
    assert (compliance.code, compliance.holds, holds.holds) == ("ART", False, True)


def test_properties() -> None:
    [found] = parse(
        """property positive: cases(500) seed(42) { fact b("B", "b") = {"e": e, "c": [c]}; }
             forall e: Dec(1) in [0.1, -500.0], c: Text in {"M1", "N1",}, d: Int in {1}
             => implies(true, true);"""
    ).properties

    assert (found.name, found.cases, found.seed) == ("positive", 500, 42)
    assert [
        (each.name, each.is_range, [shape(one) for one in each.choices]) for each in found.generators
    ] == [
        ("e", True, ["0.1", "(-500.0)"]),
        ("c", False, ["'M1'", "'N1'"]),
        ("d", False, ["1"]),
    ]
    [fact] = found.fixtures.facts
    match fact.payload:
        case {"e": syntax.Variable(e), "c": (syntax.Variable(c),)}:
            assert (e, c) == ("e", "c")
        case other:
            pytest.fail(repr(other))
    assert shape(found.claim) == "implies(True, True)"


def test_spans_cover_what_they_stand_for() -> None:
    source = 'field a.b: Int = let x = f(1,2); (x + 1);\ntable t: Int = {"a": 1};'
    module = parse(source)
    [field], [table] = module.fields, module.tables
    assert isinstance(field.body, syntax.Block)

    spans = [
        field.span,
        field.path_span,
        field.body.span,
        field.body.result.span,
        table.span,
        table.name_span,
    ]

    assert [source[span.start : span.end] for span in spans] == [
        "field a.b: Int = let x = f(1,2); (x + 1);",
        "a.b",
        "let x = f(1,2); (x + 1)",
        "x + 1",
        'table t: Int = {"a": 1};',
        "t",
    ]


def test_a_number_may_have_more_digits_than_the_interpreter_likes_to_convert() -> None:
    digits = "9" * 1_000
    [field] = parse(f"field a: Int = {digits};").fields

    assert isinstance(field.body, syntax.Literal)
    assert isinstance(field.body.value, int)
    assert Decimal(field.body.value) == Decimal(digits)


def test_a_lambda_alone() -> None:
    found = parse_lambda("(acc, x) => acc + x")

    assert shape(found) == "[acc x => (acc + x)]"


@pytest.mark.parametrize("text", ["1", "x => 1, 2", "", "x => 1) + f(2", "x => 1); field a"])
def test_what_is_no_lambda(text: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_lambda(text)

    assert caught.value.code == "RULE_PARSE_ERROR"


PIECES = """field table example property let if then else assert cite true none date qty record for forall in
a b.c x => = == ( ) { } [ ] , ; : . + - * / ! < && || 1 2.5 "t" Int Dec Opt List Record kg lawDate fact
cases seed expect map"""


@given(words=st.lists(st.sampled_from(PIECES.split()), max_size=40))
def test_any_row_of_words_is_parsed_or_refused_with_a_place(words: list[str]) -> None:
    source = " ".join(["field a: Int =", *words])
    error = raised(lambda: parse(source))

    if error is not None:
        assert error.code in {"RULE_PARSE_ERROR", "RULE_TYPE_ERROR", "RULE_LIMIT_EXCEEDED"}
        assert 0 <= error.span.start <= error.span.end <= len(source)


def test_the_default_limits_hold_where_none_are_given() -> None:
    assert parse_lambda("x => x", Limits()).parameters == parse_lambda("x => x").parameters
