"""Which expression has which type: the rules of typing as tables."""

import pytest
from hypothesis import given

from bpc_worker.core.rules import typed, types, values
from bpc_worker.core.rules.fits import fit, join
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.parser import parse
from bpc_worker.core.rules.scope import FieldShape, Scope, Warnings, World
from bpc_worker.core.rules.source import NOWHERE, RuleError
from bpc_worker.core.rules.typecheck import check
from bpc_worker.core.rules.types import (
    BOOL,
    FACT,
    INT,
    JSON,
    NONE,
    NUM,
    TEXT,
    DecType,
    ListType,
    MapType,
    OptType,
    QtyType,
    Type,
    record,
    show,
)
from tests.unit.core.rules.support import STAGES, value_of
from tests.unit.core.rules.test_types import declared_types

VARIABLES: dict[str, Type] = {
    "b": BOOL,
    "i": INT,
    "t": TEXT,
    "d": types.DATE,
    "d1": DecType(1),
    "d2": DecType(2),
    "num": NUM,
    "kg": QtyType("kg"),
    "kwh": QtyType("kWh"),
    "g_kwh": QtyType("gCO2e_per_kWh"),
    "years": QtyType("year"),
    "rate": QtyType("per_year"),
    "oi": OptType(INT),
    "od": OptType(DecType(1)),
    "f": FACT,
    "j": JSON,
    "lf": ListType(FACT),
    "lq": ListType(QtyType("kg")),
    "ld": ListType(DecType(2)),
    "r": record({"x": INT, "y": OptType(TEXT)}),
    "m": MapType(INT),
}


def a_scope(*, in_tests: bool = False) -> Scope:
    fields = {"sure": FieldShape(INT, may_be_empty=False), "perhaps": FieldShape(INT, may_be_empty=True)}
    fields["maybe"] = FieldShape(OptType(INT), may_be_empty=True)
    world = World("", fields, {"rows": MapType(INT), "opts": MapType(OptType(INT))}, Warnings(), in_tests)
    return Scope(world, variables=dict(VARIABLES))


def type_of(expression: str, *, in_tests: bool = False) -> str:
    [field] = parse(f"field a: Int = {expression};").fields
    try:
        return show(check(field.body, a_scope(in_tests=in_tests)).type)
    except RuleError as error:
        return error.code


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1", "Int"),
        ("1.50", "Dec(2)"),
        ('"x"', "Text"),
        ('date("2027-02-18")', "Date"),
        ("qty(1, kg)", "Qty(kg)"),
        ("none", "none"),
        ("i + i", "Int"),
        ("d1 - d1", "Dec(1)"),
        ("d1 + num", "Num"),
        ("num - d2", "Num"),
        ("kg + kg", "Qty(kg)"),
        ("i + d1", "RULE_TYPE_ERROR"),
        ("i + num", "RULE_TYPE_ERROR"),
        ("d1 + d2", "RULE_TYPE_ERROR"),
        ("t + t", "RULE_TYPE_ERROR"),
        ("kg + i", "RULE_TYPE_ERROR"),
        ("kg + kwh", "UNIT_MISMATCH"),
        ("oi + i", "RULE_TYPE_ERROR"),
        ("i * i", "Int"),
        ("i * d1", "Dec(1)"),
        ("d1 * i", "Dec(1)"),
        ("d1 * d2", "Dec(3)"),
        ("d1 * num", "Num"),
        ("num * i", "Num"),
        ("kg * i", "Qty(kg)"),
        ("d2 * kg", "Qty(kg)"),
        ("num * kg", "Qty(kg)"),
        ("kg * t", "RULE_TYPE_ERROR"),
        ("t * kg", "RULE_TYPE_ERROR"),
        ("t * i", "RULE_TYPE_ERROR"),
        ("g_kwh * kwh", "Qty(gCO2e)"),
        ("kwh * g_kwh", "Qty(gCO2e)"),
        ("rate * years", "Num"),
        ("kwh * (rate * years)", "Qty(kWh)"),
        ("kg * kwh", "UNIT_MISMATCH"),
        ("i / i", "Num"),
        ("d1 / num", "Num"),
        ("kg / i", "Qty(kg)"),
        ("kg / kg", "Num"),
        ("g_kwh * kwh / kwh", "Qty(gCO2e_per_kWh)"),
        ("i / kg", "RULE_TYPE_ERROR"),
        ("kg / t", "RULE_TYPE_ERROR"),
        ("t / i", "RULE_TYPE_ERROR"),
        ("kg / kwh", "UNIT_MISMATCH"),
        ("-i", "Int"),
        ("-d1", "Dec(1)"),
        ("-kg", "Qty(kg)"),
        ("-t", "RULE_TYPE_ERROR"),
        ("!b", "Bool"),
        ("!i", "RULE_TYPE_ERROR"),
        ("b && b || b", "Bool"),
        ("b && i", "RULE_TYPE_ERROR"),
    ],
)
def test_operators(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("left", "right", "equality", "order"),
    [
        ("i", "i", True, True),
        ("d1", "d1", True, True),
        ("d1", "num", True, True),
        ("num", "num", True, True),
        ("kg", "kg", True, True),
        ("t", "t", True, True),
        ("d", "d", True, True),
        ("b", "b", True, False),
        ("oi", "i", True, False),
        ("i", "oi", True, False),
        ("oi", "oi", True, False),
        ("oi", "none", True, False),
        ("none", "none", True, False),
        ("i", "none", True, False),
        ("od", "num", True, False),
        ("i", "d1", False, False),
        ("d1", "d2", False, False),
        ("i", "t", False, False),
        ("kg", "kwh", False, False),
        ("j", "j", False, False),
        ("f", "f", False, False),
        ("lf", "lf", False, False),
        ("r", "r", False, False),
        ("m", "m", False, False),
        ("getFact(t, t)", "none", False, False),
    ],
)
def test_comparisons(left: str, right: str, equality: bool, order: bool) -> None:  # noqa: FBT001 - a table
    for operator in ("==", "!="):
        assert (type_of(f"{left} {operator} {right}") == "Bool") is equality
    for operator in ("<", "<=", ">", ">="):
        assert (type_of(f"{left} {operator} {right}") == "Bool") is order


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("getFact(t, t)", "Opt(Fact)"),
        ("getFactsByPrefix(t, t)", "List(Fact)"),
        ('field("sure")', "Int"),
        ('field("perhaps")', "Opt(Int)"),
        ('field("maybe")', "Opt(Int)"),
        ('recordGet(f, "x")', "Opt(Json)"),
        ('recordGet(j, "x")', "Opt(Json)"),
        ('recordGet(r, "x")', "Int"),
        ('recordGet(r, "y")', "Opt(Text)"),
        ("isSome(oi)", "Bool"),
        ("unwrapOr(oi, 1)", "Int"),
        ("unwrapOr(od, num)", "Num"),
        ("unwrapOr(oi, none)", "Opt(Int)"),
        ("requireSome(oi)", "Int"),
        ('requireSome(oi, "why")', "Int"),
        ("toDec(3, i)", "Dec(3)"),
        ("toDec(0, t)", "Dec(0)"),
        ("toDec(0, num)", "Dec(0)"),
        ("toDec(0, j)", "Dec(0)"),
        ("toQty(V, d1)", "Qty(V)"),
        ("toInt(j)", "Int"),
        ("toText(j)", "Text"),
        ("toBool(j)", "Bool"),
        ("toDate(j)", "Date"),
        ("toList(j)", "List(Json)"),
        ("convert(g, kg)", "Qty(g)"),
        ("round(up, 2, num)", "Dec(2)"),
        ("round(up, 2, i)", "Dec(2)"),
        ("round(up, 2, kg)", "Qty(kg)"),
        ("percent(i, d2)", "Qty(pct)"),
        ("percent(kg, kg)", "Qty(pct)"),
        ("min(i, i)", "Int"),
        ("max(d1, num)", "Num"),
        ("max(kg, kg)", "Qty(kg)"),
        ("min(t, t)", "Text"),
        ("min(d, d)", "Date"),
        ("map(lf, x => 1)", "List(Int)"),
        ("map(lf, x => none)", "List(none)"),
        ("filter(lq, x => x > qty(1, kg))", "List(Qty(kg))"),
        ("fold(lf, 0, (acc, x) => acc + 1)", "Int"),
        ("fold(lf, num, (acc, x) => d2)", "Num"),
        ("fold(lf, oi, (acc, x) => 1)", "Opt(Int)"),
        ("sumQty(lq)", "Qty(kg)"),
        ("sumDec(ld)", "Dec(2)"),
        ("count(lf)", "Int"),
        ("rows", "Map(Text, Int)"),
        ("lookup(rows, t)", "Opt(Int)"),
        ("lookup(m, t)", "Opt(Int)"),
        ("lookup(opts, t)", "Opt(Int)"),
        ("lookup(if (b) then rows else m, t)", "Opt(Int)"),
        ("lawDate()", "Date"),
        ('emitCompliance("C", b, "m")', "Bool"),
        ("record(b: 1, a: t)", "Record(a: Text, b: Int)"),
        ("record()", "Record()"),
        ("let x = 1; x", "Int"),
        ("if (b) then i else i", "Int"),
        ("if (b) then i else none", "Opt(Int)"),
        ("if (b) then oi else i", "Opt(Int)"),
        ("if (b) then d1 else num", "Num"),
        ("if (b) then i else d1", "RULE_TYPE_ERROR"),
    ],
)
def test_functions_and_the_rest(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


def test_implies_is_known_in_tests_only() -> None:
    assert type_of("implies(b, b)", in_tests=True) == "Bool"
    assert type_of("implies(b, b)") == "RULE_TYPE_ERROR"
    assert type_of("implies(b, i)", in_tests=True) == "RULE_TYPE_ERROR"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (INT, INT, INT),
        (INT, TEXT, None),
        (NONE, INT, OptType(INT)),
        (NONE, NONE, NONE),
        (OptType(INT), NONE, OptType(INT)),
        (OptType(INT), INT, OptType(INT)),
        (OptType(DecType(1)), OptType(NUM), OptType(NUM)),
        (OptType(INT), TEXT, None),
        (DecType(1), NUM, NUM),
        (DecType(1), DecType(2), None),
        (ListType(DecType(1)), ListType(NUM), ListType(NUM)),
        (ListType(INT), ListType(OptType(INT)), ListType(OptType(INT))),
        (ListType(INT), ListType(TEXT), None),
        (MapType(INT), MapType(NONE), MapType(OptType(INT))),
        (MapType(INT), ListType(INT), None),
        (
            record({"a": INT, "b": NONE}),
            record({"a": NONE, "b": INT}),
            record({"a": OptType(INT), "b": OptType(INT)}),
        ),
        (record({"a": INT}), record({"a": TEXT}), None),
        (record({"a": INT}), record({"b": INT}), None),
    ],
)
def test_what_two_branches_have_in_common(left: Type, right: Type, expected: Type | None) -> None:
    assert join(left, right) == join(right, left) == expected


@given(kind=declared_types)
def test_every_type_fits_itself_and_its_opt(kind: Type) -> None:
    node = typed.Var("x", kind, NOWHERE)

    assert join(kind, kind) == kind
    assert fit(node, kind) is node
    assert fit(node, types.optional(kind)) is node


@pytest.mark.parametrize(
    ("kind", "expression", "published"),
    [
        ("Dec(2)", "1/3", "0.33"),
        ("Dec(2)", "1.005", "1.00"),
        ("Dec(2)", "1.015", "1.02"),
        ("Dec(3)", "1.5", "1.500"),
        ("Opt(Dec(2))", "1.005", "1.00"),
        ("Opt(Dec(2))", "if (true) then 1/3 else none", "0.33"),
        ("Opt(Dec(2))", "let x = if (true) then 1/3 else none; x", "0.33"),
        ("Opt(Dec(2))", "let x = if (false) then 1/3 else none; x", None),
        ("Opt(Int)", "none", None),
        ("Opt(Int)", "5", 5),
        ("List(Dec(1))", f'map({STAGES}, s => toDec(2, requireSome(recordGet(s, "kg"))))',
         ["1.5", "2.2", "0.2"]),
        ("List(Opt(Int))", 'map(getFactsByPrefix("Stage", "stage:"), s => none)', [None, None, None]),
        ("Record(a: Dec(1), b: Opt(Text))", "record(b: none, a: 1/3)", {"a": "0.3", "b": None}),
        ("Opt(Record(a: Dec(1)))", "record(a: 2/3)", {"a": "0.7"}),
        ("Record(a: Record(b: Dec(0)))", "record(a: record(b: 5/2))", {"a": {"b": "2"}}),
    ],
)  # fmt: skip
def test_a_declared_scale_rounds_half_to_even(kind: str, expression: str, published: object) -> None:
    assert values.published(value_of(expression, kind)) == published


@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        ("List(Opt(Dec(1)))", 'map(getFactsByPrefix("a", "b"), s => 1/3)'),
        ("Opt(Int)", "1.0"),
        ("Map(Text, Int)", "1"),
    ],
)
def test_what_does_not_fit(kind: str, expression: str) -> None:
    with pytest.raises(RuleError, match="RULE_TYPE_ERROR"):
        load(f"field a: {kind} = {expression};")
