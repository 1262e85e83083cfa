"""From one kind of number to another, and from a fact's value to a type."""

from collections.abc import Callable, Mapping

from bpc_worker.core.base.numbers import ROUNDING
from bpc_worker.core.base.units import conversion
from bpc_worker.core.rules import typed
from bpc_worker.core.rules.arguments import Arguments, hint_to_fit
from bpc_worker.core.rules.fits import join
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    INT,
    JSON,
    MOMENT,
    MONTH,
    TEXT,
    TEXTS,
    DecType,
    ListType,
    QtyType,
    Type,
    is_number,
    is_ordered,
    show,
)

_A_NUMBER = "write a number or qty(…, unit); toDec(…) and toQty(…) read one from a text"


def _convertible(call: Arguments, position: int) -> typed.Node:
    node = call.node(position)
    if not is_number(node.type) and node.type not in {TEXT, JSON}:
        hint = "write a number, a text of digits, or recordGet(…) of a fact"
        if isinstance(node.type, QtyType):
            hint = "convert(unit, …) changes a unit; divided by qty(1, unit), it is a number"
        raise call.unfit(position, "a number, a Text or a value from a fact", hint=hint)
    return node


def _to_dec(call: Arguments) -> typed.Node:
    """toDec(scale, x): Dec(scale); x is a number, a Text or a value from a fact"""
    call.count("scale", "x")
    scale = call.scale(0)
    return typed.Op("toDec", {"scale": scale}, (_convertible(call, 1),), DecType(scale), call.span)


def _to_qty(call: Arguments) -> typed.Node:
    """toQty(unit, x): Qty(unit); x is a number, a Text or a value from a fact"""
    call.count("unit", "x")
    unit = call.unit(0)
    return typed.Op("toQty", {"unit": unit}, (_convertible(call, 1),), QtyType(unit), call.span)


def _from_json(name: str, kind: Type) -> Callable[[Arguments], typed.Node]:
    def run(call: Arguments) -> typed.Node:
        """toInt(Json): Int, also toText, toBool, toDate, toMonth, toMoment, toTexts, toList"""
        call.count("value")
        return typed.Op(name, {}, (call.of_type(0, JSON),), kind, call.span)

    return run


def _month_of(call: Arguments) -> typed.Node:
    """monthOf(Date): Month"""
    call.count("date")
    return typed.Op("monthOf", {}, (call.of_type(0, DATE),), MONTH, call.span)


def _add_months(call: Arguments) -> typed.Node:
    """addMonths(Date, months: Int): Date; at the end of a shorter month, its last day"""
    call.count("date", "months")
    return typed.Op("addMonths", {}, (call.of_type(0, DATE), call.of_type(1, INT)), DATE, call.span)


def _convert(call: Arguments) -> typed.Node:
    """convert(unit, Qty): Qty(unit)"""
    call.count("unit", "quantity")
    unit, node = call.unit(0), call.node(1)
    if not isinstance(node.type, QtyType):
        raise call.unfit(1, "a quantity", hint="a number gets a unit by toQty(unit, …)")
    if conversion(node.type.unit, unit) is None:
        message = f"{node.type.unit} cannot be converted to {unit}"
        raise RuleError("UNIT_MISMATCH", message, call.span, hint="they measure different things")
    return typed.Op("convert", {"unit": unit}, (node,), QtyType(unit), call.span)


def _round(call: Arguments) -> typed.Node:
    """round(mode, scale, x): Dec(scale) of a number, Qty(u) of a quantity"""
    call.count("mode", "scale", "x")
    mode, scale, node = call.word(0, "a rounding mode", ROUNDING), call.scale(1), call.node(2)
    if not is_number(node.type) and not isinstance(node.type, QtyType):
        raise call.unfit(2, "a number or a quantity", hint=_A_NUMBER)
    kind = node.type if isinstance(node.type, QtyType) else DecType(scale)
    return typed.Op("round", {"mode": mode, "scale": scale}, (node,), kind, call.span)


def _percent(call: Arguments) -> typed.Node:
    """percent(part, whole): Qty(pct); two numbers, or two quantities of one unit"""
    call.count("part", "whole")
    part, whole = call.node(0), call.node(1)
    for position, node in enumerate((part, whole)):
        if not is_number(node.type) and not isinstance(node.type, QtyType):
            raise call.unfit(position, "a number or a quantity", hint=_A_NUMBER)
    if part.type != whole.type and not (is_number(part.type) and is_number(whole.type)):
        message = f"a share of {show(part.type)} in {show(whole.type)}"
        raise RuleError("UNIT_MISMATCH", message, call.span, hint="both need the same unit")
    return typed.Op("percent", {}, (part, whole), QtyType("pct"), call.span)


def _extreme(name: str) -> Callable[[Arguments], typed.Node]:
    def run(call: Arguments) -> typed.Node:
        """min(a, b), max(a, b): of two numbers, quantities, texts or dates of one type"""
        call.count("a", "b")
        left, right = call.node(0), call.node(1)
        if not is_ordered(left.type):
            hint = "give it two numbers, quantities, texts or dates of one type"
            raise call.unfit(0, "something that can be compared", hint=hint)
        kind = join(left.type, right.type)
        if kind is None or not is_ordered(kind):
            raise call.wrong(1, show(left.type), hint=hint_to_fit(right.type, left.type))
        return typed.Op(name, {}, (left, right), kind, call.span)

    return run


CONVERSIONS: Mapping[str, Callable[[Arguments], typed.Node]] = {
    "toDec": _to_dec,
    "toQty": _to_qty,
    "toInt": _from_json("toInt", INT),
    "toText": _from_json("toText", TEXT),
    "toBool": _from_json("toBool", BOOL),
    "toDate": _from_json("toDate", DATE),
    "toList": _from_json("toList", ListType(JSON)),
    "toMonth": _from_json("toMonth", MONTH),
    "toMoment": _from_json("toMoment", MOMENT),
    "toTexts": _from_json("toTexts", TEXTS),
    "monthOf": _month_of,
    "addMonths": _add_months,
    "convert": _convert,
    "round": _round,
    "percent": _percent,
    "min": _extreme("min"),
    "max": _extreme("max"),
}
