"""given, declared, measured, lastMeasured: they can end a field; missingRequired, pending: of the law."""

from collections.abc import Callable, Mapping

from bpc_worker.core.rules import declared, syntax, typed
from bpc_worker.core.rules.arguments import Arguments
from bpc_worker.core.rules.law import Law, needed_fields
from bpc_worker.core.rules.pending import until
from bpc_worker.core.rules.source import RuleError, quoted
from bpc_worker.core.rules.suggest import did_you_mean
from bpc_worker.core.rules.types import BOOL, DATE, INT, TEXT, OptType


def _reading(function: str) -> Callable[[Arguments], typed.Node]:
    def run(call: Arguments) -> typed.Node:
        """given(T, "name"): Opt(T); declared(T, "name"): T; lastMeasured and measured: of a measurement"""
        call.count("type or unit", '"name"')
        call.outside_lambda()
        _in_a_field(call, function)
        word, name = call.word(0, "a type or a unit", declared.WORDS), call.text(1, "the name of a value")
        return typed.Declared(function, word, name, declared.type_of(function, word), call.span)

    return run


def _missing_required(call: Arguments) -> typed.Node:
    """missingRequired(): Int"""
    call.count()
    call.outside_lambda()
    _in_a_field(call, "missingRequired")
    law = _law(call, "missingRequired()")
    for path in needed_fields(law):
        call.scope.use_field(path)
    return typed.MissingRequired(law, INT, call.span)


def _pending(call: Arguments) -> typed.Node:
    """pending("point"): Bool"""
    call.count('"point"')
    call.outside_lambda()
    _in_a_field(call, "pending")
    law = _law(call, "pending")
    known = {point.id: point for point in law.points}
    wanted = call.text(0, "the id of a point")
    if wanted not in known:
        message, hint = f"the law has no point {quoted(wanted)}", did_you_mean(wanted, known, "introduce it")
        raise RuleError("RULE_TYPE_ERROR", message, call.span_of(0), hint=hint)
    call.scope.use_field(law.class_field)
    given = (
        typed.LawDate(DATE, call.span),
        typed.FieldRef(law.class_field, OptType(TEXT), call.span),
    )
    return typed.Op("pending", {"until": until(known[wanted])}, given, BOOL, call.span)


def _law(call: Arguments, function: str) -> Law:
    law = call.scope.world.law
    if law is None:
        hint = 'add one: law "title" by identity.class { point …; }'
        raise RuleError("RULE_TYPE_ERROR", f"{function} needs a law", call.span, hint=hint)
    return law


def _in_a_field(call: Arguments, function: str) -> None:
    if call.scope.world.in_tests:
        hint = 'make a field of it, and look at field("…")'
        raise RuleError("RULE_TYPE_ERROR", f"{function} stands in fields only", call.span, hint=hint)


VOCABULARY: Mapping[str, Callable[[Arguments], typed.Node]] = {
    **{function: _reading(function) for function in declared.READINGS},
    "missingRequired": _missing_required,
    "pending": _pending,
}


def can_end(node: syntax.Argument) -> bool:
    """Whether the expression reads a value without which its field ends, or says `usable`."""
    match node:
        case syntax.Call(function=name, arguments=arguments):
            return name in declared.READINGS or any(map(can_end, arguments))
        case syntax.RecordLiteral(members):
            return any(can_end(each) for _, each in members)
        case syntax.Unary(operand=operand):
            return can_end(operand)
        case syntax.Chain(first, rest):
            return can_end(first) or any(can_end(each) for _, _, each in rest)
        case syntax.Conditional(condition, then, otherwise):
            return any(map(can_end, (condition, then, otherwise)))
        case syntax.Block(statements, result):
            return can_end(result) or any(map(_ends, statements))
        case _:  # a lambda cannot, nor what is written out
            return False


def _ends(statement: syntax.Statement) -> bool:
    match statement:
        case syntax.Let(value=value):
            return can_end(value)
        case syntax.Assertion(condition=condition):
            return can_end(condition)
        case syntax.Usable():
            return True
        case syntax.Citation():
            return False
