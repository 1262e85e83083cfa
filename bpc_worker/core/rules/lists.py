"""map, filter, fold, sums and count: functions over lists, one step of a proof each."""

from collections.abc import Callable, Mapping

from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.arguments import Arguments, hint_to_fit
from bpc_worker.core.rules.fits import join
from bpc_worker.core.rules.scope import Scope
from bpc_worker.core.rules.source import RuleError, limit_exceeded, quoted
from bpc_worker.core.rules.types import (
    BOOL,
    INT,
    MAX_PARTS,
    DecType,
    ListType,
    QtyType,
    RecordType,
    Simple,
    Type,
    is_decimal,
    is_plain,
    is_too_large,
    show,
)


def check_lambda(
    written: syntax.Lambda,
    parameters: tuple[Type, ...],
    call: Arguments,
    wanted: Type | None = None,
    text: str | None = None,
) -> typed.LambdaNode:
    """The lambda in a scope of its own, with what it takes from outside; its text is as given, or written."""
    inner = Scope(call.scope.world, outer=call.scope)
    names = tuple(name.name for name in written.parameters)
    if len(set(names)) < len(names):
        message, span = f"two parameters {quoted(names[0])}", written.parameters[-1].span
        raise RuleError("RULE_TYPE_ERROR", message, span, hint="rename one of them")
    opened = [inner.open(name, kind) for name, kind in zip(written.parameters, parameters, strict=True)]
    body = call.check(written.body, inner)
    for each in opened:
        inner.close(each)
    # Never rounded to fit: what a lambda gives, once per element, must be what is written.
    if wanted is not None and join(body.type, wanted) != wanted:
        message = f"the lambda gives {show(body.type)}, not {show(wanted)}"
        hint = "a fold begins with a value of the type that its lambda gives"
        if wanted == BOOL:
            hint = hint_to_fit(body.type, BOOL)
        raise RuleError("RULE_TYPE_ERROR", message, written.body.span, hint=hint)
    text = text or call.scope.world.source[written.span.start : written.span.end]
    takes = tuple(zip(names, parameters, strict=True))
    return typed.LambdaNode(takes, body, tuple(inner.captures.values()), text)


def _items(call: Arguments) -> tuple[typed.Node, Type]:
    node = call.node(0)
    if not isinstance(node.type, ListType):
        raise call.unfit(0, "a List", hint="getFactsByPrefix(…), toList(…), map(…) and filter(…) give one")
    return node, node.type.of


def _map(call: Arguments) -> typed.Node:
    """map(List(T), x => U): List(U)"""
    call.count("list", "x => …")
    items, element = _items(call)
    function = check_lambda(call.function(1, 1), (element,), call)
    kind = ListType(function.body.type)
    if is_too_large(kind, call.scope.world.limits):
        hint = "make smaller records in the lambda"
        raise limit_exceeded("a type of too many parts", MAX_PARTS, call.span, hint=hint)
    return typed.Aggregate("map", items, function, None, {}, kind, call.span)


def _filter(call: Arguments) -> typed.Node:
    """filter(List(T), x => Bool): List(T)"""
    call.count("list", "x => …")
    items, element = _items(call)
    function = check_lambda(call.function(1, 1), (element,), call, BOOL)
    return typed.Aggregate("filter", items, function, None, {}, items.type, call.span)


def _fold(call: Arguments) -> typed.Node:
    """fold(List(T), start: U, (acc, x) => U): U"""
    call.count("list", "start", "(acc, x) => …")
    items, element = _items(call)
    start = call.node(1)
    function = check_lambda(call.function(2, 2), (start.type, element), call, start.type)
    return typed.Aggregate("fold", items, function, start, {}, start.type, call.span)


def _sum_qty(call: Arguments) -> typed.Node:
    """sumQty(List(Qty(u))): Qty(u); of an empty list 0"""
    call.count("list")
    items, element = _items(call)
    if not isinstance(element, QtyType):
        raise call.wrong(0, "a List of quantities", hint="map(…, x => toQty(unit, …)) first")
    return typed.Aggregate("sumQty", items, None, None, {"unit": element.unit}, element, call.span)


def _sum_dec(call: Arguments) -> typed.Node:
    """sumDec(List(Dec(s))): Dec(s); of an empty list 0"""
    call.count("list")
    items, element = _items(call)
    if not isinstance(element, DecType):
        raise call.wrong(0, "a List of Dec", hint="map(…, x => toDec(scale, …)) first")
    return typed.Aggregate("sumDec", items, None, None, {"scale": element.scale}, element, call.span)


def _sum_by(call: Arguments) -> typed.Node:
    """sumBy(List(T), x => key: Text, x => Qty(u)): List(Record(key: Text, sum: Qty(u)))

    What the author could have written: a map to records of key and quantity, then their sums by key.
    """
    call.count("list", "x => key", "x => quantity")
    items, element = _items(call)
    key, quantity = call.function(1, 1), call.function(2, 1)
    [parameter], [other] = key.parameters, quantity.parameters
    if parameter.name != other.name:
        hint = f"both lambdas take the same: {parameter.name} => …, {parameter.name} => …"
        raise RuleError("RULE_TYPE_ERROR", "two parameters of one sumBy", other.span, hint=hint)
    body = syntax.RecordLiteral((("key", key.body), ("sum", quantity.body)), call.span)
    source = call.scope.world.source
    written = [source[each.span.start : each.span.end] for each in (key.body, quantity.body)]
    text = f"{parameter.name} => record(key: {written[0]}, sum: {written[1]})"
    function = check_lambda(syntax.Lambda((parameter,), body, call.span), (element,), call, text=text)
    kind = function.body.type
    match kind:
        case RecordType((("key", Simple("Text")), ("sum", QtyType(unit)))):
            pairs = typed.Aggregate("map", items, function, None, {}, ListType(kind), call.span)
            return typed.Aggregate("sumBy", pairs, None, None, {"unit": unit}, ListType(kind), call.span)
        case _:
            hint = "the first lambda gives a Text, the second a quantity: toText(…), toQty(unit, …)"
            message = f"sumBy wants a key and a quantity, not {show(kind)}"
            raise RuleError("RULE_TYPE_ERROR", message, call.span, hint=hint)


def _distinct(call: Arguments) -> typed.Node:
    """distinct(List(T)): List(T), each once, where it stands first; T is Text, Int, Bool or a day or time"""
    call.count("list")
    items, element = _items(call)
    if not is_plain(element) or is_decimal(element) or isinstance(element, QtyType):
        raise call.wrong(0, "a List of texts, whole numbers, dates or the like", hint="map(…, x => …) first")
    return typed.Aggregate("distinct", items, None, None, {}, items.type, call.span)


def _count(call: Arguments) -> typed.Node:
    """count(List(T)): Int"""
    call.count("list")
    items, _ = _items(call)
    return typed.Aggregate("count", items, None, None, {}, INT, call.span)


LIST_FUNCTIONS: Mapping[str, Callable[[Arguments], typed.Node]] = {
    "map": _map,
    "filter": _filter,
    "fold": _fold,
    "sumQty": _sum_qty,
    "sumDec": _sum_dec,
    "sumBy": _sum_by,
    "distinct": _distinct,
    "count": _count,
}
