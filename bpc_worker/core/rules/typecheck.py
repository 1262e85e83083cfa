"""Syntax -> typed tree, or an error with its place."""

from decimal import Decimal
from datetime import date

from bpc_worker.core import numbers
from bpc_worker.core.rules import syntax, typed, types
from bpc_worker.core.rules.builtins import check_call
from bpc_worker.core.rules.fits import fit, join
from bpc_worker.core.rules.scope import Scope
from bpc_worker.core.rules.source import RuleError, Span
from bpc_worker.core.rules.suggest import nearest
from bpc_worker.core.rules.types import BOOL, DATE, INT, NONE, NUM, TEXT, DecType, QtyType, Type, show
from bpc_worker.core.rules.values import Num, Quantity
from bpc_worker.core.units import DIVIDE, MULTIPLY

_ORDERED = (INT, TEXT, DATE)


def check(node: syntax.Expression, scope: Scope) -> typed.Node:
    match node:
        case syntax.Literal(value, span):
            return _literal(value, span)
        case syntax.QuantityLiteral(value, unit, span):
            return typed.Const(Quantity(value, unit), QtyType(unit), span)
        case syntax.Name():
            return _name(node, scope)
        case syntax.Call():
            return check_call(node, scope, check)
        case syntax.Unary():
            return _unary(node, scope)
        case syntax.Chain():
            return _chain(node, scope)
        case syntax.Conditional():
            return _conditional(node, scope)
        case syntax.Block():
            return _block(node, scope)


def check_as(node: syntax.Expression, wanted: Type, scope: Scope, what: str) -> typed.Node:
    """The expression as a value of the wanted type; a declared scale rounds, half to even."""
    found = fit(check(node, scope), wanted)
    if found is None:
        actual = show(check(node, scope).type)
        raise RuleError("RULE_TYPE_ERROR", f"{what} is {show(wanted)}, but this is {actual}", node.span)
    return found


def _literal(value: object, span: Span) -> typed.Node:
    match value:
        case bool():
            return typed.Const(value, BOOL, span)
        case int():
            return typed.Const(value, INT, span)
        case Decimal():
            return typed.Const(Num(value), DecType(numbers.scale_of(value)), span)
        case str():
            return typed.Const(value, TEXT, span)
        case date():
            return typed.Const(value, DATE, span)
        case _:
            return typed.Const(None, NONE, span)


def _name(node: syntax.Name, scope: Scope) -> typed.Node:
    found = scope.variable(node.name, node.span)
    if found is not None:
        return found
    near = nearest(node.name, scope.names())
    hint = f"did you mean {near}?" if near else "introduce it with 'let', or write field(\"…\") for a field"
    raise RuleError("RULE_TYPE_ERROR", f"unknown name '{node.name}'", node.span, hint=hint)


def _unary(node: syntax.Unary, scope: Scope) -> typed.Node:
    operand = check(node.operand, scope)
    if node.operator == "!":
        if operand.type != BOOL:
            raise RuleError("RULE_TYPE_ERROR", f"'!' needs a Bool, not {show(operand.type)}", node.span)
        return typed.Op("!", {}, (operand,), BOOL, node.span)
    if not types.is_number(operand.type) and not isinstance(operand.type, QtyType):
        raise RuleError("RULE_TYPE_ERROR", f"'-' needs a number, not {show(operand.type)}", node.span)
    return typed.Op("negate", {}, (operand,), operand.type, node.span)


def _chain(node: syntax.Chain, scope: Scope) -> typed.Node:
    first = check(node.first, scope)
    if node.rest[0][0] in {"&&", "||"}:
        return _short_circuit(node, first, scope)
    steps = []
    kind = first.type
    for operator, span, written in node.rest:
        operand = check(written, scope)
        kind = _combined(operator, kind, operand.type, span)
        steps.append(typed.Step(operator, operand, span))
    return typed.ChainOp(first, tuple(steps), kind, node.span)


def _short_circuit(node: syntax.Chain, first: typed.Node, scope: Scope) -> typed.Node:
    operands = [first, *(check(written, scope) for _, _, written in node.rest)]
    for operand in operands:
        if operand.type != BOOL:
            message = f"'{node.rest[0][0]}' needs Bool on both sides, not {show(operand.type)}"
            raise RuleError("RULE_TYPE_ERROR", message, operand.span)
    return typed.ShortCircuit(node.rest[0][0], tuple(operands), BOOL, node.span)


def _combined(operator: str, left: Type, right: Type, span: Span) -> Type:
    match operator:
        case "+" | "-":
            found = _sum(left, right)
        case "*":
            found = _product(left, right)
        case "/":
            found = _quotient(left, right)
        case "==" | "!=":
            found = BOOL if _comparable(left, right) or join(left, right) is not None else None
        case _:
            found = BOOL if _comparable(left, right) else None
    if found is not None:
        return found
    code = "UNIT_MISMATCH" if isinstance(left, QtyType) and isinstance(right, QtyType) else "RULE_TYPE_ERROR"
    raise RuleError(
        code, f"'{operator}' does not fit {show(left)} and {show(right)}", span, hint=_hint(left, right)
    )


def _hint(left: Type, right: Type) -> str | None:
    if isinstance(left, QtyType) and isinstance(right, QtyType):
        return f"convert({left.unit}, …) brings both to one unit"
    if types.is_number(left) and types.is_number(right):
        return "bring both to one scale: toDec(scale, …) or round(half_even, scale, …)"
    if isinstance(left, types.OptType) or isinstance(right, types.OptType):
        return "an Opt must be opened first: requireSome(…) or unwrapOr(…, default)"
    if types.JSON in {left, right}:
        return "a value from a fact must be given a type first: toDec, toQty, toInt, toText, toDate, toBool"
    return None


def _sum(left: Type, right: Type) -> Type | None:
    if left == right and (types.is_number(left) or isinstance(left, QtyType)):
        return left
    return NUM if types.is_decimal(left) and types.is_decimal(right) and NUM in {left, right} else None


def _product(left: Type, right: Type) -> Type | None:
    match left, right:
        case QtyType(a), QtyType(b):
            unit = MULTIPLY.get((a, b))
            return QtyType(unit) if unit is not None else None
        case DecType(a), DecType(b):
            return DecType(a + b)
    if isinstance(left, QtyType) or isinstance(right, QtyType):
        quantity, factor = (left, right) if isinstance(left, QtyType) else (right, left)
        return quantity if types.is_number(factor) else None
    if not types.is_number(left) or not types.is_number(right):
        return None
    if NUM in {left, right}:
        return NUM
    return left if right == INT else right


def _quotient(left: Type, right: Type) -> Type | None:
    match left, right:
        case QtyType(a), QtyType(b):
            unit = DIVIDE.get((a, b))
            return NUM if a == b else (QtyType(unit) if unit is not None else None)
    if isinstance(left, QtyType):
        return left if types.is_number(right) else None
    return NUM if types.is_number(left) and types.is_number(right) else None


def _comparable(left: Type, right: Type) -> bool:
    if left == right:
        return left in _ORDERED or types.is_number(left) or isinstance(left, QtyType)
    return types.is_decimal(left) and types.is_decimal(right) and NUM in {left, right}


def _conditional(node: syntax.Conditional, scope: Scope) -> typed.Node:
    condition = check_as(node.condition, BOOL, scope, "the condition of an 'if'")
    then, otherwise = check(node.then, scope), check(node.otherwise, scope)
    kind = join(then.type, otherwise.type)
    if kind is None:
        message = f"the branches differ: {show(then.type)} and {show(otherwise.type)}"
        raise RuleError("RULE_TYPE_ERROR", message, node.span, hint="both must have one type")
    return typed.If(condition, then, otherwise, kind, node.span)


def _block(node: syntax.Block, scope: Scope) -> typed.Node:
    statements: list[typed.LetNode | typed.AssertNode | typed.CiteNode] = []
    opened: list[syntax.Name] = []
    for statement in node.statements:
        match statement:
            case syntax.Let(name, value, _):
                statements.append(typed.LetNode(name.name, check(value, scope)))
                _open(name, statements[-1].value.type, scope)
                opened.append(name)
            case syntax.Assertion(condition, code, message, span):
                held = check_as(condition, BOOL, scope, "the condition of an 'assert'")
                statements.append(typed.AssertNode(held, code, message, span))
            case syntax.Citation(text, span):
                if scope.in_lambda:
                    raise RuleError("RULE_TYPE_ERROR", "cite cannot stand inside a lambda", span)
                statements.append(typed.CiteNode(text))
    result = check(node.result, scope)
    for name in opened:
        if name.name not in scope.used:
            scope.world.warnings.add(f"'{name.name}' is never used", name.span)
        del scope.variables[name.name]
        scope.used.discard(name.name)
    return typed.BlockNode(tuple(statements), result, result.type, node.span)


def _open(name: syntax.Name, kind: Type, scope: Scope) -> None:
    if scope.known(name.name):
        raise RuleError(
            "RULE_TYPE_ERROR",
            f"'{name.name}' has a meaning here already",
            name.span,
            hint="choose another name",
        )
    scope.variables[name.name] = kind
