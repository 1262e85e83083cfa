"""Run the tests of a rule module: examples, and properties over generated values."""

from collections.abc import Mapping
from dataclasses import dataclass

from bpc_worker.core import canonical_json
from bpc_worker.core.canonical_json import CanonicalJsonError
from bpc_worker.core.rules import operations, syntax, typed
from bpc_worker.core.rules.draws import draw_of
from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.fits import fit
from bpc_worker.core.rules.scope import FieldShape, Scope, Warnings, World
from bpc_worker.core.rules.source import Limits, RuleError, Span, quoted, render, too_deep_a_stack
from bpc_worker.core.rules.trace import NO_NODE, Ref
from bpc_worker.core.rules.typecheck import check, check_as
from bpc_worker.core.rules.types import BOOL, Type, show
from bpc_worker.core.rules.values import Empty, Value, published

PUBLISHABLE_CASES = 500


@dataclass(frozen=True, slots=True)
class TestResult:
    name: str
    cases: int  # that passed
    failure: str | None = None

    __test__ = False  # not one of pytest's own


@dataclass(frozen=True, slots=True)
class Report:
    results: tuple[TestResult, ...]

    @property
    def cases(self) -> int:
        return sum(result.cases for result in self.results)

    @property
    def passed(self) -> bool:
        return all(result.failure is None for result in self.results)

    @property
    def publishable(self) -> bool:
        return self.passed and self.cases >= PUBLISHABLE_CASES


def run_tests(module: typed.TypedModule, limits: Limits | None = None) -> Report:
    """Every test of the module; a property ends at its first failing case."""
    bounds = limits or Limits()
    try:
        return Report(tuple([_run(test, module, bounds) for test in module.tests]))
    except (RecursionError, CanonicalJsonError):  # the latter too: a fixture always has a canonical form
        raise too_deep_a_stack() from None


def _run(test: syntax.Example | syntax.Property, module: typed.TypedModule, limits: Limits) -> TestResult:
    if isinstance(test, syntax.Property):
        return _property(test, module, limits)
    try:
        _example(test, module, limits)
    except _CaseFailed as failed:
        return TestResult(test.name, 0, str(failed))
    except RuleError as wrong:
        return TestResult(test.name, 0, render(module.source, wrong))
    return TestResult(test.name, 1)


class _CaseFailed(Exception):  # noqa: N818 - a finding about the rules
    """What was expected and what was found."""


def _example(test: syntax.Example, module: typed.TypedModule, limits: Limits) -> None:
    evaluator = _evaluator(module, test.fixtures, {}, limits)
    error: RuleError | None = None
    try:
        evaluator.run()
    except RuleError as raised:
        error = raised
    for expectation in test.expectations:
        if isinstance(expectation, syntax.ExpectError):
            _hold_error(expectation, error)
        elif error is not None:
            raise error
        else:
            _hold(expectation, evaluator, module, limits)


def _hold_error(expectation: syntax.ExpectError, error: RuleError | None) -> None:
    if error is None:
        raise _CaseFailed(f"no error, expected {expectation.code}")
    asserted = error.code == "RULE_ASSERTION_FAILED" and error.message.startswith(f"{expectation.code}: ")
    if error.code != expectation.code and not asserted:
        raise _CaseFailed(f"{error.code}: {error.message}, expected {expectation.code}")


def _hold(
    expectation: syntax.ExpectValue | syntax.ExpectEmpty | syntax.ExpectCompliance,
    evaluator: Evaluator,
    module: typed.TypedModule,
    limits: Limits,
) -> None:
    match expectation:
        case syntax.ExpectValue(path):
            _hold_value(expectation, _field(path, module, expectation.span), evaluator, module, limits)
        case syntax.ExpectEmpty(path, kind):
            found = evaluator.result.fields[_field(path, module, expectation.span).path]
            if not isinstance(found, Empty) or found.kind != kind:
                raise _CaseFailed(f"{path} is {_shown(found)}, expected {kind}")
        case syntax.ExpectCompliance(code, holds):
            stated = [each.holds for each in evaluator.result.statements if each.code == code]
            if stated != [holds]:
                shown = " and ".join(_shown(each) for each in stated) or "not stated"
                raise _CaseFailed(f"compliance {code} is {shown}, expected {_shown(holds)}")


def _hold_value(
    expectation: syntax.ExpectValue,
    field: typed.TypedField,
    evaluator: Evaluator,
    module: typed.TypedModule,
    limits: Limits,
) -> None:
    """Compared as it is written: rounded to the field's scale, an expected 0.145 would be met by 0.14."""
    wanted = check(expectation.value, _scope(module, {}, limits))
    if fit(wanted, field.type) is None:
        message = f"{field.path} is {show(field.type)} and cannot be compared with {show(wanted.type)}"
        raise RuleError("RULE_TYPE_ERROR", message, expectation.value.span)
    found, operator = evaluator.result.fields[field.path], expectation.operator
    expected = evaluator.evaluate(wanted, {}).value
    if isinstance(found, Empty) or operations.apply(operator, {}, (found, expected)) is not True:
        raise _CaseFailed(f"{field.path} is {_shown(found)}, expected {operator} {_shown(expected)}")


def _field(path: str, module: typed.TypedModule, span: Span) -> typed.TypedField:
    found = module.fields.get(path)
    if found is None:
        raise RuleError("RULE_TYPE_ERROR", f"unknown field {quoted(path)}", span)
    return found


def _shown(value: Value) -> str:
    return canonical_json.encode(published(value)).decode()


def _property(test: syntax.Property, module: typed.TypedModule, limits: Limits) -> TestResult:
    try:
        draws = [draw_of(each, _scope(module, {}, limits)) for each in test.generators]
        types = {each.name: each.type for each in test.generators}
        claim = check_as(test.claim, BOOL, _scope(module, types, limits), "a property")
    except RuleError as error:
        return TestResult(test.name, 0, render(module.source, error))
    for case in range(test.cases):
        drawn = {each.name: each.value(test.seed, test.name, case) for each in draws}
        failure = _case(test, claim, drawn, module, limits)
        if failure is not None:
            shown = ", ".join(f"{name} = {_shown(value)}" for name, value in drawn.items())
            return TestResult(test.name, case, f"case {case} with {shown}: {failure}")
    return TestResult(test.name, test.cases)


def _case(
    test: syntax.Property,
    claim: typed.Node,
    drawn: Mapping[str, Value],
    module: typed.TypedModule,
    limits: Limits,
) -> str | None:
    evaluator = _evaluator(module, test.fixtures, drawn, limits)
    try:
        evaluator.run()
        held = evaluator.evaluate(claim, {name: Ref(value, NO_NODE) for name, value in drawn.items()})
    except RuleError as error:
        return render(module.source, error)
    return None if held.value is True else "the property does not hold"


def _evaluator(
    module: typed.TypedModule, fixtures: syntax.Fixtures, drawn: Mapping[str, Value], limits: Limits
) -> Evaluator:
    facts = [
        make_fact(
            fact.fact_type, fact.fact_key, {key: _plain(each, drawn) for key, each in fact.payload.items()}
        )
        for fact in fixtures.facts
    ]
    return Evaluator(module, FactSet(facts), fixtures.law_date, limits, prove=False)


def _plain(form: syntax.Json, drawn: Mapping[str, Value]) -> object:
    """The fixture as facts hold it: decimals and dates as text."""
    match form:
        case syntax.Variable(name):
            return published(drawn[name])
        case dict():
            return {key: _plain(each, drawn) for key, each in form.items()}
        case tuple():
            return [_plain(each, drawn) for each in form]
        case _:
            return form


def _scope(module: typed.TypedModule, variables: Mapping[str, Type], limits: Limits) -> Scope:
    world = World(
        source=module.source,
        fields={path: FieldShape(each.type, each.may_be_empty) for path, each in module.fields.items()},
        tables=module.table_types,
        warnings=Warnings(),
        in_tests=True,
        limits=limits,
    )
    return Scope(world, variables=dict(variables))
