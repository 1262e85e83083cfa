"""Syntax -> typed tree, or an error with its place."""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal

from bpc_worker.core.base import numbers
from bpc_worker.core.base.calendar import Moment, Month
from bpc_worker.core.rules import operations, syntax, typed, types
from bpc_worker.core.rules.arguments import hint_for, hint_to_fit
from bpc_worker.core.rules.builtins import check_call, check_empty
from bpc_worker.core.rules.cursor import NEST_LESS
from bpc_worker.core.rules.fits import fit, join
from bpc_worker.core.rules.operators import combined
from bpc_worker.core.rules.parse_tests import EMPTY_KINDS
from bpc_worker.core.rules.scope import Opened, Scope
from bpc_worker.core.rules.source import RuleError, limit_exceeded, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    FACT,
    INT,
    MOMENT,
    MONTH,
    NONE,
    TEXT,
    TEXTS,
    DecType,
    ListType,
    QtyType,
    Type,
    show,
)
from bpc_worker.core.rules.values import Num, Quantity, Texts

CheckResult = Callable[[syntax.Expression], typed.Node]


def check(node: syntax.Expression, scope: Scope) -> typed.Node:
    """The expression with its type, wherever it stands."""
    world = scope.world
    deepest = 2 * world.limits.nesting  # a pair of brackets, and an operator beside it
    world.depth += 1
    try:
        if world.depth > deepest:
            what = f"operators and brackets nested {world.depth} levels deep"
            raise limit_exceeded(what, deepest, node.span, hint=NEST_LESS)
        return _check(node, scope)
    finally:
        world.depth -= 1


def _check(node: syntax.Expression, scope: Scope) -> typed.Node:
    match node:
        case syntax.Literal() | syntax.QuantityLiteral():
            return _literal(node)
        case syntax.Name():
            return _name(node, scope)
        case syntax.Call():
            return check_call(node, scope, check)
        case syntax.RecordLiteral():
            return _record(node, scope)
        case syntax.Unary():
            return _unary(node, scope)
        case syntax.Chain():
            return _chain(node, scope)
        case syntax.Conditional():
            return _conditional(node, scope)
        case syntax.Block():
            return _block(node, scope, lambda result: check(result, scope))


def check_result(node: syntax.Expression, wanted: Type, scope: Scope) -> typed.Node:
    """A field's expression: every branch fits the declared type, or says why there is no value."""

    def inner(branch: syntax.Expression) -> typed.Node:
        return check_result(branch, wanted, scope)

    match node:
        case syntax.Conditional():
            condition, then, otherwise = _branches(node, scope, inner)
            return typed.If(condition, then, otherwise, wanted, node.span)
        case syntax.Block():
            return _block(node, scope, inner)
        case syntax.Call(function=name) if name in EMPTY_KINDS:
            return check_empty(node, scope, check)
        case _:
            return check_as(node, wanted, scope, "the field")


def check_as(node: syntax.Expression, wanted: Type, scope: Scope, what: str) -> typed.Node:
    """The expression as a value of the wanted type; a declared scale rounds, half to even."""
    checked = check(node, scope)
    found = fit(checked, wanted)
    if found is None:
        message = f"{what} is {show(wanted)}, but this is {show(checked.type)}"
        raise RuleError("RULE_TYPE_ERROR", message, node.span, hint=hint_to_fit(checked.type, wanted))
    return found


def _literal(node: syntax.Literal | syntax.QuantityLiteral) -> typed.Node:
    if isinstance(node, syntax.QuantityLiteral):
        return typed.Const(Quantity(node.value, node.unit), QtyType(node.unit), node.span)
    match node.value:
        case bool(value):
            return typed.Const(value, BOOL, node.span)
        case int(value):
            return typed.Const(value, INT, node.span)
        case Decimal() as value:
            return typed.Const(Num(value), DecType(numbers.scale_of(value)), node.span)
        case str(value):
            return typed.Const(value, TEXT, node.span)
        case date() as value:
            return typed.Const(value, DATE, node.span)
        case Month() | Moment() | Texts() as value:
            return typed.Const(value, _TIMED[type(value)], node.span)
        case None:
            return typed.Const(None, NONE, node.span)


_TIMED: Mapping[type, Type] = {Month: MONTH, Moment: MOMENT, Texts: TEXTS}


def _name(node: syntax.Name, scope: Scope) -> typed.Node:
    found = scope.variable(node.name, node.span) or scope.table(node.name, node.span)
    if found is not None:
        return found
    hint = did_you_mean(
        node.name, scope.names(), "introduce it with 'let', or write field(\"…\") for a field"
    )
    raise RuleError("RULE_TYPE_ERROR", f"unknown name {quoted(node.name)}", node.span, hint=hint)


def _record(node: syntax.RecordLiteral, scope: Scope) -> typed.Node:
    names, operands = [], []
    for name, written in node.members:
        operand = check(written, scope)
        if types.contains(operand.type, lambda kind: kind == FACT or isinstance(kind, ListType)):
            message = f"a record cannot hold {show(operand.type)}"
            hint = "a List is a field of its own; of a fact, take the values"
            raise RuleError("RULE_TYPE_ERROR", message, written.span, hint=hint)
        names.append(name)
        operands.append(operand)
    kind = types.record({name: operand.type for name, operand in zip(names, operands, strict=True)})
    if types.is_too_large(kind, scope.world.limits):
        hint = "make several fields of it"
        raise limit_exceeded("a record of too many members", types.MAX_PARTS, node.span, hint=hint)
    return typed.Op("record", {"names": names}, tuple(operands), kind, node.span)


def _unary(node: syntax.Unary, scope: Scope) -> typed.Node:
    operand = check(node.operand, scope)
    if node.operator == "!":
        if operand.type != BOOL:
            raise _no_bool("!", node, operand.type)
        return typed.Op("!", {}, (operand,), BOOL, node.span)
    if not types.is_number(operand.type) and not isinstance(operand.type, QtyType):
        message = f"'-' needs a number, not {show(operand.type)}"
        hint = hint_for(operand.type, "only numbers and quantities can be calculated with")
        raise RuleError("RULE_TYPE_ERROR", message, node.span, hint=hint)
    if isinstance(operand, typed.Const):  # -1 is a number, not a step of a computation
        return typed.Const(operations.apply("negate", {}, (operand.value,)), operand.type, node.span)
    return typed.Op("negate", {}, (operand,), operand.type, node.span)


def _no_bool(operator: str, node: syntax.Expression, found: Type) -> RuleError:
    message = f"'{operator}' needs a Bool, not {show(found)}"
    return RuleError("RULE_TYPE_ERROR", message, node.span, hint=hint_to_fit(found, BOOL))


def _chain(node: syntax.Chain, scope: Scope) -> typed.Node:
    first = check(node.first, scope)
    [(strength, _, _), *_] = node.rest
    if strength in {"&&", "||"}:
        return _short_circuit(strength, node, first, scope)
    steps = []
    kind = first.type
    for operator, span, written in node.rest:
        operand = check(written, scope)
        kind = combined(operator, kind, operand.type, span, scope.world.limits)
        steps.append(typed.Step(operator, operand, span))
    return typed.ChainOp(first, tuple(steps), kind, node.span)


def _short_circuit(operator: str, node: syntax.Chain, first: typed.Node, scope: Scope) -> typed.Node:
    operands = [first, *[check(written, scope) for _, _, written in node.rest]]
    for operand, written in zip(operands, [node.first, *[each for _, _, each in node.rest]], strict=True):
        if operand.type != BOOL:
            raise _no_bool(operator, written, operand.type)
    return typed.ShortCircuit(operator, tuple(operands), BOOL, node.span)


def _conditional(node: syntax.Conditional, scope: Scope) -> typed.Node:
    condition, then, otherwise = _branches(node, scope, lambda branch: check(branch, scope))
    kind = join(then.type, otherwise.type)
    if kind is None:
        message = f"the branches differ: {show(then.type)} and {show(otherwise.type)}"
        hint = hint_to_fit(otherwise.type, then.type, "both must have one type")
        raise RuleError("RULE_TYPE_ERROR", message, node.otherwise.span, hint=hint)
    return typed.If(condition, then, otherwise, kind, node.span)


def _branches(
    node: syntax.Conditional, scope: Scope, check_branch: CheckResult
) -> tuple[typed.Node, typed.Node, typed.Node]:
    condition = check_as(node.condition, BOOL, scope, "the condition of an 'if'")
    before, scope.emitted = scope.emitted, {}
    then = check_branch(node.then)
    in_then, scope.emitted = scope.emitted, {}
    otherwise = check_branch(node.otherwise)
    in_otherwise, scope.emitted = scope.emitted, before
    for code, stated in (in_then | in_otherwise).items():  # a code may stand in both: only one of them runs
        if code in in_then and in_then[code].audiences != stated.audiences:
            hint = "who may see it must not depend on the branch: write the same 'for' in both"
            message = f"two audiences for the statement {quoted(code)}"
            raise RuleError("RULE_TYPE_ERROR", message, stated.span, hint=hint)
        scope.emit(code, stated)
    return condition, then, otherwise


def _block(node: syntax.Block, scope: Scope, check_last: CheckResult) -> typed.Node:
    statements: list[typed.StatementNode] = []
    opened: list[Opened] = []
    for statement in node.statements:
        match statement:
            case syntax.Let(name, written):
                value = check(written, scope)
                opened.append(scope.open(name, value.type))
                statements.append(typed.LetNode(name.name, value))
            case syntax.Assertion(condition, code, message, span):
                held = check_as(condition, BOOL, scope, "the condition of an 'assert'")
                statements.append(typed.AssertNode(held, code, message, span))
            case syntax.Citation(text, span):
                if scope.in_lambda:
                    hint = "cite before the lambda"
                    raise RuleError("RULE_TYPE_ERROR", "cite cannot stand inside a lambda", span, hint=hint)
                statements.append(typed.CiteNode(text))
            case syntax.Usable():
                statements.append(_usable(statement, scope))
    result = check_last(node.result)
    for each in reversed(opened):
        scope.close(each)
    return typed.BlockNode(tuple(statements), result, result.type, node.span)


def _usable(node: syntax.Usable, scope: Scope) -> typed.UsableNode:
    if scope.in_lambda or scope.world.in_tests:
        message = "usable stands in fields only, outside lambdas"
        hint = "it ends a field: write it before the lambda, over the whole list"
        raise RuleError("RULE_TYPE_ERROR", message, node.span, hint=hint)
    condition = check_as(node.condition, BOOL, scope, "the condition of 'usable'")
    return typed.UsableNode(condition, check_as(node.detail, TEXT, scope, "the detail of 'usable'"))
