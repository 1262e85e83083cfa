"""Run the tests of a rule module: examples, and properties over generated values."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.audience import NOBODY
from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.rules import operations, syntax, typed
from bpc_worker.core.rules.evaluate import Evaluator, Statement
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.source import (
    Limits,
    RuleError,
    limit_exceeded,
    quoted,
    render,
    too_deep_a_stack,
)
from bpc_worker.core.rules.trace import NO_NODE, Meter, Ref
from bpc_worker.core.rules.values import Empty, Value, published

PUBLISHABLE_CASES = 500

# What a case takes beside its evaluation, in steps.
_CASE = 20
_DRAWN_VALUE = 10
_FACT = 10
_BYTES_PER_STEP = 16  # of a fact


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


def run_tests(module: typed.TypedModule, limits: Limits | None = None, *, seed: int = 0) -> Report:
    """Every test of the module; a property ends at its first failing case.

    `seed` is added to that of each property, so that another run can draw other values.
    """
    bench = _Bench(module, limits or Limits(), seed)
    try:
        return Report(tuple([bench.run(test) for test in module.tests]))
    except (RecursionError, CanonicalJsonError):  # the latter too: a fixture always has a canonical form
        raise too_deep_a_stack() from None


class _CaseFailed(Exception):  # noqa: N818 - a finding about the rules
    """What was expected and what was found."""


Test = typed.Example | typed.Property


class _Bench:
    """A module, and what is left of the steps that all its tests may take together."""

    def __init__(self, module: typed.TypedModule, limits: Limits, seed: int) -> None:
        self._module = module
        self._limits = limits
        self._seed = seed
        self._left = limits.test_steps

    def run(self, test: Test) -> TestResult:
        if isinstance(test, typed.Example):
            failure = self._failure(test, {})
            return TestResult(test.name, int(failure is None), failure)
        seed = (test.seed + self._seed) % (canonical_json.MAX_INTEGER + 1)
        for case in range(test.cases):
            drawn = {each.name: each.value(seed, test.name, case) for each in test.draws}
            failure = self._failure(test, drawn)
            if failure is not None:
                shown = ", ".join(f"{name} = {_shown(value)}" for name, value in drawn.items())
                return TestResult(test.name, case, f"case {case} with {shown}: {failure}")
        return TestResult(test.name, test.cases)

    def _failure(self, test: Test, drawn: Mapping[str, Value]) -> str | None:
        """Of one case: why it does not pass."""
        try:
            with self._metered(test) as meter:
                meter.spend(_CASE + _DRAWN_VALUE * len(drawn))
                evaluator = self._evaluator(test.fixtures, drawn, meter)
                if isinstance(test, typed.Example):
                    _expect(test, self._module, evaluator, meter)
                else:
                    _claim(test, evaluator, drawn)
        except _CaseFailed as failed:
            return str(failed)
        except RuleError as error:
            return render(self._module.source, error)
        return None

    @contextmanager
    def _metered(self, test: Test) -> Iterator[Meter]:
        """The steps of one case; too many in all is an error that no test can expect."""
        share = min(self._limits.steps, self._left)
        meter = Meter(replace(self._limits, steps=max(1, share)))
        try:
            yield meter
        finally:
            self._left -= meter.spent
            if self._left < 0:
                what = f"the tests of the module take too many steps, the last ones in {quoted(test.name)}"
                hint = "fewer cases, or a higher limit in the configuration"
                raise limit_exceeded(what, self._limits.test_steps, test.span, hint=hint)

    def _evaluator(self, fixtures: syntax.Fixtures, drawn: Mapping[str, Value], meter: Meter) -> Evaluator:
        facts = []
        for fact in fixtures.facts:
            meter.spend(_FACT + _size(fact.fact_type) + _size(fact.fact_key))
            payload = _object(fact.payload, drawn, meter)
            facts.append(make_fact(fact.fact_type, fact.fact_key, payload))
        law_date, limits = fixtures.law_date, self._limits
        return Evaluator(self._module, FactSet(facts), law_date, limits, prove=False, meter=meter)


def _object(form: dict[str, syntax.Json], drawn: Mapping[str, Value], meter: Meter) -> dict[str, object]:
    meter.spend(1 + sum(map(_size, form)))
    return {key: _plain(each, drawn, meter) for key, each in form.items()}


def _plain(form: syntax.Json, drawn: Mapping[str, Value], meter: Meter) -> object:
    """The fixture as facts hold it: decimals and dates as text."""
    match form:
        case dict():
            return _object(form, drawn, meter)
        case tuple():
            meter.spend(1)
            return [_plain(each, drawn, meter) for each in form]
        case _:
            value = published(drawn[form.name]) if isinstance(form, syntax.Variable) else form
            meter.spend(_size(value))
            return value


def _size(value: object) -> int:
    return 1 + len(str(value)) // _BYTES_PER_STEP


def _claim(test: typed.Property, evaluator: Evaluator, drawn: Mapping[str, Value]) -> None:
    evaluator.run()
    held = evaluator.evaluate(test.claim, {name: Ref(value, NO_NODE) for name, value in drawn.items()})
    if held.value is not True:
        raise _CaseFailed("the property does not hold")


def _expect(test: typed.Example, module: typed.TypedModule, evaluator: Evaluator, meter: Meter) -> None:
    error: RuleError | None = None
    try:
        evaluator.run()
    except RuleError as raised:
        error = raised
    for expectation in test.expectations:
        match expectation:
            case syntax.ExpectAudiences():
                _hold_audiences(expectation, module)
            case syntax.ExpectError(code):
                _hold_error(code, error)
            case _ if error is not None:
                raise error
            case _:
                _hold(expectation, evaluator, meter)


def _hold_audiences(expectation: syntax.ExpectAudiences, module: typed.TypedModule) -> None:
    path, code, wanted = expectation.path, expectation.statement, expectation.audiences
    found = module.fields[path].audiences if code is None else module.statements.get(code)
    if found is None:
        raise _CaseFailed(f"no field states {quoted(str(code))}, expected for {_listed(wanted)}")
    if found != wanted:
        raise _CaseFailed(f"{path} is for {_listed(found)}, expected {_listed(wanted)}")


def _listed(audiences: tuple[str, ...]) -> str:
    return ", ".join(audiences) or NOBODY


def _hold_error(code: str, error: RuleError | None) -> None:
    if error is None:
        raise _CaseFailed(f"no error, expected {code}")
    asserted = error.code == "RULE_ASSERTION_FAILED" and error.message.startswith(f"{code}: ")
    if error.code != code and not asserted:
        raise _CaseFailed(f"{error.code}: {error.message}, expected {code}")


def _hold(
    expectation: typed.ExpectValue | syntax.ExpectEmpty | syntax.ExpectCompliance,
    evaluator: Evaluator,
    meter: Meter,
) -> None:
    match expectation:
        case typed.ExpectValue():
            _hold_value(expectation, evaluator, meter)
        case syntax.ExpectEmpty():
            _hold_empty(expectation, evaluator.result.fields[expectation.path], meter)
        case syntax.ExpectCompliance():
            meter.spend(len(evaluator.result.statements))
            _hold_compliance(expectation, evaluator.result.statements)


def _hold_empty(expectation: syntax.ExpectEmpty, found: Value, meter: Meter) -> None:
    kind, reason = expectation.kind, expectation.reason
    if isinstance(found, Empty) and found.kind == kind and reason in {None, found.reason}:
        return
    _weigh(found, meter)
    wanted = kind if reason is None else f"{kind} ({reason})"
    raise _CaseFailed(f"{expectation.path} is {_shown(found)}, expected {wanted}")


def _hold_compliance(expectation: syntax.ExpectCompliance, statements: list[Statement]) -> None:
    code, holds = expectation.code, expectation.holds
    stated = [each for each in statements if each.code == code]
    if [each.holds for each in stated] != [holds]:
        shown = " and ".join(_shown(each.holds) for each in stated) or "not stated"
        raise _CaseFailed(f"compliance {code} is {shown}, expected {_shown(holds)}")
    if expectation.severity not in {None, stated[0].severity}:
        raise _CaseFailed(f"compliance {code} is {stated[0].severity}, expected {expectation.severity}")


def _hold_value(expectation: typed.ExpectValue, evaluator: Evaluator, meter: Meter) -> None:
    found, operator = evaluator.result.fields[expectation.path], expectation.operator
    expected = evaluator.evaluate(expectation.value, {}).value
    _weigh(found, meter)
    _weigh(expected, meter)
    if not _compares(found, operator, expected):
        raise _CaseFailed(f"{expectation.path} is {_shown(found)}, expected {operator} {_shown(expected)}")


def _compares(found: Value, operator: str, expected: Value) -> bool:
    """What is not there equals none, and is neither less nor more than anything."""
    if isinstance(found, Empty) or (found is None and operator not in {"==", "!="}):
        return False
    return operations.apply(operator, {}, (found, expected)) is True


def _weigh(value: Value, meter: Meter) -> None:
    """To compare a list or to show it takes a step for each element, however often one list stands in it."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    for each in value if isinstance(value, tuple) else ():
        meter.spend(1)
        _weigh(each, meter)


def _shown(value: Value) -> str:
    return canonical_json.encode(published(value)).decode()
