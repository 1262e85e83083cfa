from decimal import Decimal

import pytest

from bpc_worker.core.rules import aggregate
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.values import Num, Quantity, Value

KILOS = (Quantity(Decimal("1.5"), "kg"), Quantity(Decimal("2.25"), "kg"))


def no_lambda(*_: Value) -> Value:
    raise AssertionError


def test_each_element_is_given_to_the_lambda_in_order() -> None:
    assert aggregate.run("map", {}, (1, 2), None, lambda each: (each,)) == ((1,), (2,))
    assert aggregate.run("filter", {}, (1, 2, 3), None, lambda each: each != 2) == (1, 3)
    assert aggregate.run("fold", {}, ("a", "b"), "", lambda acc, each: f"{acc}{each}") == "ab"


def test_only_true_is_true() -> None:
    assert aggregate.run("filter", {}, (1, 2), None, lambda _: 1) == ()


def test_sums_and_counts() -> None:
    assert aggregate.run("sumQty", {"unit": "kg"}, KILOS, None, no_lambda) == Quantity(Decimal("3.75"), "kg")
    decimals = (Num(Decimal("1.50")), Num(Decimal("0.25")))
    assert repr(aggregate.run("sumDec", {"scale": 2}, decimals, None, no_lambda)) == repr(
        Num(Decimal("1.75"))
    )
    assert aggregate.run("count", {}, KILOS, None, no_lambda) == 2


def test_sums_by_key_and_what_is_there_once_stand_in_order_of_first_appearance() -> None:
    one, two = KILOS
    pairs: tuple[Value, ...] = ({"key": "b", "sum": one}, {"key": "a", "sum": two}, {"key": "b", "sum": two})

    assert aggregate.run("sumBy", {"unit": "kg"}, pairs, None, no_lambda) == (
        {"key": "b", "sum": Quantity(Decimal("3.75"), "kg")},
        {"key": "a", "sum": two},
    )
    assert aggregate.run("distinct", {}, ("b", "a", "b", "a"), None, no_lambda) == ("b", "a")


def test_the_sum_of_nothing_is_zero() -> None:
    assert aggregate.run("sumQty", {"unit": "kg"}, (), None, no_lambda) == Quantity(Decimal(0), "kg")
    assert repr(aggregate.run("sumDec", {"scale": 2}, (), None, no_lambda)) == repr(Num(Decimal("0.00")))


@pytest.mark.parametrize(
    ("name", "params", "items", "code"),
    [
        ("map", {}, 1, "RULE_TYPE_ERROR"),
        ("unheard-of", {}, (), "RULE_TYPE_ERROR"),
        ("sumQty", {"unit": "g"}, KILOS, "UNIT_MISMATCH"),
        ("sumQty", {"unit": "kg"}, (1,), "UNIT_MISMATCH"),
        ("sumQty", {}, KILOS, "RULE_TYPE_ERROR"),
        ("sumDec", {"scale": 2}, (1,), "RULE_TYPE_ERROR"),
        ("sumBy", {"unit": "kg"}, (1,), "RULE_TYPE_ERROR"),
        ("sumBy", {"unit": "g"}, ({"key": "a", "sum": KILOS[0]},), "UNIT_MISMATCH"),
        ("sumDec", {"scale": 99}, (), "RULE_TYPE_ERROR"),
        ("sumDec", {"scale": 0}, (Num(Decimal("9" * 1_000)), Num(Decimal(1))), "RULE_LIMIT_EXCEEDED"),
    ],
)
def test_what_is_refused(name: str, params: dict[str, object], items: Value, code: str) -> None:
    with pytest.raises(RuleError) as caught:
        aggregate.run(name, params, items, None, no_lambda)

    assert caught.value.code == code
