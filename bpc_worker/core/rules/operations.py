"""The operations on values, by name: used by evaluation and, once more, by whoever verifies a proof.

An operation takes its parameters (what the rule text fixes: a unit, a scale) and its operands. It raises
RuleError with a code; the place is added by the caller, who knows it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bpc_worker.core.base.numbers import MAX_DIGITS, MAX_SCALE, ROUNDING, TooManyDigitsError
from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules import arithmetic, from_facts
from bpc_worker.core.rules.arithmetic import equal, mismatch, ordered
from bpc_worker.core.rules.pending import is_pending
from bpc_worker.core.rules.source import RuleError, limit_exceeded, unchecked
from bpc_worker.core.rules.values import Value

__all__ = ["OPERATIONS", "apply", "apply_checked", "mismatch", "ordered", "scale_in", "unit_in"]

Parameters = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Operation:
    operands: int | None  # how many; None: any number
    parameters: frozenset[str]
    run: Callable[..., Value]  # is given the parameters, then the operands


def apply(name: str, parameters: Parameters, operands: Sequence[Value]) -> Value:
    """The result; RuleError, whatever is given."""
    operation = OPERATIONS.get(name)
    if operation is None or parameters.keys() != operation.parameters:
        raise unchecked(f"unknown operation {name} with {sorted(parameters)}")
    if operation.operands not in {len(operands), None}:
        raise unchecked(f"{name} does not take {len(operands)} operands")
    return apply_checked(name, parameters, operands)


def apply_checked(name: str, parameters: Parameters, operands: Sequence[Value]) -> Value:
    """The result of an operation that is known, and takes these parameters and so many operands."""
    try:
        return OPERATIONS[name].run(parameters, *operands)
    except TooManyDigitsError as error:
        hint = "round(mode, scale, …) shortens a number"
        raise limit_exceeded("a number has too many digits", MAX_DIGITS, hint=hint) from error
    except ZeroDivisionError as error:
        hint = "guard it: if (x == …) then … else …"
        raise RuleError("DIVISION_BY_ZERO", "division by zero", hint=hint) from error


def scale_in(parameters: Parameters) -> int:
    scale = parameters.get("scale")
    if not isinstance(scale, int) or isinstance(scale, bool) or not 0 <= scale <= MAX_SCALE:
        raise unchecked(f"a scale is a whole number from 0 to {MAX_SCALE}")
    return scale


def unit_in(parameters: Parameters) -> str:
    return _word(parameters, "unit", UNITS)


def _word(parameters: Parameters, name: str, known: Mapping[str, object]) -> str:
    word = parameters.get(name)
    if not isinstance(word, str) or word not in known:
        raise unchecked(f"an unknown {name}")
    return word


def _text(parameters: Parameters, name: str) -> str:
    text = parameters[name]
    if not isinstance(text, str):
        raise unchecked(f"the {name} is a text")
    return text


def _unary(run: Callable[[Value], Value]) -> Operation:
    return Operation(1, frozenset(), lambda _, operand: run(operand))


def _binary(run: Callable[[Value, Value], Value]) -> Operation:
    return Operation(2, frozenset(), lambda _, left, right: run(left, right))


def _with(parameters: str, run: Callable[[Parameters, Value], Value]) -> Operation:
    return Operation(1, frozenset(parameters.split()), run)


def _not(operand: Value) -> Value:
    return not operand if isinstance(operand, bool) else mismatch("!", operand)


def _lookup(table: Value, key: Value) -> Value:
    if not isinstance(table, Mapping) or not isinstance(key, str):
        mismatch("lookup", table, key)
    return table.get(key)


def _keys_of(table: Value) -> Value:
    """In order, whatever the order of the rows."""
    return tuple(sorted(table)) if isinstance(table, Mapping) else mismatch("keysOf", table)


def _record(parameters: Parameters, *operands: Value) -> Value:
    listed = parameters["names"]
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    found = dict(zip(names, operands, strict=False))
    if listed != names or not len(found) == len(names) == len(operands):
        raise unchecked("a record has a name for each value")
    return found


def _require_some(parameters: Parameters, operand: Value) -> Value:
    if operand is None:
        message = _text(parameters, "message") or "a value that is required is absent"
        hint = "unwrapOr(…, default) takes another value, isSome(…) tells whether it is there"
        raise RuleError("NOT_FOUND", message, hint=hint)
    return operand


def _round(parameters: Parameters, operand: Value) -> Value:
    return arithmetic.rounded(_word(parameters, "mode", ROUNDING), scale_in(parameters), operand)


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "+": _binary(arithmetic.add),
        "-": _binary(arithmetic.subtract),
        "*": _binary(arithmetic.multiply),
        "/": _binary(arithmetic.divide),
        "==": _binary(equal),
        "!=": _binary(lambda left, right: not equal(left, right)),
        "<": _binary(lambda left, right: ordered(left, right) < 0),
        "<=": _binary(lambda left, right: ordered(left, right) <= 0),
        ">": _binary(lambda left, right: ordered(left, right) > 0),
        ">=": _binary(lambda left, right: ordered(left, right) >= 0),
        "min": _binary(lambda left, right: left if ordered(left, right) <= 0 else right),
        "max": _binary(lambda left, right: left if ordered(left, right) >= 0 else right),
        "percent": _binary(arithmetic.percent),
        "lookup": _binary(_lookup),
        "unwrapOr": _binary(lambda value, default: default if value is None else value),
        "negate": _unary(arithmetic.negate),
        "!": _unary(_not),
        "isSome": _unary(lambda value: value is not None),
        "toInt": _unary(from_facts.to_int),
        "toText": _unary(from_facts.to_text),
        "toBool": _unary(from_facts.to_bool),
        "toDate": _unary(from_facts.to_date),
        "toList": _unary(from_facts.to_list),
        "toMonth": _unary(from_facts.to_month),
        "toMoment": _unary(from_facts.to_moment),
        "toTexts": _unary(from_facts.to_texts),
        "monthOf": _unary(arithmetic.month_of_date),
        "addMonths": _binary(arithmetic.months_later),
        "keysOf": _unary(_keys_of),
        "round": _with("mode scale", _round),
        "toDec": _with("scale", lambda given, value: from_facts.to_dec(scale_in(given), value)),
        "toQty": _with("unit", lambda given, value: from_facts.to_qty(unit_in(given), value)),
        "convert": _with("unit", lambda given, value: arithmetic.convert(unit_in(given), value)),
        "recordGet": _with("name", lambda given, value: from_facts.record_get(_text(given, "name"), value)),
        "requireSome": _with("message", _require_some),
        "pending": Operation(2, frozenset({"until"}), is_pending),
        "record": Operation(None, frozenset({"names"}), _record),
    }
)
