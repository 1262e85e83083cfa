"""Which value may stand where another type is wanted, and what two branches have in common."""

from bpc_worker.core.rules import typed, types
from bpc_worker.core.rules.types import DecType, EmptyType, ListType, NoneType, OptType, Type


def fit(node: typed.Node, wanted: Type) -> typed.Node | None:
    """The node as a value of `wanted`, with the rounding that a declared scale demands; None if it cannot be."""
    if node.type == wanted:
        return node
    if isinstance(wanted, DecType) and types.is_decimal(node.type):
        parameters = {"mode": "half_even", "scale": wanted.scale}
        return typed.Op("round", parameters, (node,), wanted, node.span)
    if isinstance(wanted, OptType):
        if isinstance(node.type, NoneType):
            return node
        return fit(node, wanted.of)
    return node if join(node.type, wanted) == wanted else None


def join(left: Type, right: Type) -> Type | None:
    """The type that holds both; None when there is none."""
    if left == right:
        return left
    match left, right:
        case (EmptyType(), other) | (other, EmptyType()):
            return other
        case (NoneType(), OptType() as other) | (OptType() as other, NoneType()):
            return other
        case (NoneType(), other) | (other, NoneType()):
            return OptType(other)
        case OptType(of), OptType(other):
            inner = join(of, other)
            return OptType(inner) if inner is not None else None
        case (OptType(of), other) | (other, OptType(of)):
            inner = join(of, other)
            return OptType(inner) if inner is not None else None
        case ListType(of), ListType(other):
            inner = join(of, other)
            return ListType(inner) if inner is not None else None
    if types.is_decimal(left) and types.is_decimal(right) and types.NUM in {left, right}:
        return types.NUM
    return None
