"""The functions that rules may call, with their types."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bpc_worker.core.numbers import ROUNDING
from bpc_worker.core.rules import syntax, typed, types
from bpc_worker.core.rules.arguments import Arguments, CheckExpression
from bpc_worker.core.rules.fits import join
from bpc_worker.core.rules.lists import LIST_FUNCTIONS
from bpc_worker.core.rules.scope import Scope
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.suggest import nearest
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    EMPTY,
    FACT,
    INT,
    JSON,
    TEXT,
    DecType,
    ListType,
    OptType,
    QtyType,
    RecordType,
    Type,
    show,
)
from bpc_worker.core.units import conversion


def check_call(node: syntax.Call, scope: Scope, check: CheckExpression) -> typed.Node:
    function = FUNCTIONS.get(node.function)
    if function is None or (node.function == "implies" and not scope.world.in_tests):
        near = nearest(node.function, FUNCTIONS)
        hint = f"did you mean {near}?" if near else "docs/rules.md lists them"
        raise RuleError("RULE_TYPE_ERROR", f"unknown function '{node.function}'", node.name_span, hint=hint)
    return function(Arguments(node, scope, check))


def _get_fact(call: Arguments) -> typed.Node:
    """getFact(type: Text, key: Text): Opt(Fact)"""
    call.count(2)
    call.outside_lambda()
    return typed.FactGet(call.of_type(0, TEXT), call.of_type(1, TEXT), OptType(FACT), call.span)


def _get_facts_by_prefix(call: Arguments) -> typed.Node:
    """getFactsByPrefix(type: Text, prefix: Text): List(Fact), in order of key"""
    call.count(2)
    call.outside_lambda()
    return typed.FactsByPrefix(call.of_type(0, TEXT), call.of_type(1, TEXT), ListType(FACT), call.span)


def _field(call: Arguments) -> typed.Node:
    """field("path"): the field's type, as an Opt when it can be empty"""
    call.count(1)
    path = call.text(0, "the path of a field")
    shape = call.scope.world.fields.get(path)
    if shape is None:
        near = nearest(path, call.scope.world.fields)
        hint = f"did you mean {near}?" if near else None
        raise RuleError("RULE_TYPE_ERROR", f"unknown field '{path}'", call.span_of(0), hint=hint)
    call.scope.use_field(path)
    kind = shape.type
    if shape.may_be_empty and not isinstance(kind, OptType):
        kind = OptType(kind)
    node = typed.FieldRef(path, kind, call.span)
    call.scope.capture(f"field {path}", node)
    return node


def _record_get(call: Arguments) -> typed.Node:
    """recordGet(record, "name"): of a fact or a JSON object Opt(Json), of a Record the field's type"""
    call.count(2)
    record, name = call.node(0), call.text(1, "a name")
    kind: Type
    if record.type in {FACT, JSON}:
        kind = OptType(JSON)
    elif isinstance(record.type, RecordType):
        fields = dict(record.type.fields)
        if name not in fields:
            near = nearest(name, fields)
            hint = f"did you mean {near}?" if near else f"it has {', '.join(fields) or 'none'}"
            raise RuleError(
                "RULE_TYPE_ERROR", f"the record has no field '{name}'", call.span_of(1), hint=hint
            )
        kind = fields[name]
    else:
        raise call.wrong(0, "a fact, a JSON object or a Record")
    return typed.Op("recordGet", {"name": name}, (record,), kind, call.span)


def _opened(call: Arguments, position: int) -> tuple[typed.Node, Type]:
    node = call.node(position)
    if not isinstance(node.type, OptType):
        raise call.wrong(position, "an Opt", hint="this value is always there")
    return node, node.type.of


def _is_some(call: Arguments) -> typed.Node:
    """isSome(Opt(T)): Bool"""
    call.count(1)
    return typed.Op("isSome", {}, (_opened(call, 0)[0],), BOOL, call.span)


def _unwrap_or(call: Arguments) -> typed.Node:
    """unwrapOr(Opt(T), T): T"""
    call.count(2)
    node, inner = _opened(call, 0)
    default = call.node(1)
    kind = join(inner, default.type)
    if kind is None:
        raise call.wrong(1, show(inner))
    return typed.Op("unwrapOr", {}, (node, default), kind, call.span)


def _require_some(call: Arguments) -> typed.Node:
    """requireSome(Opt(T) [, "message"]): T"""
    call.count(1, 2)
    node, inner = _opened(call, 0)
    message = call.text(1, "a message") if call.given == 2 else ""  # noqa: PLR2004 - the optional one
    return typed.Op("requireSome", {"message": message}, (node,), inner, call.span)


def _convertible(call: Arguments, position: int) -> typed.Node:
    node = call.node(position)
    if not types.is_number(node.type) and node.type not in {TEXT, JSON}:
        hint = "open it with requireSome or unwrapOr" if isinstance(node.type, OptType) else None
        raise call.wrong(position, "a number, a Text or a value from a fact", hint=hint)
    return node


def _to_dec(call: Arguments) -> typed.Node:
    """toDec(scale, x): Dec(scale)"""
    call.count(2)
    scale = call.scale(0)
    return typed.Op("toDec", {"scale": scale}, (_convertible(call, 1),), DecType(scale), call.span)


def _to_qty(call: Arguments) -> typed.Node:
    """toQty(unit, x): Qty(unit)"""
    call.count(2)
    unit = call.unit(0)
    return typed.Op("toQty", {"unit": unit}, (_convertible(call, 1),), QtyType(unit), call.span)


def _scalar(name: str, kind: Type) -> Callable[[Arguments], typed.Node]:
    def run(call: Arguments) -> typed.Node:
        """toInt, toText, toBool, toDate (Json): the value as that type, or an error"""
        call.count(1)
        return typed.Op(name, {}, (call.of_type(0, JSON),), kind, call.span)

    return run


def _convert(call: Arguments) -> typed.Node:
    """convert(unit, Qty): Qty(unit)"""
    call.count(2)
    unit, node = call.unit(0), call.node(1)
    if not isinstance(node.type, QtyType):
        raise call.wrong(1, "a quantity")
    if conversion(node.type.unit, unit) is None:
        message = f"{node.type.unit} cannot be converted to {unit}"
        raise RuleError("UNIT_MISMATCH", message, call.span, hint="they measure different things")
    return typed.Op("convert", {"unit": unit}, (node,), QtyType(unit), call.span)


def _round(call: Arguments) -> typed.Node:
    """round(mode, scale, x): x at that scale"""
    call.count(3)
    mode, scale, node = call.word(0, "a rounding mode", ROUNDING), call.scale(1), call.node(2)
    if not types.is_number(node.type) and not isinstance(node.type, QtyType):
        raise call.wrong(2, "a number or a quantity")
    kind = node.type if isinstance(node.type, QtyType) else DecType(scale)
    return typed.Op("round", {"mode": mode, "scale": scale}, (node,), kind, call.span)


def _percent(call: Arguments) -> typed.Node:
    """percent(part, whole): Qty(pct)"""
    call.count(2)
    part, whole = call.node(0), call.node(1)
    same = isinstance(part.type, QtyType) and part.type == whole.type
    if not same and not (types.is_number(part.type) and types.is_number(whole.type)):
        raise RuleError(
            "UNIT_MISMATCH", f"a share of {show(part.type)} in {show(whole.type)}", call.span,
            hint="both need the same unit",
        )  # fmt: skip
    return typed.Op("percent", {}, (part, whole), QtyType("pct"), call.span)


def _extreme(name: str) -> Callable[[Arguments], typed.Node]:
    def run(call: Arguments) -> typed.Node:
        """min(a, b), max(a, b)"""
        call.count(2)
        left, right = call.node(0), call.node(1)
        ordered = types.is_number(left.type) or isinstance(left.type, QtyType) or left.type in {TEXT, DATE}
        if left.type != right.type or not ordered:
            raise call.wrong(1, show(left.type))
        return typed.Op(name, {}, (left, right), left.type, call.span)

    return run


def _lookup(call: Arguments) -> typed.Node:
    """lookup(table, key: Text): Opt(T)"""
    call.count(2)
    name = call.word(0, "a table", call.scope.world.tables)
    table = typed.TableRef(name, call.scope.world.tables[name], call.span_of(0))
    call.scope.capture(f"table {name}", table)
    return typed.Op("lookup", {}, (table, call.of_type(1, TEXT)), OptType(table.type), call.span)


def _law_date(call: Arguments) -> typed.Node:
    """lawDate(): Date"""
    call.count(0)
    node = typed.LawDate(DATE, call.span)
    call.scope.capture("lawDate", node)
    return node


def _empty(kind: str) -> Callable[[Arguments], typed.Node]:
    def run(call: Arguments) -> typed.Node:
        """withheld(reason), notApplicable(reason), missing(reason): why a field has no value"""
        call.count(1)
        call.outside_lambda()
        return typed.EmptyNode(kind, call.of_type(0, TEXT), EMPTY, call.span)

    return run


def _emit(call: Arguments) -> typed.Node:
    """emitCompliance("CODE", condition, "message"): Bool, and a statement in the passport"""
    call.count(3)
    call.outside_lambda()
    code, message = call.text(0, "a code"), call.text(2, "a message")
    return typed.Emit(code, call.of_type(1, BOOL), message, BOOL, call.span)


def _implies(call: Arguments) -> typed.Node:
    """implies(a, b): in tests; b is looked at only where a holds"""
    call.count(2)
    premise = call.of_type(0, BOOL)
    negated = typed.Op("!", {}, (premise,), BOOL, call.span)
    return typed.ShortCircuit("||", (negated, call.of_type(1, BOOL)), BOOL, call.span)


FUNCTIONS: Mapping[str, Callable[[Arguments], typed.Node]] = MappingProxyType(
    {
        "getFact": _get_fact,
        "getFactsByPrefix": _get_facts_by_prefix,
        "field": _field,
        "recordGet": _record_get,
        "isSome": _is_some,
        "unwrapOr": _unwrap_or,
        "requireSome": _require_some,
        "toDec": _to_dec,
        "toQty": _to_qty,
        "toInt": _scalar("toInt", INT),
        "toText": _scalar("toText", TEXT),
        "toBool": _scalar("toBool", BOOL),
        "toDate": _scalar("toDate", DATE),
        "toList": _scalar("toList", ListType(JSON)),
        "convert": _convert,
        "round": _round,
        "percent": _percent,
        "min": _extreme("min"),
        "max": _extreme("max"),
        "lookup": _lookup,
        "lawDate": _law_date,
        "withheld": _empty("withheld"),
        "notApplicable": _empty("notApplicable"),
        "missing": _empty("missing"),
        "emitCompliance": _emit,
        "implies": _implies,
        **LIST_FUNCTIONS,
    }
)
