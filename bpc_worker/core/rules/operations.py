"""The operations on values, by name: used by evaluation and, once more, by whoever verifies a proof.

An operation takes its parameters (what the rule text fixes: a unit, a scale) and its operands. It raises
RuleError with a code; the place is added by the caller, who knows it.
"""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import NoReturn

from bpc_worker.core import numbers
from bpc_worker.core.numbers import TooManyDigitsError
from bpc_worker.core.rules.parse_types import iso_date
from bpc_worker.core.rules.source import RuleError, limit_exceeded
from bpc_worker.core.rules.values import Fact, JsonValue, Num, Quantity, Value
from bpc_worker.core.units import DIVIDE, MULTIPLY, conversion

Parameters = Mapping[str, object]
Operation = Callable[[Parameters, tuple[Value, ...]], Value]

_FACT_DIGITS = 50


def apply(name: str, parameters: Parameters, operands: tuple[Value, ...]) -> Value:
    operation = OPERATIONS.get(name)
    if operation is None:
        raise RuleError("RULE_TYPE_ERROR", f"unknown operation {name}")
    try:
        return operation(parameters, operands)
    except TooManyDigitsError as error:
        raise limit_exceeded("a number outgrew the digits", numbers.MAX_DIGITS) from error
    except ZeroDivisionError as error:
        hint = "guard it: if (x == …) then … else …"
        raise RuleError("DIVISION_BY_ZERO", "division by zero", hint=hint) from error


def mismatch(name: str, *operands: Value) -> NoReturn:
    shown = " and ".join(type(operand).__name__ for operand in operands)
    raise RuleError("RULE_TYPE_ERROR", f"{name} does not take {shown}")


def decimal_of(value: Value) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    return value.value if isinstance(value, Num) else None


def _additive(name: str, function: Callable[[Decimal, Decimal], Decimal]) -> Operation:
    def run(_: Parameters, operands: tuple[Value, ...]) -> Value:
        left, right = operands
        match left, right:
            case Quantity(a, unit), Quantity(b, other) if unit == other:
                return Quantity(function(a, b), unit)
            case Quantity(), Quantity():
                raise RuleError("UNIT_MISMATCH", f"{left.unit} and {right.unit} cannot be combined by {name}")
            case Num(a), Num(b):
                return Num(function(a, b))
            case int(), int() if not isinstance(left, bool) and not isinstance(right, bool):
                return int(function(Decimal(left), Decimal(right)))
            case _:
                mismatch(name, left, right)

    return run


def _multiply(_: Parameters, operands: tuple[Value, ...]) -> Value:
    left, right = operands
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        unit = MULTIPLY.get((left.unit, right.unit))
        if unit is None:
            raise RuleError("UNIT_MISMATCH", f"{left.unit} × {right.unit} has no unit")
        return Quantity(numbers.multiply(left.value, right.value), unit)
    if isinstance(right, Quantity):
        left, right = right, left
    factor = decimal_of(right)
    if isinstance(left, Quantity) and factor is not None:
        return Quantity(numbers.multiply(left.value, factor), left.unit)
    other = decimal_of(left)
    if factor is None or other is None:
        mismatch("*", *operands)
    product = numbers.multiply(other, factor)
    return int(product) if isinstance(left, int) and isinstance(right, int) else Num(product)


def _divide(_: Parameters, operands: tuple[Value, ...]) -> Value:
    left, right = operands
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        if left.unit == right.unit:
            return Num(numbers.divide(left.value, right.value))
        unit = DIVIDE.get((left.unit, right.unit))
        if unit is None:
            raise RuleError("UNIT_MISMATCH", f"{left.unit} ÷ {right.unit} has no unit")
        return Quantity(numbers.divide(left.value, right.value), unit)
    divisor = decimal_of(right)
    if isinstance(left, Quantity) and divisor is not None:
        return Quantity(numbers.divide(left.value, divisor), left.unit)
    dividend = decimal_of(left)
    if dividend is None or divisor is None:
        mismatch("/", *operands)
    return Num(numbers.divide(dividend, divisor))


def ordered(left: Value, right: Value) -> int:
    """-1, 0 or 1; RuleError when the two cannot be compared."""
    match left, right:
        case Quantity(a, unit), Quantity(b, other):
            if unit != other:
                raise RuleError("UNIT_MISMATCH", f"{unit} and {other} cannot be compared")
            return (a > b) - (a < b)
        case (str(), str()) | (date(), date()):
            return (left > right) - (left < right)
    a, b = decimal_of(left), decimal_of(right)
    if a is None or b is None:
        mismatch("a comparison", left, right)
    return (a > b) - (a < b)


def equal(left: Value, right: Value) -> bool:
    """By value: 1.50 equals 1.5, and an absent value equals only an absent one."""
    if isinstance(left, Num | Quantity | int) and isinstance(right, Num | Quantity | int):
        if isinstance(left, bool) or isinstance(right, bool):
            return left is right
        return ordered(left, right) == 0
    return type(left) is type(right) and left == right


def _comparison(test: Callable[[int], bool]) -> Operation:
    return lambda _, operands: test(ordered(operands[0], operands[1]))


def _negate(_: Parameters, operands: tuple[Value, ...]) -> Value:
    [operand] = operands
    match operand:
        case Quantity(value, unit):
            return Quantity(numbers.subtract(Decimal(0), value), unit)
        case Num(value):
            return Num(numbers.subtract(Decimal(0).quantize(value), value))
        case int() if not isinstance(operand, bool):
            return -operand
        case _:
            mismatch("-", operand)


def _not(_: Parameters, operands: tuple[Value, ...]) -> Value:
    [operand] = operands
    return not operand if isinstance(operand, bool) else mismatch("!", operand)


def _round(parameters: Parameters, operands: tuple[Value, ...]) -> Value:
    [operand] = operands
    mode, scale = str(parameters["mode"]), _scale(parameters)
    if isinstance(operand, Quantity):
        return Quantity(numbers.rounded(operand.value, scale, mode), operand.unit)
    value = decimal_of(operand)
    return mismatch("round", operand) if value is None else Num(numbers.rounded(value, scale, mode))


def _scale(parameters: Parameters) -> int:
    scale = parameters["scale"]
    if not isinstance(scale, int) or isinstance(scale, bool):
        raise RuleError("RULE_TYPE_ERROR", "a scale is a whole number")
    return scale


def number_in(value: Value, what: str) -> Decimal:
    """The exact number in a fact's value or a text: digits and a point, nothing else."""
    inner = value.value if isinstance(value, JsonValue) else value
    found = decimal_of(inner) if isinstance(inner, int | Num) else None
    if isinstance(inner, str) and inner.isascii() and "_" not in inner and inner == inner.strip():
        digits = inner.removeprefix("-")
        if digits.replace(".", "", 1).isdigit() and not digits.startswith(".") and not digits.endswith("."):
            try:
                found = Decimal(inner)
            except InvalidOperation:  # pragma: no cover - the digits were checked
                found = None
    if found is None:
        raise RuleError("VALIDATION_ERROR", f"{what}: {_shown(inner)} is not a number")
    if len(found.as_tuple().digits) > _FACT_DIGITS and isinstance(inner, str):
        raise limit_exceeded(f"{what}: a number of more than {_FACT_DIGITS} digits", _FACT_DIGITS)
    return found


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"  # noqa: PLR2004 - enough to recognise it


def _to_dec(parameters: Parameters, operands: tuple[Value, ...]) -> Value:
    """Exactly at the given scale: what has more digits is refused, never rounded silently."""
    value, scale = number_in(operands[0], "toDec"), _scale(parameters)
    if numbers.scale_of(numbers.trimmed(value)) > scale:
        hint = "round(…) says how to shorten it"
        raise RuleError(
            "VALIDATION_ERROR", f"{numbers.text(value)} has more than {scale} decimals", hint=hint
        )
    return Num(numbers.rounded(value, scale))


def _to_qty(parameters: Parameters, operands: tuple[Value, ...]) -> Value:
    return Quantity(number_in(operands[0], "toQty"), str(parameters["unit"]))


def _convert(parameters: Parameters, operands: tuple[Value, ...]) -> Value:
    [operand] = operands
    unit = str(parameters["unit"])
    if not isinstance(operand, Quantity):
        mismatch("convert", operand)
    factor = conversion(operand.unit, unit)
    if factor is None:
        raise RuleError("UNIT_MISMATCH", f"{operand.unit} cannot be converted to {unit}")
    return Quantity(numbers.scaled(operand.value, factor), unit)


def _percent(_: Parameters, operands: tuple[Value, ...]) -> Value:
    ratio = _divide({}, operands)
    if not isinstance(ratio, Num):
        mismatch("percent", *operands)
    return Quantity(numbers.multiply(ratio.value, Decimal(100)), "pct")


def _extreme(sign: int) -> Operation:
    def run(_: Parameters, operands: tuple[Value, ...]) -> Value:
        left, right = operands
        return left if sign * ordered(left, right) >= 0 else right

    return run


def _json_as(kind: type[bool] | type[int] | type[str], name: str) -> Operation:
    def run(_: Parameters, operands: tuple[Value, ...]) -> Value:
        [operand] = operands
        inner = operand.value if isinstance(operand, JsonValue) else operand
        if type(inner) is not kind:
            raise RuleError("VALIDATION_ERROR", f"{name}: {_shown(inner)} is no {kind.__name__}")
        return inner

    return run


def _to_date(_: Parameters, operands: tuple[Value, ...]) -> Value:
    [operand] = operands
    inner = operand.value if isinstance(operand, JsonValue) else operand
    found = iso_date(inner) if isinstance(inner, str) else None
    if found is None:
        raise RuleError("VALIDATION_ERROR", f"toDate: {_shown(inner)} is not a date such as 2027-02-18")
    return found


def _to_list(_: Parameters, operands: tuple[Value, ...]) -> Value:
    [operand] = operands
    inner = operand.value if isinstance(operand, JsonValue) else operand
    if not isinstance(inner, list):
        raise RuleError("VALIDATION_ERROR", f"toList: {_shown(inner)} is no list")
    return tuple(JsonValue(each) for each in inner)


def _lookup(_: Parameters, operands: tuple[Value, ...]) -> Value:
    table, key = operands
    if not isinstance(table, Mapping) or not isinstance(key, str):
        mismatch("lookup", table, key)
    return table.get(key)


def record_get(parameters: Parameters, operands: tuple[Value, ...]) -> Value:
    """A fact's value by name, absent as none; of a record of ours, the value itself."""
    [operand] = operands
    name = str(parameters["name"])
    inner = operand.payload if isinstance(operand, Fact) else operand
    if isinstance(inner, JsonValue):
        inner = inner.value
        if not isinstance(inner, dict):
            raise RuleError("VALIDATION_ERROR", f"recordGet: {_shown(inner)} is no object")
    if not isinstance(inner, Mapping):
        mismatch("recordGet", operand)
    found = inner.get(name)
    if isinstance(operand, Fact | JsonValue):
        return None if found is None else JsonValue(found)
    return found


def _require_some(parameters: Parameters, operands: tuple[Value, ...]) -> Value:
    [operand] = operands
    if operand is None:
        raise RuleError("NOT_FOUND", str(parameters.get("message") or "a value that is required is absent"))
    return operand


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "+": _additive("+", numbers.add),
        "-": _additive("-", numbers.subtract),
        "*": _multiply,
        "/": _divide,
        "==": lambda _, operands: equal(*operands),
        "!=": lambda _, operands: not equal(*operands),
        "<": _comparison(lambda order: order < 0),
        "<=": _comparison(lambda order: order <= 0),
        ">": _comparison(lambda order: order > 0),
        ">=": _comparison(lambda order: order >= 0),
        "negate": _negate,
        "!": _not,
        "round": _round,
        "toDec": _to_dec,
        "toQty": _to_qty,
        "convert": _convert,
        "percent": _percent,
        "min": _extreme(-1),
        "max": _extreme(1),
        "toInt": _json_as(int, "toInt"),
        "toText": _json_as(str, "toText"),
        "toBool": _json_as(bool, "toBool"),
        "toDate": _to_date,
        "toList": _to_list,
        "lookup": _lookup,
        "recordGet": record_get,
        "isSome": lambda _, operands: operands[0] is not None,
        "unwrapOr": lambda _, operands: operands[1] if operands[0] is None else operands[0],
        "requireSome": _require_some,
    }
)
