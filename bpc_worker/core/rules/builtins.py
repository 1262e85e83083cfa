"""The functions that rules may call, with their types."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bpc_worker.core.rules import syntax, typed
from bpc_worker.core.rules.arguments import Arguments, CheckExpression, hint_to_fit
from bpc_worker.core.rules.conversions import CONVERSIONS
from bpc_worker.core.rules.fits import join
from bpc_worker.core.rules.lists import LIST_FUNCTIONS
from bpc_worker.core.rules.scope import Scope, Stated
from bpc_worker.core.rules.source import RuleError, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    EMPTY,
    FACT,
    JSON,
    TEXT,
    ListType,
    MapType,
    NoneType,
    OptType,
    RecordType,
    Type,
    optional,
    show,
)
from bpc_worker.core.rules.values import WARN
from bpc_worker.core.rules.vocabulary import VOCABULARY


def check_call(node: syntax.Call, scope: Scope, check: CheckExpression) -> typed.Node:
    function = FUNCTIONS.get(node.function)
    if function is None or (node.function == "implies" and not scope.world.in_tests):
        hint = did_you_mean(node.function, FUNCTIONS, "docs/rules.md lists them")
        if node.function == "implies":
            hint = "only tests have it: write !a || b"
        message = f"unknown function {quoted(node.function)}"
        raise RuleError("RULE_TYPE_ERROR", message, node.name_span, hint=hint)
    return function(Arguments(node, scope, check))


def _get_fact(call: Arguments) -> typed.Node:
    """getFact(type: Text, key: Text): Opt(Fact)"""
    call.count("type", "key")
    call.outside_lambda()
    return typed.FactGet(call.of_type(0, TEXT), call.of_type(1, TEXT), OptType(FACT), call.span)


def _get_facts_by_prefix(call: Arguments) -> typed.Node:
    """getFactsByPrefix(type: Text, prefix: Text): List(Fact), in order of key"""
    call.count("type", "prefix")
    call.outside_lambda()
    return typed.FactsByPrefix(call.of_type(0, TEXT), call.of_type(1, TEXT), ListType(FACT), call.span)


def _field(call: Arguments) -> typed.Node:
    """field("path"): the field's type, as an Opt when it can be empty"""
    call.count('"path"')
    path = call.text(0, "the path of a field")
    shape = call.scope.world.fields.get(path)
    if shape is None:
        raise call.scope.world.unknown_field(path, call.span_of(0))
    call.scope.use_field(path)
    kind = optional(shape.type) if shape.may_be_empty else shape.type
    node = typed.FieldRef(path, kind, call.span)
    call.scope.capture(f"field {path}", node)
    return node


def _record_get(call: Arguments) -> typed.Node:
    """recordGet(record, "name"): of a fact or a JSON object Opt(Json), of a Record the member's type"""
    call.count("record", '"name"')
    record, name = call.node(0), call.text(1, "a name")
    kind: Type | None
    if record.type in {FACT, JSON}:
        kind = OptType(JSON)
    elif isinstance(record.type, RecordType):
        members = dict(record.type.fields)
        kind = members.get(name)
        if kind is None:
            hint = did_you_mean(name, members, f"it has {', '.join(members) or 'none'}")
            message = f"the record has no member {quoted(name)}"
            raise RuleError("RULE_TYPE_ERROR", message, call.span_of(1), hint=hint)
    else:
        hint = "requireSome(getFact(…)) is a fact, record(name: …) a Record"
        raise call.unfit(0, "a fact, a JSON object or a Record", hint=hint)
    return typed.Op("recordGet", {"name": name}, (record,), kind, call.span)


def _opened(call: Arguments) -> tuple[typed.Node, Type]:
    node = call.node(0)
    if isinstance(node.type, OptType):
        return node, node.type.of
    absent = isinstance(node.type, NoneType)
    hint = "write a value that may be there" if absent else "this value is always there"
    raise call.wrong(0, "an Opt", hint=hint)


def _is_some(call: Arguments) -> typed.Node:
    """isSome(Opt(T)): Bool"""
    call.count("value")
    node, _ = _opened(call)
    return typed.Op("isSome", {}, (node,), BOOL, call.span)


def _unwrap_or(call: Arguments) -> typed.Node:
    """unwrapOr(Opt(T), T): T"""
    call.count("value", "default")
    (node, inner), default = _opened(call), call.node(1)
    kind = join(inner, default.type)
    if kind is None:
        hint = hint_to_fit(default.type, inner)
        if inner == JSON:
            hint = "a value from a fact has no type yet: if (isSome(x)) then toInt(requireSome(x)) else …"
        raise call.wrong(1, show(inner), hint=hint)
    return typed.Op("unwrapOr", {}, (node, default), kind, call.span)


def _require_some(call: Arguments) -> typed.Node:
    """requireSome(Opt(T) [, "message"]): T"""
    call.count("value", '"message"', optional=1)
    node, inner = _opened(call)
    message = call.text(1, "a message") if call.given > 1 else ""
    return typed.Op("requireSome", {"message": message}, (node,), inner, call.span)


def _lookup(call: Arguments) -> typed.Node:
    """lookup(table or Map(Text, T), key: Text): Opt(T)"""
    call.count("table", "key")
    table, key = call.node(0), call.of_type(1, TEXT)
    if not isinstance(table.type, MapType):
        raise call.unfit(0, "a table", hint='write the name of one: table limits: Int = {"key": 1};')
    return typed.Op("lookup", {}, (table, key), optional(table.type.of), call.span)


def _keys_of(call: Arguments) -> typed.Node:
    """keysOf(table or Map(Text, T)): List(Text), sorted"""
    call.count("table")
    table = call.node(0)
    if not isinstance(table.type, MapType):
        raise call.unfit(0, "a table", hint='write the name of one: table limits: Int = {"key": 1};')
    return typed.Op("keysOf", {}, (table,), ListType(TEXT), call.span)


def _law_date(call: Arguments) -> typed.Node:
    """lawDate(): Date"""
    call.count()
    node = typed.LawDate(DATE, call.span)
    call.scope.capture("lawDate", node)
    return node


def _empty(call: Arguments) -> typed.Node:
    """withheld("sentence" [, detail: Text]), also notApplicable, missing, notYet: why a field has no value"""
    raise RuleError(
        "RULE_TYPE_ERROR", "only the result of a field can be empty", call.span,
        hint="as the field's whole expression, or as a branch of its 'if'",
    )  # fmt: skip


def check_empty(node: syntax.Call, scope: Scope, check: CheckExpression) -> typed.Node:
    """An empty result, where one may stand."""
    call = Arguments(node, scope, check)
    call.count('"sentence"', "detail", optional=1)
    reason = call.text(0, "a sentence")  # it is published: nothing of a fact may come into it
    if not reason.strip():
        message, hint = "a field without a value has a reason", f'say why: {node.function}("not measured")'
        raise RuleError("RULE_TYPE_ERROR", message, call.span_of(0), hint=hint)
    detail = call.of_type(1, TEXT) if call.given > 1 else None
    return typed.EmptyNode(node.function, reason, detail, EMPTY, node.span)


def _emit(call: Arguments) -> typed.Node:
    """emitCompliance("CODE", condition: Bool, "message") [severity …] [for …]: Bool, and a statement"""
    call.count('"CODE"', "condition", '"message"')
    call.outside_lambda()
    code, message = call.text(0, "a code"), call.text(2, "a message")
    condition = call.of_type(1, BOOL)
    call.scope.emit(code, Stated(call.span, call.audiences))
    return typed.Emit(code, condition, message, call.severity or WARN, BOOL, call.span)


def _implies(call: Arguments) -> typed.Node:
    """implies(a: Bool, b: Bool): Bool, in tests only; b is looked at only where a holds"""
    call.count("a", "b")
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
        "lookup": _lookup,
        "keysOf": _keys_of,
        "lawDate": _law_date,
        "withheld": _empty,
        "notApplicable": _empty,
        "missing": _empty,
        "notYet": _empty,
        "emitCompliance": _emit,
        "implies": _implies,
        **VOCABULARY,
        **CONVERSIONS,
        **LIST_FUNCTIONS,
    }
)
