from contextlib import suppress
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.rules import operations
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.operations import OPERATIONS, apply, ordered
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.values import JsonValue, Num, Quantity, Value
from tests.unit.core.rules.test_values import numerals, plain_values


def num(text: str) -> Num:
    return Num(Decimal(text))


def qty(text: str, unit: str = "kg") -> Quantity:
    return Quantity(Decimal(text), unit)


def code_of(name: str, parameters: dict[str, object], *operands: Value) -> str:
    with pytest.raises(RuleError) as caught:
        apply(name, parameters, operands)
    return caught.value.code


def same(left: Value, right: Value) -> bool:
    """Also the same scale."""
    return repr(left) == repr(right)


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("+", 1, 2, 3),
        ("+", num("1.50"), num("1.5"), num("3.00")),
        ("+", qty("1.5"), qty("0.25"), qty("1.75")),
        ("-", 1, 2, -1),
        ("-", num("1.50"), num("1.50"), num("0.00")),
        ("-", qty("1"), qty("2"), qty("-1")),
        ("*", 6, 7, 42),
        ("*", 2, num("1.50"), num("3.00")),
        ("*", num("1.5"), num("1.5"), num("2.25")),
        ("*", qty("1.5"), 2, qty("3.0")),
        ("*", num("0.5"), qty("3"), qty("1.5")),
        ("*", qty("2", "Ah"), qty("3.5", "V"), qty("7.0", "Wh")),
        ("*", qty("3", "V"), qty("2", "Ah"), qty("6", "Wh")),
        ("*", qty("60", "per_year"), qty("8", "year"), num("480")),
        ("/", 1, 4, num("0.25")),
        ("/", 10, 5, num("2")),
        ("/", num("1.00"), 2, num("0.5")),
        ("/", qty("1.50"), 3, qty("0.5")),
        ("/", qty("5400", "kgCO2e"), qty("36000.0", "kWh"), qty("0.15", "kgCO2e_per_kWh")),
        ("/", qty("1"), qty("4"), num("0.25")),
        ("min", 1, 2, 1),
        ("max", 1, 2, 2),
        ("min", num("1.5"), num("1.50"), num("1.5")),
        ("max", qty("1"), qty("2"), qty("2")),
        ("min", "a", "b", "a"),
        ("max", date(2027, 1, 1), date(2027, 1, 2), date(2027, 1, 2)),
        ("percent", 1, 4, qty("25", "pct")),
        ("percent", num("0.5"), num("2.0"), qty("25", "pct")),
        ("percent", qty("1"), qty("3"), qty("33." + "3" * 48, "pct")),
        ("percent", qty("0"), qty("3"), qty("0", "pct")),
        ("unwrapOr", None, 1, 1),
        ("unwrapOr", 2, 1, 2),
        ("lookup", {"a": 1}, "a", 1),
        ("lookup", {"a": 1}, "b", None),
    ],
)
def test_two_operands(name: str, left: Value, right: Value, expected: Value) -> None:
    assert same(apply(name, {}, (left, right)), expected)


@pytest.mark.parametrize(
    ("name", "parameters", "operand", "expected"),
    [
        ("negate", {}, 5, -5),
        ("negate", {}, num("1.50"), num("-1.50")),
        ("negate", {}, num("0.00"), num("0.00")),
        ("negate", {}, qty("-2"), qty("2")),
        ("!", {}, True, False),
        ("!", {}, False, True),
        ("isSome", {}, None, False),
        ("isSome", {}, 0, True),
        ("requireSome", {"message": ""}, 0, 0),
        ("round", {"mode": "half_even", "scale": 1}, num("0.25"), num("0.2")),
        ("round", {"mode": "half_up", "scale": 1}, num("0.25"), num("0.3")),
        ("round", {"mode": "up", "scale": 2}, 1, num("1.00")),
        ("round", {"mode": "floor", "scale": 0}, qty("-1.5"), qty("-2")),
        ("round", {"mode": "up", "scale": 0}, None, None),
        ("toDec", {"scale": 2}, 5, num("5.00")),
        ("toDec", {"scale": 2}, num("5.100"), num("5.10")),
        ("toDec", {"scale": 2}, "-5.1", num("-5.10")),
        ("toDec", {"scale": 2}, JsonValue("5.10"), num("5.10")),
        ("toDec", {"scale": 0}, JsonValue(7), num("7")),
        ("toQty", {"unit": "kg"}, 5, qty("5")),
        ("toQty", {"unit": "kg"}, JsonValue("1.500"), qty("1.500")),
        ("convert", {"unit": "g"}, qty("1.50"), qty("1500", "g")),
        ("convert", {"unit": "year"}, qty("6", "month"), qty("0.5", "year")),
        ("convert", {"unit": "year"}, qty("1", "month"), qty("0.08" + "3" * 49, "year")),
        ("toInt", {}, JsonValue(7), 7),
        ("toText", {}, JsonValue("x"), "x"),
        ("toBool", {}, JsonValue(False), False),
        ("toDate", {}, JsonValue("2027-02-18"), date(2027, 2, 18)),
        ("toList", {}, JsonValue([1, "a"]), (JsonValue(1), JsonValue("a"))),
        ("toList", {}, JsonValue((1,)), (JsonValue(1),)),
        ("recordGet", {"name": "a"}, make_fact("T", "k", {"a": 1}), JsonValue(1)),
        ("recordGet", {"name": "b"}, make_fact("T", "k", {"a": 1}), None),
        ("recordGet", {"name": "a"}, make_fact("T", "k", {"a": None}), None),
        ("recordGet", {"name": "a"}, JsonValue({"a": [1]}), JsonValue([1])),
        ("recordGet", {"name": "a"}, {"a": 1}, 1),
    ],
)
def test_one_operand(name: str, parameters: dict[str, object], operand: Value, expected: Value) -> None:
    assert same(apply(name, parameters, (operand,)), expected)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        (1, 2, -1),
        (num("1.50"), num("1.5"), 0),
        (2, num("1.5"), 1),
        (qty("1"), qty("1.0"), 0),
        ("a", "b", -1),
        ("Z", "a", -1),
        ("\uffff", "\U00010000", -1),
        (date(2027, 1, 2), date(2027, 1, 1), 1),
    ],
)
def test_order(left: Value, right: Value, order: int) -> None:
    assert ordered(left, right) == order
    assert ordered(right, left) == -order
    found = {name: apply(name, {}, (left, right)) for name in ("<", "<=", ">", ">=")}
    assert found == {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1, True),
        (1, 2, False),
        (True, True, True),
        (True, False, False),
        (True, 1, False),
        (None, None, True),
        (None, 0, False),
        (0, None, False),
        (num("1.50"), num("1.5"), True),
        (qty("1.50"), qty("1.5"), True),
        ("a", "a", True),
        ("a", "A", False),
        (date(2027, 1, 1), date(2027, 1, 1), True),
        ((1, 2), (1, 2), True),
        ((1,), (1, 2), False),
        ((qty("1"),), (qty("1.0"),), True),
        ({"a": qty("1")}, {"a": qty("1.0")}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 2}, False),
    ],
)
def test_equality_is_by_value(left: Value, right: Value, expected: bool) -> None:  # noqa: FBT001 - a table
    assert apply("==", {}, (left, right)) is expected
    assert apply("!=", {}, (left, right)) is not expected


@pytest.mark.parametrize(
    ("name", "parameters", "operands", "code"),
    [
        ("+", {}, (1, num("1.0")), "RULE_TYPE_ERROR"),
        ("+", {}, (True, True), "RULE_TYPE_ERROR"),
        ("+", {}, ("a", "b"), "RULE_TYPE_ERROR"),
        ("+", {}, (qty("1"), qty("1", "g")), "UNIT_MISMATCH"),
        ("*", {}, (qty("1"), qty("1")), "UNIT_MISMATCH"),
        ("*", {}, (qty("1"), "a"), "RULE_TYPE_ERROR"),
        ("*", {}, (True, 1), "RULE_TYPE_ERROR"),
        ("/", {}, (1, qty("1")), "RULE_TYPE_ERROR"),
        ("/", {}, (qty("1"), qty("1", "V")), "UNIT_MISMATCH"),
        ("/", {}, (1, 0), "DIVISION_BY_ZERO"),
        ("/", {}, (qty("1"), qty("0.0")), "DIVISION_BY_ZERO"),
        ("percent", {}, (1, 0), "DIVISION_BY_ZERO"),
        ("percent", {}, (qty("1"), qty("1", "g")), "UNIT_MISMATCH"),
        ("percent", {}, (qty("1"), 1), "RULE_TYPE_ERROR"),
        ("<", {}, (1, "a"), "RULE_TYPE_ERROR"),
        ("<", {}, (True, False), "RULE_TYPE_ERROR"),
        ("<", {}, (qty("1"), qty("1", "g")), "UNIT_MISMATCH"),
        ("==", {}, (1, "a"), "RULE_TYPE_ERROR"),
        ("==", {}, (JsonValue(1), JsonValue(1)), "RULE_TYPE_ERROR"),
        ("negate", {}, (True,), "RULE_TYPE_ERROR"),
        ("!", {}, (1,), "RULE_TYPE_ERROR"),
        ("round", {"mode": "half_even", "scale": 1}, ("x",), "RULE_TYPE_ERROR"),
        ("convert", {"unit": "kg"}, (1,), "RULE_TYPE_ERROR"),
        ("convert", {"unit": "V"}, (qty("1"),), "UNIT_MISMATCH"),
        ("monthOf", {}, ("2027-02-18",), "RULE_TYPE_ERROR"),
        ("addMonths", {}, (date(2027, 2, 18), True), "RULE_TYPE_ERROR"),
        ("addMonths", {}, (1, 1), "RULE_TYPE_ERROR"),
        ("addMonths", {}, (date(2027, 2, 18), 96_000), "VALIDATION_ERROR"),
        ("keysOf", {}, (1,), "RULE_TYPE_ERROR"),
        ("toMonth", {}, (JsonValue(202702),), "VALIDATION_ERROR"),
        ("toMoment", {}, (JsonValue("2027-02-18"),), "VALIDATION_ERROR"),
        ("toTexts", {}, (JsonValue([]),), "VALIDATION_ERROR"),
        ("lookup", {}, (1, "a"), "RULE_TYPE_ERROR"),
        ("lookup", {}, ({"a": 1}, 1), "RULE_TYPE_ERROR"),
        ("toDec", {"scale": 2}, (num("1.005"),), "VALIDATION_ERROR"),
        ("toDec", {"scale": 2}, (JsonValue(None),), "VALIDATION_ERROR"),
        ("toDec", {"scale": 2}, (JsonValue(True),), "VALIDATION_ERROR"),
        ("toDec", {"scale": 2}, (qty("1"),), "VALIDATION_ERROR"),
        ("toDec", {"scale": 2}, ("1e5",), "VALIDATION_ERROR"),
        ("toQty", {"unit": "kg"}, (JsonValue("9" * 51),), "VALIDATION_ERROR"),
        ("toQty", {"unit": "kg"}, (JsonValue("-" + "9" * 50 + ".9"),), "VALIDATION_ERROR"),
        ("toQty", {"unit": "kg"}, (JsonValue("0." + "0" * 10**6 + "1"),), "VALIDATION_ERROR"),
        ("toInt", {}, (JsonValue("7"),), "VALIDATION_ERROR"),
        ("toInt", {}, (JsonValue(True),), "VALIDATION_ERROR"),
        ("toInt", {}, (7,), "RULE_TYPE_ERROR"),
        ("toText", {}, (JsonValue(7),), "VALIDATION_ERROR"),
        ("toBool", {}, (JsonValue(1),), "VALIDATION_ERROR"),
        ("toDate", {}, (JsonValue("18.02.2027"),), "VALIDATION_ERROR"),
        ("toDate", {}, (JsonValue(20270218),), "VALIDATION_ERROR"),
        ("toList", {}, (JsonValue({}),), "VALIDATION_ERROR"),
        ("recordGet", {"name": "a"}, (JsonValue([1]),), "VALIDATION_ERROR"),
        ("recordGet", {"name": "a"}, ({"b": 1},), "RULE_TYPE_ERROR"),
        ("recordGet", {"name": "a"}, (1,), "RULE_TYPE_ERROR"),
        ("requireSome", {"message": ""}, (None,), "NOT_FOUND"),
        ("*", {}, (10**600, 10**600), "RULE_LIMIT_EXCEEDED"),
    ],
)
def test_what_an_operation_refuses(
    name: str, parameters: dict[str, object], operands: tuple[Value, ...], code: str
) -> None:
    assert code_of(name, parameters, *operands) == code


@pytest.mark.parametrize(
    ("name", "parameters", "operands"),
    [
        ("unheard-of", {}, ()),
        ("+", {}, (1,)),
        ("isSome", {}, ()),
        ("+", {"more": 1}, (1, 2)),
        ("round", {"scale": 1}, (1,)),
        ("round", {"mode": "sideways", "scale": 1}, (1,)),
        ("round", {"mode": ["half_even"], "scale": 1}, (1,)),
        ("round", {"mode": "half_even", "scale": -1}, (1,)),
        ("round", {"mode": "half_even", "scale": 31}, (1,)),
        ("round", {"mode": "half_even", "scale": 10**9}, (1,)),
        ("round", {"mode": "half_even", "scale": True}, (1,)),
        ("round", {"mode": "half_even", "scale": "1"}, (1,)),
        ("toQty", {"unit": "furlong"}, (1,)),
        ("toQty", {"unit": 1}, (1,)),
        ("recordGet", {"name": 1}, ({"a": 1},)),
        ("requireSome", {"message": 1}, (None,)),
        ("record", {"names": "a"}, (1,)),
        ("record", {"names": [1]}, (1,)),
        ("record", {"names": ["a", "a"]}, (1, 2)),
        ("record", {"names": ["a", "b"]}, (1,)),
        ("record", {"names": ["a"]}, (1, 2)),
    ],
)
def test_a_proof_that_was_tampered_with_is_refused_with_an_error_of_ours(
    name: str, parameters: dict[str, object], operands: tuple[Value, ...]
) -> None:
    assert code_of(name, parameters, *operands) == "RULE_TYPE_ERROR"


def test_a_record() -> None:
    assert apply("record", {"names": ["b", "a"]}, (1, 2)) == {"a": 2, "b": 1}
    assert apply("record", {"names": []}, ()) == {}


def test_no_message_shows_what_stands_in_a_fact() -> None:
    secret = JsonValue("hidden-4711")
    for name in ("toInt", "toBool", "toDate", "toMonth", "toMoment", "toList"):
        with pytest.raises(RuleError) as caught:
            apply(name, {}, (secret,))
        assert "4711" not in f"{caught.value}{caught.value.hint}"
    with pytest.raises(RuleError) as caught:
        apply("toDec", {"scale": 1}, (secret,))
    assert "4711" not in f"{caught.value}{caught.value.hint}"


@given(name=st.sampled_from(sorted(OPERATIONS)), operands=st.lists(plain_values, max_size=3).map(tuple))
def test_whatever_it_is_given_an_operation_has_a_result_or_an_error_of_ours(
    name: str, operands: tuple[Value, ...]
) -> None:
    parameters = {
        "scale": 2, "mode": "half_up", "unit": "kg", "name": "a", "message": "m", "names": ["a"],
        "until": {"EV": "2027-02-18"},
    }  # fmt: skip
    wanted = {each: parameters[each] for each in OPERATIONS[name].parameters}
    with suppress(RuleError):
        apply(name, wanted, operands)


@given(left=numerals, right=numerals)
def test_arithmetic_agrees_with_fractions(left: Decimal, right: Decimal) -> None:
    a, b = Fraction(left), Fraction(right)
    exact = {"+": a + b, "-": a - b, "*": a * b}

    for name, expected in exact.items():
        found = apply(name, {}, (Num(left), Num(right)))
        assert isinstance(found, Num)
        assert Fraction(found.value) == expected
    assert apply("<", {}, (Num(left), Num(right))) is (a < b)
    assert apply("==", {}, (Num(left), Num(right))) is (a == b)


def test_operations_are_known_by_name() -> None:
    assert operations.unit_in({"unit": "kg"}) == "kg"
    assert operations.scale_in({"scale": 30}) == 30
