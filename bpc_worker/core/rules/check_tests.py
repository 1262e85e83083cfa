"""The tests of a module -> typed tests, or an error with its place. Running them checks nothing more."""

from bpc_worker.core.base import numbers
from bpc_worker.core.rules import arithmetic, syntax, typed, types
from bpc_worker.core.rules.draws import Draw, between, one_of
from bpc_worker.core.rules.fits import fit
from bpc_worker.core.rules.operators import unfit
from bpc_worker.core.rules.scope import FieldShape, Scope, World
from bpc_worker.core.rules.source import RuleError, Span
from bpc_worker.core.rules.typecheck import check, check_as
from bpc_worker.core.rules.types import BOOL, DecType, OptType, Type, show
from bpc_worker.core.rules.values import Num, Value


def check_example(test: syntax.Example, world: World) -> typed.Example:
    expectations = tuple([_expectation(each, world) for each in test.expectations])
    return typed.Example(test.name, test.fixtures, expectations, test.span)


def check_property(test: syntax.Property, world: World) -> typed.Property:
    draws = tuple([_draw(each, world) for each in test.generators])
    drawn = {each.name: each.type for each in test.generators}
    claim = check_as(test.claim, BOOL, Scope(world, variables=drawn), "a property")
    return typed.Property(test.name, test.cases, test.seed, test.fixtures, draws, claim, test.span)


def _expectation(written: syntax.Expectation, world: World) -> typed.Expectation:
    match written:
        case syntax.ExpectValue():
            return _value(written, world)
        case syntax.ExpectAudiences() if written.statement is not None:
            return written  # which statements there are is known when all fields are checked
        case syntax.ExpectEmpty() | syntax.ExpectAudiences():
            _shape(written.path, written.path_span, world)
            return written
        case syntax.ExpectError() | syntax.ExpectCompliance():
            return written


def _shape(path: str, span: Span, world: World) -> FieldShape:
    found = world.fields.get(path)
    if found is None:
        raise world.unknown_field(path, span)
    return found


def _value(written: syntax.ExpectValue, world: World) -> typed.ExpectValue:
    """Compared as it is written: rounded to the field's scale, an expected 0.145 would be met by 0.14."""
    kind = _shape(written.path, written.path_span, world).type
    value = check(written.value, Scope(world))
    inner = kind.of if isinstance(kind, OptType) else kind
    ordered = types.is_ordered(inner) and types.is_ordered(value.type)
    if fit(value, kind) is None or not (ordered or written.operator in {"==", "!="}):
        raise unfit(written.operator, inner, value.type, written.compared_span)
    return typed.ExpectValue(written.path, written.operator, value)


def _draw(generator: syntax.Generator, world: World) -> Draw:
    values = tuple([_constant(written, generator.type, world) for written in generator.choices])
    if not generator.is_range:
        return one_of(generator.name, values)
    low, high = values
    found = between(generator.name, generator.type, low, high)
    if found is None:
        message = f"no range of {show(generator.type)}"
        hint = "Int, Dec and Date have ranges, low end first; others a choice {a, b}"
        raise RuleError("RULE_TYPE_ERROR", message, generator.span, hint=hint)
    return found


def _constant(written: syntax.Expression, kind: Type, world: World) -> Value:
    """The literal, which is a value of the type as it stands: nothing is rounded."""
    node = check(written, Scope(world))
    if isinstance(node, typed.Const) and fit(node, kind) is not None:
        number = arithmetic.decimal_of(node.value)
        if not isinstance(kind, DecType) or number is None:
            return node.value
        value = Num(numbers.rounded(number, kind.scale))
        if value.value == number:
            return value
    hint = "write the value itself: nothing is computed or rounded here"
    raise RuleError("RULE_TYPE_ERROR", f"expected a plain {show(kind)}", written.span, hint=hint)
