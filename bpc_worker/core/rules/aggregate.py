"""map, filter, fold, sumQty, sumDec, count over a list of values."""

from collections.abc import Callable
from decimal import Decimal

from bpc_worker.core import numbers
from bpc_worker.core.rules import operations, typed
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.values import Num, Quantity, Value


def aggregate(node: typed.Aggregate, items: Value, start: Value, call: Callable[..., Value]) -> Value:
    return run(node.name, dict(node.parameters), items, start, call)


def run(
    name: str, params: dict[str, object], items: Value, start: Value, call: Callable[..., Value]
) -> Value:
    """The result; RuleError when `items` is no list or an element does not fit."""
    if not isinstance(items, tuple):
        operations.mismatch(name, items)
    match name:
        case "map":
            return tuple(call(each) for each in items)
        case "filter":
            return tuple(each for each in items if call(each) is True)
        case "fold":
            for each in items:
                start = call(start, each)
            return start
        case "sumQty":
            return _sum(items, Quantity(Decimal(0), str(params["unit"])))
        case "sumDec":
            return _sum(items, Num(numbers.rounded(Decimal(0), int(str(params["scale"])))))
        case "count":
            return len(items)
        case _:
            raise RuleError("RULE_TYPE_ERROR", f"unknown operation {name}")


def _sum(items: tuple[Value, ...], total: Value) -> Value:
    for each in items:
        total = operations.apply("+", {}, (total, each))
    return total
