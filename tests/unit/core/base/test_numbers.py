from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base import numbers
from bpc_worker.core.base.numbers import MAX_DIGITS, TooManyDigitsError

decimals = st.builds(
    lambda digits, scale: Decimal((0 if digits >= 0 else 1, tuple(map(int, str(abs(digits)))), -scale)),
    st.integers(-(10**40), 10**40),
    st.integers(0, 30),
)


@given(left=decimals, right=decimals)
def test_sums_and_products_are_exact(left: Decimal, right: Decimal) -> None:
    exact = {
        numbers.add: Fraction(left) + Fraction(right),
        numbers.subtract: Fraction(left) - Fraction(right),
        numbers.multiply: Fraction(left) * Fraction(right),
    }

    for run, expected in exact.items():
        assert Fraction(run(left, right)) == expected


@given(left=decimals, right=decimals.filter(bool))
def test_a_quotient_is_the_nearest_number_of_50_digits(left: Decimal, right: Decimal) -> None:
    quotient = numbers.divide(left, right)
    exact = Fraction(left) / Fraction(right)

    significant = "".join(map(str, quotient.as_tuple().digits)).rstrip("0")
    assert len(significant) <= 50 or Fraction(quotient) == exact
    if exact:
        first = quotient.adjusted()
        assert abs(Fraction(quotient) - exact) <= Fraction(10) ** (first - 49) / 2


@pytest.mark.parametrize(
    ("left", "right", "quotient"),
    [
        ("1", "3", "0." + "3" * 50),
        ("2", "3", "0." + "6" * 49 + "7"),
        ("1", "8", "0.125"),
        ("100", "10", "10"),
        ("1.00", "2.00", "0.5"),
        ("0.00", "7", "0"),
        ("-7", "2", "-3.5"),
        ("1" + "0" * 60, "1", "1" + "0" * 60),
        # A half between two numbers of 50 digits goes to the even one.
        ("1" + "0" * 49 + "5", "10", "1" + "0" * 49),
        ("1" + "0" * 48 + "15", "10", "1" + "0" * 48 + "2"),
    ],
)
def test_quotients(left: str, right: str, quotient: str) -> None:
    assert numbers.text(numbers.divide(Decimal(left), Decimal(right))) == quotient


def test_nothing_is_divided_by_zero() -> None:
    with pytest.raises(ZeroDivisionError):
        numbers.divide(Decimal(1), Decimal("0.00"))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("half_even", ["2", "-2", "4", "3", "-3", "2", "0"]),
        ("half_up", ["3", "-3", "4", "3", "-3", "2", "0"]),
        ("down", ["2", "-2", "3", "2", "-2", "2", "0"]),
        ("up", ["3", "-3", "4", "3", "-3", "2", "1"]),
        ("floor", ["2", "-3", "3", "2", "-3", "2", "0"]),
        ("ceiling", ["3", "-2", "4", "3", "-2", "2", "1"]),
    ],
)
def test_rounding_modes(mode: str, expected: list[str]) -> None:
    given = ["2.5", "-2.5", "3.5", "2.6", "-2.6", "2.0", "0.0001"]

    assert [numbers.text(numbers.rounded(Decimal(each), 0, mode)) for each in given] == expected


def test_a_rounded_number_has_exactly_its_scale_and_no_sign_of_zero() -> None:
    assert numbers.text(numbers.rounded(Decimal(3), 3)) == "3.000"
    assert numbers.text(numbers.rounded(Decimal("-0.0004"), 3)) == "0.000"
    assert numbers.text(Decimal("-0.00")) == "0.00"
    assert str(numbers.negate(Decimal("0.00"))) == "0.00"


def test_a_number_outgrows_its_digits() -> None:
    largest = Decimal("9" * MAX_DIGITS)

    with pytest.raises(TooManyDigitsError):
        numbers.add(largest, Decimal(1))
    with pytest.raises(TooManyDigitsError):
        numbers.multiply(largest, largest)
    with pytest.raises(TooManyDigitsError):
        numbers.divide(Decimal((0, (1,), -900)), Decimal((0, (1,), 900)))


def test_a_sum_may_pass_the_limit_on_the_way_but_not_at_the_end() -> None:
    largest = Decimal("9" * MAX_DIGITS)

    assert numbers.total([largest, largest, numbers.negate(largest)], 0) == largest
    with pytest.raises(TooManyDigitsError):
        numbers.total([largest, largest], 0)


def test_the_sum_of_nothing_has_its_scale() -> None:
    assert numbers.text(numbers.total([], 2)) == "0.00"


@pytest.mark.parametrize("text", ["0", "-0.50", "007", "12345678901234567890.5"])
def test_numbers_are_read(text: str) -> None:
    assert numbers.read(text) == Decimal(text)


@pytest.mark.parametrize(
    "text", ["", "-", "+1", ".5", "5.", "1e5", "1_000", "1,5", " 1", "1\n", "NaN", "Infinity", "٣", "0x1"]
)
def test_what_is_no_number_is_not_read(text: str) -> None:
    assert numbers.read(text) is None


@pytest.mark.parametrize("form", ["{}", "-{}", "{}.5", "-{}.5", "0.{}", "-0.{}"])
def test_every_digit_that_is_written_counts_and_nothing_else(form: str) -> None:
    """The sign and the point are no digits; zeros are."""
    digits = 50 - sum(character.isdigit() for character in form)

    for digit in "90":
        assert numbers.read(form.format(digit * digits), 50) == Decimal(form.format(digit * digits))
        with pytest.raises(TooManyDigitsError, match="a number of more than 50 digits"):
            numbers.read(form.format(digit * (digits + 1)), 50)


def test_the_longest_number_has_a_thousand_digits() -> None:
    assert numbers.read("9" * MAX_DIGITS) == Decimal("9" * MAX_DIGITS)
    with pytest.raises(TooManyDigitsError):
        numbers.read("9" * (MAX_DIGITS + 1))


def test_a_long_text_that_is_no_number_is_none() -> None:
    assert numbers.read("9" * 60 + "x", 50) is None


def test_the_context_of_the_thread_changes_nothing() -> None:
    """Somebody else's precision and traps are not ours."""
    third, long = numbers.divide(Decimal(1), Decimal(3)), Decimal("1.2345678901234567890")
    with localcontext() as context:
        context.prec, context.Emax = 2, 3
        for trap in context.traps:
            context.traps[trap] = True
        assert numbers.divide(Decimal(1), Decimal(3)) == third
        assert numbers.text(numbers.add(long, long)) == "2.4691357802469135780"
        assert numbers.text(numbers.rounded(long, 10)) == "1.2345678901"
        assert numbers.text(numbers.negate(long)) == "-1.2345678901234567890"
        assert numbers.text(numbers.total([long], 30)) == "1.234567890123456789000000000000"
        assert numbers.scaled(long, Fraction(1, 1000)) == Decimal("0.001234567890123456789")
