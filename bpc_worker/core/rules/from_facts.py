"""Values out of facts: by name, and as the types that rules work with.

A fact's content never appears in a message: errors are stored, and facts are a supplier's data.
"""

from collections.abc import Mapping
from decimal import Decimal

from bpc_worker.core.base import numbers
from bpc_worker.core.base.calendar import read_moment, read_month
from bpc_worker.core.base.numbers import TooManyDigitsError
from bpc_worker.core.rules.arithmetic import decimal_of, mismatch
from bpc_worker.core.rules.parse_types import iso_date
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.values import Fact, JsonValue, Num, Quantity, Value, read_texts

MAX_TEXT_DIGITS = 50  # of a number that stands in a fact or a text

_SHAPES: Mapping[type, str] = {
    bool: "true or false", int: "a whole number", str: "a text", list: "a list", dict: "an object",
}  # fmt: skip


def _wrong(name: str, wanted: str, found: object) -> RuleError:
    message = f"{name} wants {wanted}, not {_SHAPES.get(type(found), 'nothing')}"
    return RuleError(
        "VALIDATION_ERROR", message, hint="correct the fact, or read it by a function that fits its value"
    )


def _inner(name: str, operand: Value) -> object:
    return operand.value if isinstance(operand, JsonValue) else mismatch(name, operand)


def to_int(operand: Value) -> Value:
    inner = _inner("toInt", operand)
    if not isinstance(inner, int) or isinstance(inner, bool):
        raise _wrong("toInt", _SHAPES[int], inner)
    return inner


def to_text(operand: Value) -> Value:
    inner = _inner("toText", operand)
    if not isinstance(inner, str):
        raise _wrong("toText", _SHAPES[str], inner)
    return inner


def to_bool(operand: Value) -> Value:
    inner = _inner("toBool", operand)
    if not isinstance(inner, bool):
        raise _wrong("toBool", _SHAPES[bool], inner)
    return inner


def to_date(operand: Value) -> Value:
    inner = _inner("toDate", operand)
    if not isinstance(inner, str):
        raise _wrong("toDate", "a date in a text", inner)
    found = iso_date(inner)
    if found is None:
        message, hint = "toDate: the text is no date", "correct the fact: year, month and day, as 2027-02-18"
        raise RuleError("VALIDATION_ERROR", message, hint=hint)
    return found


def to_month(operand: Value) -> Value:
    inner = _inner("toMonth", operand)
    if not isinstance(inner, str):
        raise _wrong("toMonth", "a month in a text", inner)
    found = read_month(inner)
    if found is None:
        message, hint = "toMonth: the text is no month", "correct the fact: year and month, as 2027-02"
        raise RuleError("VALIDATION_ERROR", message, hint=hint)
    return found


def to_moment(operand: Value) -> Value:
    inner = _inner("toMoment", operand)
    if not isinstance(inner, str):
        raise _wrong("toMoment", "a moment in a text", inner)
    found = read_moment(inner)
    if found is None:
        hint = "correct the fact: a day and a time in UTC, as 2027-02-18T12:00:00Z"
        raise RuleError("VALIDATION_ERROR", "toMoment: the text is no moment in UTC", hint=hint)
    return found


def to_texts(operand: Value) -> Value:
    inner = _inner("toTexts", operand)
    if not isinstance(inner, str | dict):
        raise _wrong("toTexts", "texts by language", inner)
    found = read_texts(inner)
    if found is None:
        hint = 'correct the fact: a text for each language, as {"en": "water", "de": "Wasser"}'
        raise RuleError("VALIDATION_ERROR", "toTexts: these are no texts by language", hint=hint)
    return found


def to_list(operand: Value) -> Value:
    inner = _inner("toList", operand)
    if not isinstance(inner, list | tuple):
        raise _wrong("toList", _SHAPES[list], inner)
    return tuple(JsonValue(each) for each in inner)


def to_dec(scale: int, operand: Value) -> Value:
    """Exactly at the given scale: what has more digits is refused, never rounded silently."""
    value = _number("toDec", operand)
    decimals = numbers.scale_of(numbers.trimmed(value))
    if decimals > scale:
        message = f"toDec: the number has {decimals} decimals, not {scale}"
        hint = f"round(half_even, {scale}, …) says how to shorten it"
        raise RuleError("VALIDATION_ERROR", message, hint=hint)
    return Num(numbers.rounded(value, scale))


def to_qty(unit: str, operand: Value) -> Value:
    return Quantity(_number("toQty", operand), unit)


def _number(name: str, operand: Value) -> Decimal:
    """The exact number in a fact's value or a text: digits and a point, nothing else."""
    inner = operand.value if isinstance(operand, JsonValue) else operand
    if not isinstance(inner, str):
        found = decimal_of(inner) if isinstance(inner, int | Num) else None
        if found is None:
            raise _wrong(name, "a number, or a text that is one", inner)
        return found
    try:
        found = numbers.read(inner, MAX_TEXT_DIGITS)
    except TooManyDigitsError:
        message = f"{name}: the text has more than {MAX_TEXT_DIGITS} digits"
        raise RuleError("VALIDATION_ERROR", message, hint="shorten the number in the fact") from None
    if found is None:
        hint = "digits, and a point before the decimals: 1234.5"
        raise RuleError("VALIDATION_ERROR", f"{name}: the text is not a number", hint=hint)
    return found


def record_get(name: str, operand: Value) -> Value:
    """A fact's value by name, absent as none; of a record of ours, the value itself."""
    match operand:
        case Fact(payload=payload):
            return _member(payload, name)
        case JsonValue(dict() as inner):
            return _member(inner, name)
        case JsonValue(inner):
            raise _wrong("recordGet", "an object", inner)
        case Mapping() if name in operand:
            return operand[name]
        case _:
            return mismatch("recordGet", operand)


def _member(payload: Mapping[str, object], name: str) -> Value:
    found = payload.get(name)
    return None if found is None else JsonValue(found)
