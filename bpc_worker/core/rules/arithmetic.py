"""Operations on numbers and quantities, and comparisons."""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import NoReturn

from bpc_worker.core.base import numbers
from bpc_worker.core.base.calendar import Moment, Month, add_months, month_of
from bpc_worker.core.base.units import DIVIDE, MULTIPLY, NUMBER, conversion
from bpc_worker.core.rules.source import RuleError, unchecked
from bpc_worker.core.rules.values import Num, Quantity, Texts, Value

_HUNDRED = Decimal(100)


def mismatch(name: str, *operands: Value) -> NoReturn:
    shown = " and ".join(type(operand).__name__ for operand in operands)
    raise unchecked(f"{name} does not take {shown}")


def integer_of(value: Value) -> int | None:
    """The value if it is an Int: a Bool is none, though Python thinks so."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def decimal_of(value: Value) -> Decimal | None:
    if isinstance(value, Num):
        return value.value
    number = integer_of(value)
    return None if number is None else Decimal(number)


def _additive(name: str, run: Callable[[Decimal, Decimal], Decimal], left: Value, right: Value) -> Value:
    match left, right:
        case Quantity(a, unit), Quantity(b, other):
            if unit != other:
                raise unchecked(f"'{name}' does not fit {unit} and {other}", "UNIT_MISMATCH")
            return Quantity(run(a, b), unit)
        case Num(a), Num(b):
            return Num(run(a, b))
        case _:
            first, second = integer_of(left), integer_of(right)
            if first is None or second is None:
                mismatch(name, left, right)
            return int(run(Decimal(first), Decimal(second)))


def add(left: Value, right: Value) -> Value:
    return _additive("+", numbers.add, left, right)


def subtract(left: Value, right: Value) -> Value:
    return _additive("-", numbers.subtract, left, right)


def _with_unit(value: Decimal, unit: str) -> Value:
    return Num(value) if unit == NUMBER else Quantity(value, unit)


def multiply(left: Value, right: Value) -> Value:
    match left, right:
        case Quantity(a, unit), Quantity(b, other):
            if (unit, other) not in MULTIPLY:
                raise unchecked(f"'*' does not fit {unit} and {other}", "UNIT_MISMATCH")
            return _with_unit(numbers.multiply(a, b), MULTIPLY[unit, other])
        case (Quantity(a, unit), factor) | (factor, Quantity(a, unit)):
            by = decimal_of(factor)
            return mismatch("*", left, right) if by is None else Quantity(numbers.multiply(a, by), unit)
        case _:
            first, second = decimal_of(left), decimal_of(right)
            if first is None or second is None:
                mismatch("*", left, right)
            product = numbers.multiply(first, second)
            return int(product) if isinstance(left, int) and isinstance(right, int) else Num(product)


def divide(left: Value, right: Value) -> Value:
    match left, right:
        case Quantity(a, unit), Quantity(b, other):
            if (unit, other) not in DIVIDE:
                raise unchecked(f"'/' does not fit {unit} and {other}", "UNIT_MISMATCH")
            return _with_unit(numbers.divide(a, b), DIVIDE[unit, other])
        case _:
            dividend = left.value if isinstance(left, Quantity) else decimal_of(left)
            divisor = decimal_of(right)
            if dividend is None or divisor is None:
                mismatch("/", left, right)
            quotient = numbers.divide(dividend, divisor)
            return Quantity(quotient, left.unit) if isinstance(left, Quantity) else Num(quotient)


def negate(operand: Value) -> Value:
    match operand:
        case Quantity(value, unit):
            return Quantity(numbers.negate(value), unit)
        case Num(value):
            return Num(numbers.negate(value))
        case _:
            number = integer_of(operand)
            return mismatch("-", operand) if number is None else -number


def percent(part: Value, whole: Value) -> Value:
    """A hundred times the part, by the whole: rounded once, if at all."""
    match part, whole:
        case Quantity(a, unit), Quantity(b, other):
            if unit != other:
                raise unchecked(f"a share of {unit} in {other}", "UNIT_MISMATCH")
        case _:
            first, second = decimal_of(part), decimal_of(whole)
            if first is None or second is None:
                mismatch("percent", part, whole)
            a, b = first, second
    return Quantity(numbers.divide(numbers.multiply(a, _HUNDRED), b), "pct")


def rounded(mode: str, scale: int, operand: Value) -> Value:
    """At that scale. Absent stays absent: an Opt is rounded too, where a declared scale demands it."""
    if operand is None:
        return None
    if isinstance(operand, Quantity):
        return Quantity(numbers.rounded(operand.value, scale, mode), operand.unit)
    value = decimal_of(operand)
    return mismatch("round", operand) if value is None else Num(numbers.rounded(value, scale, mode))


def convert(unit: str, operand: Value) -> Value:
    if not isinstance(operand, Quantity):
        mismatch("convert", operand)
    factor = conversion(operand.unit, unit)
    if factor is None:
        raise unchecked(f"{operand.unit} cannot be converted to {unit}", "UNIT_MISMATCH")
    return Quantity(numbers.scaled(operand.value, factor), unit)


def ordered(left: Value, right: Value) -> int:
    """-1, 0 or 1; RuleError when the two cannot be compared."""
    match left, right:
        case Quantity(a, unit), Quantity(b, other):
            if unit != other:
                raise unchecked(f"{unit} and {other} cannot be compared", "UNIT_MISMATCH")
            return (a > b) - (a < b)
        case str() as a, str() as b:
            return (a > b) - (a < b)
        case date() as a, date() as b:
            return (a > b) - (a < b)
        case Month() as a, Month() as b:
            return (a > b) - (a < b)
        case Moment() as a, Moment() as b:
            return (a > b) - (a < b)
        case _:
            first, second = decimal_of(left), decimal_of(right)
            if first is None or second is None:
                mismatch("a comparison", left, right)
            return (first > second) - (first < second)


def equal(left: Value, right: Value) -> bool:
    """By value: 1.50 equals 1.5, true is not 1, and an absent value equals only an absent one."""
    match left, right:
        case (None, _) | (_, None) | (bool(), _) | (_, bool()):
            return left is right
        case (tuple() as a, tuple() as b):
            return len(a) == len(b) and all(map(equal, a, b))
        case (Mapping() as a, Mapping() as b):
            return a.keys() == b.keys() and all(equal(each, b[key]) for key, each in a.items())
        case Texts(a), Texts(b):
            return dict(a) == dict(b)
        case _ if type(left) is not type(right):
            return mismatch("a comparison", left, right)
        case _:
            return ordered(left, right) == 0


def month_of_date(operand: Value) -> Value:
    return month_of(operand) if isinstance(operand, date) else mismatch("monthOf", operand)


def months_later(day: Value, months: Value) -> Value:
    number = integer_of(months)
    if not isinstance(day, date) or number is None:
        mismatch("addMonths", day, months)
    found = add_months(day, number)
    if found is None:
        hint = "look where the number of months comes from"
        raise RuleError("VALIDATION_ERROR", "addMonths: beyond the years 1 to 9999", hint=hint)
    return found
