"""map, filter, fold, sumQty, sumDec, sumBy, distinct, count over a list of values."""

from collections.abc import Callable
from decimal import Decimal

from bpc_worker.core.base import numbers
from bpc_worker.core.rules import operations
from bpc_worker.core.rules.source import limit_exceeded, unchecked
from bpc_worker.core.rules.values import Num, Quantity, Value, form_text


def run(
    name: str, params: dict[str, object], items: Value, start: Value, call: Callable[..., Value]
) -> Value:
    """The result; RuleError when `items` is no list or an element does not fit."""
    if not isinstance(items, tuple):
        operations.mismatch(name, items)
    match name:
        case "map":
            return tuple(map(call, items))
        case "filter":
            return tuple([each for each in items if call(each) is True])
        case "fold":
            for each in items:
                start = call(start, each)
            return start
        case _:
            return _without_lambda(name, params, items)


def _without_lambda(name: str, params: dict[str, object], items: tuple[Value, ...]) -> Value:
    match name:
        case "sumQty":
            return _sum_qty(items, operations.unit_in(params))
        case "sumDec":
            return _sum_dec(items, operations.scale_in(params))
        case "sumBy":
            return _sum_by(items, operations.unit_in(params))
        case "distinct":
            return _distinct(items)
        case "count":
            return len(items)
        case _:
            raise unchecked(f"unknown operation {name}")


def _sum_qty(items: tuple[Value, ...], unit: str) -> Value:
    values = [each.value for each in items if isinstance(each, Quantity) and each.unit == unit]
    if len(values) < len(items):
        raise unchecked(f"sumQty wants quantities in {unit}", "UNIT_MISMATCH")
    return Quantity(_total(values, 0), unit)


def _sum_by(items: tuple[Value, ...], unit: str) -> Value:
    """One record per key, in order of first appearance."""
    by_key: dict[str, list[Value]] = {}
    for each in items:
        match each:
            case {"key": str(key), "sum": quantity}:
                by_key.setdefault(key, []).append(quantity)
            case _:
                raise unchecked("sumBy wants records of key and sum")
    return tuple({"key": key, "sum": _sum_qty(tuple(found), unit)} for key, found in by_key.items())


def _distinct(items: tuple[Value, ...]) -> Value:
    first: dict[str, Value] = {}
    for each in items:
        first.setdefault(form_text(each), each)
    return tuple(first.values())


def _sum_dec(items: tuple[Value, ...], scale: int) -> Value:
    values = [each.value for each in items if isinstance(each, Num)]
    if len(values) < len(items):
        raise unchecked("sumDec wants decimals")
    return Num(_total(values, scale))


def _total(values: list[Decimal], scale: int) -> Decimal:
    try:
        return numbers.total(values, scale)
    except numbers.TooManyDigitsError as error:
        hint = "round(mode, scale, …) shortens the numbers"
        raise limit_exceeded("a sum has too many digits", numbers.MAX_DIGITS, hint=hint) from error
