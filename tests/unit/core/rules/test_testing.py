import sys

import pytest

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.testing import Report, TestResult, run_tests

RULES = """
table cyclesPerYear: Int = {"M1": 60, "L": 20};
field energy.total: Qty(kWh) =
  let b = requireSome(getFact("Battery", "battery:X"), "no battery");
  let years = toInt(requireSome(recordGet(b, "years")));
  assert(years > 0, "YEARS", "a warranty has years");
  toQty(kWh, requireSome(recordGet(b, "usable_kwh"))) * 60 * years;
field share: Dec(2) = toDec(3, "0.145");
field maybe: Opt(Int) = none;
field pair: Record(a: Int) = record(a: 1);
field secret: Text = if (lawDate() < date("2030-01-01")) then withheld("not yet") else "x";
field ok: Bool = emitCompliance("ART_7", field("energy.total") > qty(0, kWh), "energy");
"""
FACTS = 'fact b("Battery", "battery:X") = {"usable_kwh": "75.0", "years": 8}; lawDate("2027-02-18");'


def result(test: str) -> TestResult:
    [found] = run_tests(load(RULES + test)).results
    return found


def example(expectations: str, facts: str = FACTS) -> str | None:
    return result(f"example e: {{ {facts} }} => {expectations};").failure


@pytest.mark.parametrize(
    "expectation",
    [
        "expect(energy.total, == qty(36000.0, kWh))",
        "expect(energy.total, == qty(36000, kWh)), expect(energy.total, > qty(35999.99, kWh))",
        "expect(energy.total, != qty(1, kWh)), expect(energy.total, <= qty(36000, kWh))",
        "expect(share, == 0.14)",
        "expect(share, < 0.145)",
        "expect(maybe, == none)",
        "expect(pair, == record(a: 1))",
        "expect(ok, == true)",
        "expect(share, == round(half_even, 2, 0.145))",
        "expectEmpty(secret, withheld)",
        'expectCompliance("ART_7", true)',
    ],
)
def test_an_expectation_that_holds_passes(expectation: str) -> None:
    assert example(expectation) is None


@pytest.mark.parametrize(
    ("expectation", "failure"),
    [
        (
            "expect(energy.total, == qty(1, kWh))",
            'energy.total is {"unit":"kWh","value":"36000.0"}, expected == {"unit":"kWh","value":"1"}',
        ),
        ("expect(share, == 0.145)", 'share is "0.14", expected == "0.145"'),
        ("expect(maybe, == 5)", "maybe is null, expected == 5"),
        ('expect(secret, == "x")', 'secret is {"empty":"withheld","reason":"not yet"}, expected == "x"'),
        (
            "expectEmpty(secret, missing)",
            'secret is {"empty":"withheld","reason":"not yet"}, expected missing',
        ),
        ("expectEmpty(ok, missing)", "ok is true, expected missing"),
        ('expectCompliance("ART_7", false)', "compliance ART_7 is true, expected false"),
        ('expectCompliance("ART_8", true)', "compliance ART_8 is not stated, expected true"),
        ('expectError("YEARS")', "no error, expected YEARS"),
    ],
)
def test_one_that_does_not_hold_says_what_was_found(expectation: str, failure: str) -> None:
    assert example(expectation) == failure


@pytest.mark.parametrize(
    ("expectation", "shown"),
    [
        ("expect(energy.totl, == qty(1, kWh))", "RULE_TYPE_ERROR: unknown field 'energy.totl'"),
        ("expectEmpty(secrt, missing)", "RULE_TYPE_ERROR: unknown field 'secrt'"),
        ("expect(energy.total, == 5)", "energy.total is Qty(kWh) and cannot be compared with Int"),
        ("expect(energy.total, == nothing)", "RULE_TYPE_ERROR: unknown name 'nothing'"),
        ("expect(pair, < record(a: 1))", "RULE_TYPE_ERROR: a comparison does not take dict and dict"),
        ("expect(share, == 1.00 / 0)", "DIVISION_BY_ZERO"),
    ],
)
def test_an_expectation_that_makes_no_sense_is_shown_with_its_place(expectation: str, shown: str) -> None:
    failure = example(expectation)

    assert failure is not None
    assert shown in failure
    assert "^" in failure


def test_errors_can_be_expected_by_their_code_or_by_that_of_an_assertion() -> None:
    old = 'fact b("Battery", "battery:X") = {"usable_kwh": "75.0", "years": 0};'

    assert example('expectError("YEARS")', old) is None
    assert example('expectError("RULE_ASSERTION_FAILED")', old) is None
    assert example('expectError("NOT_FOUND")', "") is None
    assert example('expectError("YEAR")', old) == (
        "RULE_ASSERTION_FAILED: YEARS: a warranty has years, expected YEAR"
    )


def test_an_error_that_was_not_expected_is_shown_with_its_place() -> None:
    failure = example("expect(ok, == true)", "")

    assert failure is not None
    assert failure.startswith("NOT_FOUND: no battery (line 4, column 11)")


def prop(claim: str, generators: str, cases: int = 20) -> TestResult:
    facts = 'fact b("Battery", "battery:X") = {"usable_kwh": e, "years": 8, "all": [e, {"e": e}]};'
    return result(
        f'property p: cases({cases}) seed(42) {{ {facts} lawDate("2027-02-18"); }}'
        f" forall {generators} => {claim};"
    )


def test_a_property_that_holds_passes_all_its_cases() -> None:
    found = prop(
        'implies(e > 0.0, requireSome(lookup(cyclesPerYear, c)) > 0 && field("energy.total") > qty(0, kWh))',
        'e: Dec(1) in [0.0, 500.0], c: Text in {"M1", "L"}',
        600,
    )

    assert found == TestResult("p", 600)


def test_one_that_does_not_shows_the_case() -> None:
    found = prop('field("energy.total") < qty(4800, kWh)', "e: Dec(1) in [0.1, 100.0]")

    assert found.cases < 20
    assert found.failure is not None
    assert found.failure.startswith(f'case {found.cases} with e = "')
    assert found.failure.endswith('": the property does not hold')


def test_an_error_in_a_case_is_shown_with_its_place() -> None:
    found = prop('field("energy.total") / (e - e) > qty(0, kWh)', "e: Dec(1) in [0.1, 100.0]")

    assert found.cases == 0
    assert found.failure is not None
    assert "DIVISION_BY_ZERO" in found.failure


@pytest.mark.parametrize(
    ("claim", "generators", "shown"),
    [
        ("5", "e: Dec(1) in [0.1, 1.0]", "a property is Bool, but this is Int"),
        ("unknown", "e: Dec(1) in [0.1, 1.0]", "unknown name 'unknown'"),
        ("true", "e: Dec(1) in [1.0, 0.1]", "no range of Dec(1)"),
    ],
)
def test_a_property_that_makes_no_sense_is_shown_with_its_place(
    claim: str, generators: str, shown: str
) -> None:
    found = prop(claim, generators)

    assert found.cases == 0
    assert found.failure is not None
    assert shown in found.failure


def test_500_passing_cases_are_needed_to_publish() -> None:
    enough = Report((TestResult("a", 1), TestResult("b", 499)))
    few = Report((TestResult("a", 499),))
    failing = Report((TestResult("a", 500), TestResult("b", 0, "wrong")))

    assert (enough.cases, enough.passed, enough.publishable) == (500, True, True)
    assert (few.passed, few.publishable) == (True, False)
    assert (failing.passed, failing.publishable) == (False, False)


def test_limits_hold_in_tests() -> None:
    module = load(f"{RULES} example e: {{ {FACTS} }} => expect(ok, == true);")

    [found] = run_tests(module, Limits(steps=5)).results

    assert found.failure is not None
    assert "RULE_LIMIT_EXCEEDED" in found.failure


def test_the_end_of_the_stack_is_an_error_like_others() -> None:
    module = load(f"{RULES} example e: {{ {FACTS} }} => expect(ok, == true);")

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            run_tests(module)

    frames, frame = 0, sys._getframe()
    while (below := frame.f_back) is not None:
        frame, frames = below, frames + 1
    codes = set()
    for left in range(4, 40):
        try:
            deep(sys.getrecursionlimit() - frames - left)
        except (RuleError, RecursionError) as error:  # the latter where not even the call was possible
            codes.add(error.code if isinstance(error, RuleError) else "")

    assert "RULE_LIMIT_EXCEEDED" in codes
