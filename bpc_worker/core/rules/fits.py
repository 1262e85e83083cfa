"""Which value may stand where another type is wanted, and what two branches have in common."""

from bpc_worker.core.rules import typed, types
from bpc_worker.core.rules.types import (
    NUM,
    DecType,
    ListType,
    MapType,
    NoneType,
    OptType,
    RecordType,
    Type,
)

_ROUNDING = "half_even"  # where a declared scale demands it and the rule says nothing


def fit(node: typed.Node, wanted: Type) -> typed.Node | None:
    """The node as a value of `wanted`, rounded where the declared scale demands it; None if it cannot be."""
    if node.type == wanted:
        return node
    match wanted:
        case DecType(scale) if types.is_decimal(node.type):
            return _rounded(node, scale, wanted)
        case OptType(DecType(scale)) if isinstance(node.type, OptType) and types.is_decimal(node.type.of):
            return _rounded(node, scale, wanted)
        case OptType(of) if not isinstance(node.type, OptType | NoneType):
            return fit(node, of)
        case ListType(DecType(scale)) if isinstance(node.type, ListType) and types.is_decimal(node.type.of):
            return _each_rounded(node, scale, node.type.of)
        case RecordType() if isinstance(node, typed.Op) and node.name == "record":
            return _record(node, wanted)
        case _:
            return node if join(node.type, wanted) == wanted else None


def _rounded(node: typed.Node, scale: int, wanted: Type) -> typed.Node:
    return typed.Op("round", {"mode": _ROUNDING, "scale": scale}, (node,), wanted, node.span)


def _each_rounded(node: typed.Node, scale: int, element: Type) -> typed.Node:
    """What the author could have written: map(list, x => round(half_even, scale, x))."""
    body = _rounded(typed.Var("x", element, node.span), scale, DecType(scale))
    text = f"x => round({_ROUNDING}, {scale}, x)"
    function = typed.LambdaNode((("x", element),), body, (), text)
    return typed.Aggregate("map", node, function, None, {}, ListType(DecType(scale)), node.span)


def _record(node: typed.Op, wanted: RecordType) -> typed.Node | None:
    """A record as it is written: each member fits on its own."""
    names = node.parameters["names"]
    members = dict(wanted.fields)
    if not isinstance(names, list) or set(names) != set(members):
        return None
    operands = [fit(operand, members[name]) for name, operand in zip(names, node.operands, strict=True)]
    fitted = tuple(operand for operand in operands if operand is not None)
    if len(fitted) < len(operands):
        return None
    return typed.Op("record", node.parameters, fitted, wanted, node.span)


def join(left: Type, right: Type) -> Type | None:
    """The type that holds both; None when there is none."""
    if left == right:
        return left
    if isinstance(left, NoneType):
        return types.optional(right)
    if isinstance(right, NoneType):
        return types.optional(left)
    match left, right:
        case (OptType(of), OptType(other)) | (OptType(of), other) | (other, OptType(of)):
            inner = join(of, other)
            return None if inner is None else types.optional(inner)
        case (ListType(of), ListType(other)) | (MapType(of), MapType(other)):
            inner = join(of, other)
            return None if inner is None else _like(left, inner)
        case RecordType(), RecordType():
            return _joined_records(left, right)
        case _:
            decimals = types.is_decimal(left) and types.is_decimal(right)
            return NUM if decimals and NUM in {left, right} else None


def _like(container: Type, inner: Type) -> Type:
    return ListType(inner) if isinstance(container, ListType) else MapType(inner)


def _joined_records(left: RecordType, right: RecordType) -> Type | None:
    others = dict(right.fields)
    if others.keys() != dict(left.fields).keys():
        return None
    members = {name: join(kind, others[name]) for name, kind in left.fields}
    known = {name: kind for name, kind in members.items() if kind is not None}
    return types.record(known) if len(known) == len(members) else None
