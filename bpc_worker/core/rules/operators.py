"""The types of + - * / and of comparisons: what fits what, and what comes of it."""

from bpc_worker.core.base.units import DIVIDE, MULTIPLY, NUMBER, conversion
from bpc_worker.core.rules import types
from bpc_worker.core.rules.arguments import hint_for
from bpc_worker.core.rules.fits import join
from bpc_worker.core.rules.parse_types import checked_scale
from bpc_worker.core.rules.source import Limits, RuleError, Span
from bpc_worker.core.rules.types import BOOL, INT, NUM, DecType, NoneType, OptType, QtyType, Type, show


def combined(operator: str, left: Type, right: Type, span: Span, limits: Limits) -> Type:
    """The type of `left operator right`; RuleError at the operator where the two do not fit."""
    match operator:
        case "+" | "-":
            found = _sum(left, right)
        case "*":
            found = _product(left, right, span, limits)
        case "/":
            found = _quotient(left, right)
        case "==" | "!=":
            found = BOOL if _equatable(left, right) else None
        case _:
            found = BOOL if types.is_ordered(left) and _alike(left, right) else None
    if found is None:
        raise unfit(operator, left, right, span)
    return found


def unfit(operator: str, left: Type, right: Type, span: Span) -> RuleError:
    units = isinstance(left, QtyType) and isinstance(right, QtyType)
    return RuleError(
        "UNIT_MISMATCH" if units else "RULE_TYPE_ERROR",
        f"'{operator}' does not fit {show(left)} and {show(right)}",
        span,
        hint=_hint(operator, left, right),
    )


def _sum(left: Type, right: Type) -> Type | None:
    if types.is_number(left) and types.is_number(right):
        return join(left, right)
    return left if isinstance(left, QtyType) and left == right else None


def _product(left: Type, right: Type, span: Span, limits: Limits) -> Type | None:
    match left, right:
        case QtyType(a), QtyType(b):
            return _unit_or_number(MULTIPLY.get((a, b)))
        case QtyType(), factor:
            return left if types.is_number(factor) else None
        case factor, QtyType():
            return right if types.is_number(factor) else None
        case DecType(a), DecType(b):
            return DecType(checked_scale(a + b, limits.scale, span))
        case _:
            return _widest(left, right)


def _quotient(left: Type, right: Type) -> Type | None:
    match left, right:
        case QtyType(a), QtyType(b):
            return _unit_or_number(DIVIDE.get((a, b)))
        case QtyType(), divisor:
            return left if types.is_number(divisor) else None
        case _:
            return NUM if types.is_number(left) and types.is_number(right) else None


def _widest(left: Type, right: Type) -> Type | None:
    """Of a product of numbers with at most one fixed scale: Int, that scale, or an open one."""
    if not types.is_number(left) or not types.is_number(right):
        return None
    if NUM in {left, right}:
        return NUM
    return left if right == INT else right


def _unit_or_number(unit: str | None) -> Type | None:
    if unit is None:
        return None
    return NUM if unit == NUMBER else QtyType(unit)


def _alike(left: Type, right: Type) -> bool:
    kind = join(left, right)
    return kind is not None and types.is_ordered(kind)


def _equatable(left: Type, right: Type) -> bool:
    """Plain values of one type, each perhaps absent; not lists, records and what is still in a fact."""
    kind = join(left, right)
    if isinstance(kind, NoneType):
        return True
    return kind is not None and types.is_plain(kind.of if isinstance(kind, OptType) else kind)


def _hint(operator: str, left: Type, right: Type) -> str:
    match left, right:
        case QtyType(a), QtyType(b):
            return _unit_hint(operator, a, b)
        case (DecType(scale), other) | (other, DecType(scale)) if types.is_number(other):
            return f"bring both to one scale: toDec({scale}, …) or round(half_even, {scale}, …)"
        case (QtyType(unit), other) | (other, QtyType(unit)) if types.is_number(other):
            return f"give the number a unit: qty(…, {unit}) or toQty({unit}, …)"
        case _ if NUM in {left, right} and INT in {left, right}:
            return "bring both to one scale: toDec(scale, …) or round(half_even, scale, …)"
        case _ if NoneType() in {left, right}:
            return "isSome(…) tells whether a value is there"
        case _:
            return hint_for(left, hint_for(right, _takes(operator)))


def _takes(operator: str) -> str:
    if operator in {"==", "!="}:
        return "compare two values of one type; of a record or a list, its parts"
    if operator in {"+", "-", "*", "/"}:
        return "only numbers and quantities can be calculated with"
    return "numbers, quantities, texts, dates, months and moments have an order, each among its own"


def _unit_hint(operator: str, left: str, right: str) -> str:
    if operator in {"*", "/"}:
        return "docs/rules.md lists which units can be multiplied and divided"
    if conversion(left, right) is None:
        return "they measure different things"
    return f"convert({left}, …) brings both to one unit"
