"""Decimal arithmetic of the core: exact, but for division; no float, no exponent, bounded digits."""

from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    ROUND_UP,
    Context,
    Decimal,
)
from fractions import Fraction

DIVISION_DIGITS = 50
MAX_DIGITS = 1_000

ROUNDING = {
    "half_even": ROUND_HALF_EVEN,
    "half_up": ROUND_HALF_UP,
    "down": ROUND_DOWN,
    "up": ROUND_UP,
    "floor": ROUND_FLOOR,
    "ceiling": ROUND_CEILING,
}

# Twice the digits that any operand may have, so that sums and products are exact.
_EXACT = Context(prec=2 * MAX_DIGITS + 10, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_DIVISION = Context(prec=DIVISION_DIGITS, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


class TooManyDigitsError(ArithmeticError):
    """A number outgrew the limit."""


def bounded(value: Decimal) -> Decimal:
    """The value without an exponent, as long as it has no more digits than allowed."""
    _, digits, exponent = value.as_tuple()
    shift = exponent if isinstance(exponent, int) else 0
    if max(len(digits) + max(shift, 0), -shift) > MAX_DIGITS:
        raise TooManyDigitsError(f"a number of more than {MAX_DIGITS} digits")
    return value if shift <= 0 else value.quantize(Decimal(1), context=_EXACT)


def add(left: Decimal, right: Decimal) -> Decimal:
    return bounded(_EXACT.add(left, right))


def subtract(left: Decimal, right: Decimal) -> Decimal:
    return bounded(_EXACT.subtract(left, right))


def multiply(left: Decimal, right: Decimal) -> Decimal:
    return bounded(_EXACT.multiply(left, right))


def divide(left: Decimal, right: Decimal) -> Decimal:
    """Exact where the result has at most 50 digits, else rounded to 50, half to even; no trailing zeros.

    ZeroDivisionError for a zero divisor.
    """
    if right.is_zero():
        raise ZeroDivisionError
    return trimmed(_DIVISION.divide(left, right))


def scaled(value: Decimal, factor: Fraction) -> Decimal:
    """The value times a fraction, by the rule of division."""
    return divide(multiply(value, Decimal(factor.numerator)), Decimal(factor.denominator))


def trimmed(value: Decimal) -> Decimal:
    """Without trailing zeros behind the point; zero is 0."""
    if value.is_zero():
        return Decimal(0)
    return bounded(value.normalize(_EXACT))


def rounded(value: Decimal, scale: int, mode: str = "half_even") -> Decimal:
    return bounded(value.quantize(Decimal(1).scaleb(-scale), rounding=ROUNDING[mode], context=_EXACT))


def scale_of(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0


def text(value: Decimal) -> str:
    """Digits, a point, digits: no exponent, no sign of zero."""
    plain = format(value, "f")
    return plain[1:] if plain.startswith("-") and value.is_zero() else plain
