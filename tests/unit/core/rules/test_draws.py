import pickle
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from bpc_worker.core.rules.draws import Draw
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.typed import Property
from bpc_worker.core.rules.values import Num, Value
from tests.vectors import load as vector

DRAWS = vector("draw/cases")["cases"]


def draw(written: str) -> Draw:
    [test] = load(f"property p: cases(1) seed(1) {{}} forall v: {written} => true;").tests
    assert isinstance(test, Property)
    [found] = test.draws
    return found


def values(written: str, count: int = 200) -> list[Value]:
    return [draw(written).value(7, "p", case) for case in range(count)]


def told(value: Value) -> Any:
    match value:
        case Num(number):
            return format(number, "f")
        case date():
            return value.isoformat()
        case _:
            return value


@pytest.mark.parametrize("case", DRAWS, ids=lambda case: f"{case['generator']} {case['case']}")
def test_golden_draws(case: dict[str, Any]) -> None:
    found = draw(case["generator"])
    renamed = Draw(case["variable"], found.choices, found.value_of)

    assert told(renamed.value(case["seed"], case["test"], case["case"])) == case["value"]


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ("Int in [-3, 3]", -3, 3),
        ("Int in [5, 5]", 5, 5),
        ("Dec(1) in [-0.3, 0.3]", Num(Decimal("-0.3")), Num(Decimal("0.3"))),
        ('Date in [date("2027-01-30"), date("2027-02-02")]', date(2027, 1, 30), date(2027, 2, 2)),
    ],
)
def test_a_range_is_drawn_from_its_first_to_its_last_value(written: str, low: Value, high: Value) -> None:
    found = [each.value if isinstance(each, Num) else each for each in values(written)]

    assert min(found) == (low.value if isinstance(low, Num) else low)  # type: ignore[type-var]
    assert max(found) == (high.value if isinstance(high, Num) else high)  # type: ignore[type-var]


def test_decimals_have_the_scale_of_their_type() -> None:
    assert {told(each) for each in values("Dec(2) in [0.00, 0.02]")} == {"0.00", "0.01", "0.02"}
    assert {told(each) for each in values("Dec(2) in [-0.01, 0.00]")} == {"-0.01", "0.00"}


def test_long_numbers_are_drawn_exactly() -> None:
    """Thirty-five digits: more than a thread's decimal context keeps."""
    end = "12345678901234567890123456789012345"

    assert told(draw(f"Dec(2) in [{end}.07, {end}.07]").value(1, "p", 0)) == f"{end}.07"
    assert draw(f"Int in [{end}, {end}]").value(1, "p", 0) == int(end)


def test_a_checked_property_can_be_sent_to_another_process() -> None:
    """So that a module is checked once, wherever its tests run."""
    written = 'Int in [1, 9], w: Dec(2) in [0.00, 9.99], x: Date in [date("2027-01-01"), date("2027-12-31")]'
    module = load(f'property p: cases(1) seed(1) {{}} forall v: {written}, y: Text in {{"a", "b"}} => v > 0;')
    [test], [sent] = module.tests, pickle.loads(pickle.dumps(module)).tests  # noqa: S301 - our own bytes

    assert isinstance(test, Property)
    assert [each.value(1, "p", 0) for each in sent.draws] == [each.value(1, "p", 0) for each in test.draws]


def test_a_choice_is_drawn_from_what_is_listed() -> None:
    assert set(values('Text in {"M1", "N1"}')) == {"M1", "N1"}
    assert set(values("Bool in {true}")) == {True}
    assert set(values("Opt(Int) in {none, 5}")) == {None, 5}
    assert {told(each) for each in values("Dec(2) in {1.5, 2.25}")} == {"1.50", "2.25"}


def test_each_variable_test_seed_and_case_has_draws_of_its_own() -> None:
    found = draw("Int in [0, 1000000000]")
    other = Draw("w", found.choices, found.value_of)

    drawn = [
        found.value(1, "p", 0), found.value(2, "p", 0), found.value(1, "q", 0), found.value(1, "p", 1),
        other.value(1, "p", 0),
    ]  # fmt: skip

    assert len(set(drawn)) == len(drawn)
    assert found.value(1, "p", 0) == drawn[0]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("Int in [3, 1]", "no range of Int"),
        ("Dec(1) in [0.2, 0.1]", "no range of Dec(1)"),
        ('Date in [date("2027-02-02"), date("2027-02-01")]', "no range of Date"),
        ('Text in ["a", "b"]', "no range of Text"),
        ("Bool in [false, true]", "no range of Bool"),
        ("Qty(kg) in [qty(1, kg), qty(2, kg)]", "no range of Qty(kg)"),
        ("Opt(Dec(1)) in [0.1, 0.2]", "no range of Opt(Dec(1))"),
        ("Int in {1.5}", "expected a plain Int"),
        ("Dec(1) in {1}", "expected a plain Dec(1)"),
        ("Dec(1) in {0.15}", "expected a plain Dec(1)"),
        ("Dec(1) in [0.05, 1.0]", "expected a plain Dec(1)"),
        ("Int in {1 + 1}", "expected a plain Int"),
        ("Qty(kg) in {qty(1, g)}", "expected a plain Qty(kg)"),
    ],
)
def test_generators_that_make_no_sense_are_refused(written: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        draw(written)

    assert caught.value.message == message
