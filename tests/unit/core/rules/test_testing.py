import re
import sys

import pytest

from bpc_worker.core.rules import check_tests, typecheck
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
field seen: Text for authorities, commission = "x";
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
        'expectCompliance("ART_7", true, warn)',
        'expectEmpty(secret, withheld, "not yet")',
        "expectAudiences(ok, public)",
        "expectAudiences(seen, commission, authorities, commission)",
        "expectAudiences(compliance.ART_7, public)",
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
        ("expect(maybe, < 5)", "maybe is null, expected < 5"),
        ("expect(maybe, >= 5)", "maybe is null, expected >= 5"),
        ("expect(pair, != record(a: 1))", 'pair is {"a":1}, expected != {"a":1}'),
        ("expectAudiences(ok, public, authorities)", "ok is for public, expected authorities, public"),
        ("expectAudiences(seen, authorities)", "seen is for authorities, commission, expected authorities"),
        ("expectAudiences(seen, public)", "seen is for authorities, commission, expected public"),
        (
            "expectAudiences(compliance.ART_7, public, authorities)",
            "compliance.ART_7 is for public, expected authorities, public",
        ),
        ("expectAudiences(compliance.ART_8, public)", "no field states 'ART_8', expected for public"),
        ('expectCompliance("ART_7", false)', "compliance ART_7 is true, expected false"),
        ('expectCompliance("ART_7", true, stop)', "compliance ART_7 is warn, expected stop"),
        (
            'expectEmpty(secret, withheld, "so")',
            'secret is {"empty":"withheld","reason":"not yet"}, expected withheld (so)',
        ),
        ('expectCompliance("ART_8", true)', "compliance ART_8 is not stated, expected true"),
        ('expectError("YEARS")', "no error, expected YEARS"),
    ],
)
def test_one_that_does_not_hold_says_what_was_found(expectation: str, failure: str) -> None:
    assert example(expectation) == failure


def test_an_expected_value_that_cannot_be_computed_is_shown_with_its_place() -> None:
    failure = example("expect(share, == 1.00 / 0)")

    assert failure is not None
    assert "DIVISION_BY_ZERO" in failure
    assert "^" in failure


def test_who_sees_a_field_is_declared_and_needs_no_facts() -> None:
    assert example("expectAudiences(ok, public)", "") is None
    assert example('expectError("NOT_FOUND"), expectAudiences(ok, public)', "") is None
    assert example("expectAudiences(ok, commission)", "") == "ok is for public, expected commission"
    failure = example("expectAudiences(ok, public), expect(ok, == true)", "")
    assert failure is not None
    assert failure.startswith("NOT_FOUND")


def test_running_checks_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version is parsed and checked once, by `load`."""
    module = load(f"""{RULES} example e: {{ {FACTS} }} => expect(ok, == true), expectAudiences(ok, public);
        property p: cases(3) seed(1) {{ {FACTS} }} forall x: Int in [1, 9] => field("ok") && x > 0;""")

    def never(*_: object) -> None:
        raise AssertionError

    for owner in (typecheck, check_tests):
        for name in ("check", "check_as"):
            monkeypatch.setattr(owner, name, never)

    assert run_tests(module).results == (TestResult("e", 1), TestResult("p", 3))


def test_names_in_tests_count_as_used_and_unused_ones_are_warned_of() -> None:
    module = load("""table t: Int = {"a": 1};
field n: Int = 1;
example e: {} => expect(n, == (let spare = 2; 1));
property p: cases(1) seed(1) {} forall x: Int in {1} => requireSome(lookup(t, "a")) == x;""")

    assert module.warnings == ("line 3, column 36: 'spare' is never used",)


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


PROPERTY = """property {name}: cases(100) seed(1) {{ fact b("B", "b") = {{"x": x}}; }}
    forall x: Int in [1, 9] => x > 0;"""
# A case, a drawn value, a fact; its type and key; its object; the claim.
ONE_CASE = 20 + 10 + 10 + 2 + 3 + 3


def test_the_tests_of_a_module_have_a_budget_together() -> None:
    module = load(PROPERTY.format(name="one") + PROPERTY.format(name="two"))

    assert run_tests(module, Limits(test_steps=200 * ONE_CASE)).passed
    one, two = run_tests(module, Limits(test_steps=200 * ONE_CASE - 1)).results
    assert one == TestResult("one", 100)
    assert two.cases == 99
    assert two.failure is not None
    assert re.fullmatch(
        r"case 99 with x = [1-9]: RULE_LIMIT_EXCEEDED: the tests of the module take too many steps, "
        rf"the last ones in 'two' \(the limit is {200 * ONE_CASE - 1}\) \(line 2, column 38\)"
        r"\n    .*property two.*\n +\^+\nhint: fewer cases, or a higher limit in the configuration",
        two.failure,
    )


def test_once_the_budget_is_spent_no_test_passes() -> None:
    """Not even one that expects this very error."""
    module = load("".join(f'example {name}: {{}} => expectError("RULE_LIMIT_EXCEEDED");' for name in "abc"))

    for steps, ended in ((1, 0), (19, 0), (20, 1), (39, 1), (40, 2), (60, 3)):
        results = run_tests(module, Limits(test_steps=steps)).results
        assert [each.cases for each in results] == [0, 0, 0]
        for each in results[:ended]:
            assert each.failure == "no error, expected RULE_LIMIT_EXCEEDED"
        for each in results[ended:]:
            assert f"too many steps, the last ones in '{each.name}'" in str(each.failure)


def test_the_steps_of_one_evaluation_can_still_be_expected() -> None:
    source = 'field a: Int = 1 + 1 + 1; example e: {} => expectError("RULE_LIMIT_EXCEEDED");'

    assert run_tests(load(source), Limits(steps=22)).passed


def test_a_hundred_thousand_small_cases_are_within_the_budget() -> None:
    """Counted on a few of them."""
    module = load(f"""{RULES} property p: cases(10) seed(1) {{ {FACTS} }}
        forall x: Int in [1, 9] => implies(x > 0, field("ok"));""")

    assert run_tests(module, Limits(test_steps=Limits().test_steps // (Limits().cases // 10))).passed


@pytest.mark.parametrize(
    "source",
    [
        'property p: cases(1000) seed(1) {{ fact b("B", "b") = {{"x": x, "t": "{long}"}}; }}',
        'property p: cases(1000) seed(1) {{ fact b("B", "b") = {{"x": x, "{long}": 1}}; }}',
        'property p: cases(1000) seed(1) {{ fact b("B", "b") = {{"x": [{{"{long}": x}}]}}; }}',
        'property p: cases(1000) seed(1) {{ fact b("B", "b{long}") = {{"x": x}}; }}',
        'property p: cases(1000) seed(1) {{ fact b("B{long}", "b") = {{"x": x}}; }}',
        'property p: cases(1000) seed(1) {{ fact b("B", "b") = {{"x": [{lists} x]}}; }}',
        'property p: cases(1000) seed(1) {{ fact b("B", "b") = {{"x": [{objects} x]}}; }}',
    ],
)
def test_long_facts_in_very_many_cases_are_counted(source: str) -> None:
    text = (
        source.format(long="x" * 16_000, lists="[], " * 1_000, objects="{}, " * 1_000)
        + " forall x: Int in [1, 9] => true;"
    )
    [found] = run_tests(load(text), Limits(test_steps=500_000)).results

    assert 400 < found.cases < 500


def test_a_long_drawn_text_in_very_many_places_is_refused_before_it_is_written() -> None:
    source = (
        'property p: cases(1) seed(1) { fact b("B", "b") = {"x": ['
        + ", ".join(["x"] * 50_000)
        + f']}}; }} forall x: Text in {{"{"x" * 500_000}"}} => true;'
    )
    [found] = run_tests(load(source)).results

    assert found.failure is not None
    assert "RULE_LIMIT_EXCEEDED: the evaluation takes too many steps" in found.failure


def test_looking_for_one_of_very_many_statements_is_counted() -> None:
    stated = " && ".join(f'emitCompliance("C{n}", true, "m")' for n in range(1_000))
    expected = ", ".join(f'expectCompliance("C{n}", true)' for n in range(1_000))
    module = load(f"field a: Bool = {stated}; example e: {{}} => {expected};")

    assert run_tests(module, Limits(steps=1_010_000)).passed
    assert not run_tests(module, Limits(steps=1_000_000)).passed


@pytest.mark.parametrize("expectation", ['expect(a, == field("a"))', "expectEmpty(a, missing)"])
def test_a_list_that_holds_itself_again_and_again_is_neither_compared_nor_shown(expectation: str) -> None:
    """Ten to the ninth elements, though they take only ninety steps to make."""
    lets = "".join(f"let x{n} = map(x{n - 1}, _y => x{n - 1}); " for n in range(1, 9))
    facts = "".join(f'fact b("B", "b{n}") = {{}}; ' for n in range(10))
    source = f"""field a: {"List(" * 9}Int{")" * 9} =
        let x0 = map(getFactsByPrefix("B", "b"), _b => 1); {lets} x8;
        example e: {{ {facts} }} => {expectation};"""
    [found] = run_tests(load(source), Limits(steps=100_000)).results

    assert found.failure is not None
    assert "RULE_LIMIT_EXCEEDED: the evaluation takes too many steps" in found.failure


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
