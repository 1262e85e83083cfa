"""Decimal arithmetic of the core: exact, but for division; no float, no exponent, bounded digits."""

import re
from collections.abc import Iterable
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
from types import MappingProxyType

DIVISION_DIGITS = 50
MAX_DIGITS = 1_000  # of any number: part of the format, as a verifier must stop where we stop
MAX_SCALE = 30

ROUNDING = MappingProxyType(
    {
        "half_even": ROUND_HALF_EVEN,
        "half_up": ROUND_HALF_UP,
        "down": ROUND_DOWN,
        "up": ROUND_UP,
        "floor": ROUND_FLOOR,
        "ceiling": ROUND_CEILING,
    }
)

# Contexts of our own, always named: the thread's context belongs to somebody else.
# Twice the digits that any operand may have, so that sums and products are exact.
_EXACT = Context(prec=2 * MAX_DIGITS + 10, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_DIVISION = Context(prec=DIVISION_DIGITS, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_UNITS = tuple(Decimal((0, (1,), -scale)) for scale in range(MAX_SCALE + 1))  # 1, 0.1, 0.01 …


class TooManyDigitsError(ArithmeticError):
    """A number outgrew the limit."""


def digits_of(value: Decimal) -> int:
    """How many digits it takes to write the value without an exponent."""
    _, digits, exponent = value.as_tuple()
    shift = int(exponent)
    return max(len(digits) + max(shift, 0), 1 - shift)


def bounded(value: Decimal) -> Decimal:
    """The value without an exponent and without a sign of zero, if it has no more digits than allowed."""
    if digits_of(value) > MAX_DIGITS:
        raise TooManyDigitsError(f"a number of more than {MAX_DIGITS} digits")
    plain = value.quantize(_UNITS[0], context=_EXACT) if scale_of(value) == 0 else value
    return plain or plain.copy_abs()


def read(text: str, digits: int = MAX_DIGITS) -> Decimal | None:
    """The number that a text is: digits, perhaps a point and digits. None for every other text.

    TooManyDigitsError before it is converted; every digit that is written counts.
    """
    if not _NUMBER.fullmatch(text):
        return None
    if len(text) - text.startswith("-") - ("." in text) > digits:
        raise TooManyDigitsError(f"a number of more than {digits} digits")
    number = Decimal(text)
    return number or number.copy_abs()


def add(left: Decimal, right: Decimal) -> Decimal:
    return bounded(_EXACT.add(left, right))


def total(values: Iterable[Decimal], scale: int) -> Decimal:
    """The exact sum, with at least so many digits behind the point."""
    found = Decimal((0, (0,), -scale))
    for value in values:
        found = _EXACT.add(found, value)
    return bounded(found)


def subtract(left: Decimal, right: Decimal) -> Decimal:
    return bounded(_EXACT.subtract(left, right))


def multiply(left: Decimal, right: Decimal) -> Decimal:
    return bounded(_EXACT.multiply(left, right))


def negate(value: Decimal) -> Decimal:
    return value.copy_negate() if value else value


def divide(left: Decimal, right: Decimal) -> Decimal:
    """Exact where the result has at most 50 digits, else rounded to 50, half to even; no trailing zeros.

    ZeroDivisionError for a zero divisor.
    """
    if not right:
        raise ZeroDivisionError
    return trimmed(_DIVISION.divide(left, right))


def scaled(value: Decimal, factor: Fraction) -> Decimal:
    """The value times a fraction, by the rule of division."""
    return divide(multiply(value, Decimal(factor.numerator)), Decimal(factor.denominator))


def trimmed(value: Decimal) -> Decimal:
    """Without trailing zeros behind the point; zero is 0."""
    return bounded(value.normalize(_EXACT)) if value else Decimal(0)


def rounded(value: Decimal, scale: int, mode: str = "half_even") -> Decimal:
    return bounded(value.quantize(_UNITS[scale], rounding=ROUNDING[mode], context=_EXACT))


def scale_of(value: Decimal) -> int:
    """How many digits stand behind the point."""
    return max(0, -int(value.as_tuple().exponent))


def text(value: Decimal) -> str:
    """Digits, a point, digits: no exponent, no sign of zero."""
    return format(value or value.copy_abs(), "f")
