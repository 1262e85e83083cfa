import re
from fractions import Fraction
from pathlib import Path

import pytest

from bpc_worker.core.base.units import DIVIDE, MULTIPLY, NUMBER, UNITS, conversion

# The contract's units, by name.
NAMED = (
    "kg g mg t kWh Wh Ah V W Ohm degC h min month year cycles each pct "
    "gCO2e kgCO2e tCO2e gCO2e_per_kWh kgCO2e_per_kWh"
)


def test_every_unit_of_the_contract_is_known() -> None:
    assert set(NAMED.split()) <= set(UNITS)


@pytest.mark.parametrize(
    ("source", "target", "factor"),
    [
        ("kg", "g", Fraction(1000)),
        ("mg", "t", Fraction(1, 10**9)),
        ("kWh", "Wh", Fraction(1000)),
        ("h", "min", Fraction(60)),
        ("month", "year", Fraction(1, 12)),
        ("tCO2e", "gCO2e", Fraction(10**6)),
        ("gCO2e_per_kWh", "kgCO2e_per_kWh", Fraction(1, 1000)),
        ("V", "V", Fraction(1)),
        ("kg", "V", None),
        ("h", "month", None),
    ],
)
def test_conversions(source: str, target: str, factor: Fraction | None) -> None:
    assert conversion(source, target) == factor


def test_conversions_are_one_another_s_inverse() -> None:
    for source in UNITS:
        for target in UNITS:
            there, back = conversion(source, target), conversion(target, source)
            assert (there is None) == (back is None)
            assert there is None or back is None or there * back == 1


def test_products_commute_and_quotients_undo_them() -> None:
    for (a, b), c in MULTIPLY.items():
        assert MULTIPLY[b, a] == c
        assert c == NUMBER or (DIVIDE[c, a], DIVIDE[c, b]) == (b, a)


def test_a_unit_by_itself_is_a_number() -> None:
    assert all(DIVIDE[unit, unit] == NUMBER for unit in UNITS)


def test_the_algebra_is_what_the_documentation_says() -> None:
    page = (Path(__file__).parents[4] / "docs" / "rules.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (?:`(\w+)`|a `Num`) \|", page, re.MULTILINE)
    quotients = re.findall(r"`(\w+) / (\w+)` is `(\w+)`", page)

    assert {pair: c for a, b, c in rows for pair in ((a, b), (b, a))} == MULTIPLY
    assert {(a, b): c for a, b, c in quotients} == {pair: c for pair, c in DIVIDE.items() if c != NUMBER}


def test_the_documentation_lists_every_unit_with_its_dimension() -> None:
    page = (Path(__file__).parents[4] / "docs" / "rules.md").read_text()
    rows = re.findall(r"^\| ([a-z ]+) \| ((?:`\w+`[^|]*)) \|$", page, re.MULTILINE)
    listed = {unit: dimension for dimension, units in rows for unit in re.findall(r"`(\w+)`", units)}

    assert {unit: dimension for unit, (dimension, _) in UNITS.items()} == {
        unit: dimension for unit, dimension in listed.items() if unit in UNITS
    }
