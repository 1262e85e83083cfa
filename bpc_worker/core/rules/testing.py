"""Run the tests of a rule module: examples, and properties over generated values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import assert_never

from bpc_worker.core import canonical_json, numbers
from bpc_worker.core.hashing import sha256
from bpc_worker.core.rules import operations, syntax, typed
from bpc_worker.core.rules.evaluate import NO_NODE, Evaluator, Ref
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.fits import fit
from bpc_worker.core.rules.scope import FieldShape, Scope, Warnings, World
from bpc_worker.core.rules.source import Limits, RuleError, Span, render
from bpc_worker.core.rules.typecheck import check
from bpc_worker.core.rules.types import BOOL, DATE, INT, DecType, Type, show
from bpc_worker.core.rules.values import Empty, Num, Value, published

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
    return Report(tuple(_run(test, module, limits or Limits()) for test in module.tests))


def _run(test: syntax.Example | syntax.Property, module: typed.TypedModule, limits: Limits) -> TestResult:
    if isinstance(test, syntax.Example):
        failure = _example(test, module, limits)
        return TestResult(test.name, 0 if failure else 1, failure)
    return _property(test, module, limits)


class _CaseFailed(Exception):  # noqa: N818 - a finding about the rules
    """What was expected and what was found."""


def _example(test: syntax.Example, module: typed.TypedModule, limits: Limits) -> str | None:
    evaluator = _evaluator(module, test.fixtures, {}, limits)
    error: RuleError | None = None
    try:
        evaluator.run()
    except RuleError as raised:
        error = raised
    try:
        for expectation in test.expectations:
            _hold(expectation, evaluator, error, module)
    except _CaseFailed as failed:
        return str(failed)
    except RuleError as wrong:
        return render(module.source, wrong)
    return None


def _hold(
    expectation: syntax.Expectation, evaluator: Evaluator, error: RuleError | None, module: typed.TypedModule
) -> None:
    if isinstance(expectation, syntax.ExpectError):
        _hold_error(expectation, error)
        return
    if error is not None:
        raise _CaseFailed(render(module.source, error))
    match expectation:
        case syntax.ExpectValue():
            _hold_value(expectation, evaluator, module)
        case syntax.ExpectEmpty(path, kind, _):
            found = _value_of(path, evaluator, expectation.span)
            if not isinstance(found, Empty) or found.kind != kind:
                raise _CaseFailed(f"{path} is {_shown(found)}, expected {kind}")
        case syntax.ExpectCompliance(code, holds, _):
            found_all = [each.holds for each in evaluator.result.statements if each.code == code]
            if found_all != [holds]:
                raise _CaseFailed(f"compliance {code} is {found_all or 'not stated'}, expected {holds}")
        case _:
            assert_never(expectation)


def _hold_error(expectation: syntax.ExpectError, error: RuleError | None) -> None:
    if error is None:
        raise _CaseFailed(f"no error, expected {expectation.code}")
    asserted = error.code == "RULE_ASSERTION_FAILED" and error.message.startswith(f"{expectation.code}: ")
    if error.code != expectation.code and not asserted:
        raise _CaseFailed(f"{error.code}: {error.message}, expected {expectation.code}")


def _hold_value(expectation: syntax.ExpectValue, evaluator: Evaluator, module: typed.TypedModule) -> None:
    found = _value_of(expectation.path, evaluator, expectation.span)
    if isinstance(found, Empty):
        raise _CaseFailed(f"{expectation.path} is {_shown(found)}")
    kind = module.fields[expectation.path].type
    wanted = fit(check(expectation.value, _test_scope(module, {})), kind)
    if wanted is None:
        message = f"{expectation.path} is {show(kind)} and cannot be compared with this"
        raise RuleError("RULE_TYPE_ERROR", message, expectation.value.span)
    expected = evaluator.evaluate(wanted, {}).value
    if operations.apply(expectation.operator, {}, (found, expected)) is not True:
        operator = expectation.operator
        raise _CaseFailed(f"{expectation.path} is {_shown(found)}, expected {operator} {_shown(expected)}")


def _value_of(path: str, evaluator: Evaluator, span: Span) -> Value:
    if path not in evaluator.result.fields:
        raise RuleError("RULE_TYPE_ERROR", f"unknown field '{path}'", span)
    return evaluator.result.fields[path]


def _shown(value: Value) -> str:
    return canonical_json.encode(published(value)).decode()


def _property(test: syntax.Property, module: typed.TypedModule, limits: Limits) -> TestResult:
    try:
        claim = check(test.claim, _test_scope(module, {each.name: each.type for each in test.generators}))
        _check_claim(claim)
        generators = [_Choices.of(each, module) for each in test.generators]
    except RuleError as error:
        return TestResult(test.name, 0, render(module.source, error))
    for case in range(test.cases):
        drawn = {each.name: each.draw(test.seed, test.name, case) for each in generators}
        failure = _case(test, claim, drawn, module, limits)
        if failure is not None:
            shown = ", ".join(f"{name} = {_shown(value)}" for name, value in drawn.items())
            return TestResult(test.name, case, f"case {case} with {shown}: {failure}")
    return TestResult(test.name, test.cases)


def _check_claim(claim: typed.Node) -> None:
    if claim.type != BOOL:
        raise RuleError("RULE_TYPE_ERROR", f"a property is a Bool, not {show(claim.type)}", claim.span)


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
    facts = []
    for fact in fixtures.facts:
        payload = _plain(fact.payload, drawn)
        if isinstance(payload, dict):
            facts.append(make_fact(fact.fact_type, fact.fact_key, payload))
    return Evaluator(module, FactSet(facts), fixtures.law_date, limits, prove=False)


def _plain(form: syntax.Json, drawn: Mapping[str, Value]) -> object:
    """The fixture as facts hold it: decimals and dates as text."""
    match form:
        case syntax.Variable(name, span):
            if name not in drawn:
                raise RuleError(
                    "RULE_TYPE_ERROR", f"unknown name '{name}'", span, hint="generate it with forall"
                )
            return published(drawn[name])
        case dict():
            return {key: _plain(each, drawn) for key, each in form.items()}
        case tuple():
            return [_plain(each, drawn) for each in form]
        case _:
            return form


def _test_scope(module: typed.TypedModule, variables: Mapping[str, Type]) -> Scope:
    world = World(
        source=module.source,
        fields={path: FieldShape(each.type, each.may_be_empty) for path, each in module.fields.items()},
        tables=module.table_types,
        warnings=Warnings(),
        in_tests=True,
    )
    return Scope(world, variables=dict(variables))


@dataclass(frozen=True, slots=True)
class _Choices:
    """The values that a generator draws from."""

    name: str
    type: Type
    low: Value
    high: Value
    listed: tuple[Value, ...]

    @staticmethod
    def of(generator: syntax.Generator, module: typed.TypedModule) -> "_Choices":
        values = tuple(_constants(generator, module))
        if not generator.is_range:
            return _Choices(generator.name, generator.type, None, None, values)
        low, high = values
        ranged = generator.type in {INT, DATE} or isinstance(generator.type, DecType)
        if not ranged or operations.ordered(low, high) > 0:
            message = f"no range of {show(generator.type)}"
            hint = "Int, Dec and Date have ranges, low end first; others a choice {a, b}"
            raise RuleError("RULE_TYPE_ERROR", message, generator.span, hint=hint)
        return _Choices(generator.name, generator.type, low, high, ())

    def draw(self, seed: int, test: str, case: int) -> Value:
        """By SHA-256 of the canonical JSON array [seed, test, case, variable]: repeatable in any language."""
        digest = sha256(canonical_json.encode([seed, test, case, self.name]))
        number = int.from_bytes(digest, "big")
        if self.listed:
            return self.listed[number % len(self.listed)]
        match self.low, self.high:
            case date() as low, date() as high:
                return low + timedelta(days=number % ((high - low).days + 1))
            case Num(low), Num(high):
                return Num(self._decimal(number, low, high))
            case int() as low, int() as high:
                return low + number % (high - low + 1)
            case _:
                raise AssertionError(self)

    def _decimal(self, number: int, low: Decimal, high: Decimal) -> Decimal:
        scale = self.type.scale if isinstance(self.type, DecType) else 0
        first, last = int(low.scaleb(scale)), int(high.scaleb(scale))
        return numbers.rounded(Decimal(first + number % (last - first + 1)).scaleb(-scale), scale)


def _constants(generator: syntax.Generator, module: typed.TypedModule) -> Iterator[Value]:
    for written in generator.choices:
        node = check(written, _test_scope(module, {}))
        negative = isinstance(node, typed.Op) and node.name == "negate"
        fitted = fit(node, generator.type)
        if fitted is None or not (isinstance(node, typed.Const) or negative):
            message = f"expected a plain {show(generator.type)}"
            raise RuleError("RULE_TYPE_ERROR", message, written.span)
        yield Evaluator(module, FactSet([]), None, prove=False).evaluate(fitted, {}).value
