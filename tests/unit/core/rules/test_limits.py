"""Hostile texts: each ends with a clean answer, whatever it asks for; none may crash, hang or fill memory."""

import sys
from collections.abc import Callable
from time import process_time
from types import FrameType
from typing import TypeVar

import pytest

from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.parser import parse, parse_lambda
from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.values import Fact
from tests.unit.core.rules.support import ran

T = TypeVar("T")

MANY = [
    make_fact("P", f"p:{number:04}", {"kg": "1.5", "list": list(range(50)), "text": "x" * 100})
    for number in range(500)
]
PARTS = 'getFactsByPrefix("P", "p:")'
STEPS = Limits(steps=200_000)  # the same answer, sooner


def lets(first: str, following: Callable[[int], str], count: int) -> str:
    return f"let x0 = {first}; " + "".join(f"let x{n} = {following(n)}; " for n in range(1, count + 1))


def fields(body: Callable[[int], str], count: int) -> str:
    return "field f0: Int = 1;" + "".join(f"field f{n}: Int = {body(n)};" for n in range(1, count))


def record_of_two(n: int) -> str:
    return f"record(a: x{n - 1}, b: x{n - 1})"


def list_of_lists(n: int) -> str:
    return f"map(x{n - 1}, _y => x{n - 1})"


TOO_MUCH = {
    "parentheses": f"field a: Int = {'(' * 10_000}1{')' * 10_000};",
    "terms": f"field a: Int = {'1+' * 100_000}1;",
    "nots": f"field a: Bool = {'!' * 100_000}true;",
    "minuses": f"field a: Int = {'- ' * 50_000}1;",
    "types": f"field a: {'List(' * 5_000}Int{')' * 5_000} = 1;",
    "calls": f"field a: Int = {'isSome(' * 5_000}1{')' * 5_000};",
    "ifs": f"field a: Int = {'if (true) then 1 else ' * 5_000}1;",
    "lets in lets": f"field a: Int = {'let x = ' * 5_000}1;",
    "lambdas": f"field a: Int = {'map(l, x => ' * 5_000}1;",
    "operators": f"field a: Bool = {'true || true && 1 == 1 + 1 * (' * 100}1{')' * 100};",
    "operators on the left": f"field a: Bool = {'(' * 60}true{' == true && true || false)' * 60};",
    "json": 'example e: { fact b("B", "b") = {"a": '
    + "[" * 5_000
    + "]" * 5_000
    + '}; } => expectError("X");',
    "digits": f"field a: Int = {'9' * 1_000_000};",
    "scale": "field a: Dec(1) = toDec(999999999, 1);",
    "scale of a type": "field a: Dec(999999999999999999999999999999) = 1.0;",
    "scale of a product": f"field a: Dec(1) = {' * '.join(['1.5'] * 31)};",
    "cases": "property p: cases(2000000000) seed(1) {} forall x: Int in [1, 2] => true;",
    "path": f"field {'a.' * 50_000}a: Int = 1;",
    "signs": "(" * 1_000_000,
    "quotes": '"' * 1_000_000,
    "bytes": " " * 1_048_577,
    "members": f'field a: Record({", ".join(f"m{n}: Int" for n in range(1_001))}) = missing("x");',
    "members written": f"field a: Int = let r = record({', '.join(f'm{n}: 1' for n in range(1_001))}); 1;",
    "records of records": f"field a: Int = {lets('record(a: 1)', record_of_two, 60)}1;",
    "lists of lists": f"field a: Int = {lets(PARTS, list_of_lists, 70)}1;",
}


LARGE = 50_000  # characters: whatever they show to the coverage, a smaller text shows too


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(source, id=name, marks=[pytest.mark.unmeasured] if len(source) > LARGE else [])
        for name, source in TOO_MUCH.items()
    ],
)
def test_a_text_that_asks_for_too_much_is_refused_before_anything_runs(source: str) -> None:
    with pytest.raises(RuleError) as caught:
        load(source)

    assert caught.value.code == "RULE_LIMIT_EXCEEDED"


WRONG = {
    "a name of a megabyte": (f"field a: Int = {'x' * 1_000_000};", "RULE_TYPE_ERROR"),
    "two names of almost a megabyte": (
        f"field a: Int = let {'x' * 400_000} = 1; {'x' * 400_001};",
        "RULE_TYPE_ERROR",
    ),
    "a text without end": ('field a: Text = "' + "a" * 1_000_000, "RULE_PARSE_ERROR"),
    "a text of escapes without end": ('field a: Text = "' + "\\\\" * 500_000, "RULE_PARSE_ERROR"),
    "a key that comes again after very many": (
        "table t: Int = {" + ",".join(f'"{n}":1' for n in range(20_000)) + ',"0":1};',
        "RULE_PARSE_ERROR",
    ),
    "an unknown field among very many": (
        fields(str, 10_000) + 'field a: Int = field("f1o00");',
        "RULE_TYPE_ERROR",
    ),
    "a cycle of very many fields": (
        fields(lambda n: f'field("f{n - 1}")', 5_000)
        + 'field f: Int = field("g"); field g: Int = field("f");',
        "RULE_CYCLE_DETECTED",
    ),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize(("source", "code"), WRONG.values(), ids=WRONG)
def test_a_large_text_that_is_wrong_is_told_so(source: str, code: str) -> None:
    with pytest.raises(RuleError) as caught:
        load(source)

    assert caught.value.code == code
    assert len(caught.value.message) < 400


ENDLESS = {
    "squares": f"field a: Int = {lets('12345', lambda n: f'x{n - 1} * x{n - 1}', 60)}x60;",
    "squares of an open scale": f"field a: Dec(1) = {lets('3/2', lambda n: f'x{n - 1} * x{n - 1}', 60)}x60;",
    "powers in a fold": f"field a: Int = fold({PARTS}, 2, (acc, _x) => acc * acc);",
    "a scale that grows": f"field a: Qty(kg) = fold({PARTS}, qty(1, kg), (acc, _x) => acc * 1.25);",
    "a quotient that shrinks": f"field a: Qty(kg) = fold({PARTS}, qty(1, kg), (acc, _x) => acc / 123456789);",
    "loops in loops": f"field a: Int = let l = {PARTS};"
    " count(map(l, _a => count(map(l, _b => count(map(l, _c => 1))))));",
    "sums in loops": f'field a: Int = let l = map({PARTS}, p => toQty(kg, requireSome(recordGet(p, "kg"))));'
    " count(map(l, _a => sumQty(l)));",
    "lists in loops": f"field a: Int = let l = {PARTS};"
    ' count(map(l, _a => count(map(l, p => toList(requireSome(recordGet(p, "list")))))));',
    "lists of lists of lists": f"field a: Int = {lets(PARTS, list_of_lists, 9)}count(x9);",
    "the same list again and again": f"field a: Int = let l = {PARTS}; "
    + lets("l", lambda n: f"if ({n} > 0) then l else l", 500)
    + "count(x500);",
    "a long text again and again": 'field a: Text = let t = "'
    + "x" * 100_000
    + '"; '
    + lets("t", lambda n: f"if ({n} > 0) then t else t", 200)
    + "x200;",
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_an_evaluation_that_would_not_end_is_ended(source: str) -> None:
    with pytest.raises(RuleError) as caught:
        ran(load(source), MANY, limits=STEPS)

    assert caught.value.code == "RULE_LIMIT_EXCEEDED"
    assert caught.value.span.end > 0


def capturing(count: int) -> str:
    """A lambda that takes very many names from outside, and uses none of them."""
    names = " + ".join(f"x{n}" for n in range(count))
    return f"field a: Int = {lets('1', str, count)}count(map({PARTS}, _p => if (true) then 1 else {names}));"


HARMLESS = {
    "doubling": f"field a: Int = {lets('1', lambda n: f'x{n - 1} + x{n - 1}', 60)}x60;",
    "fields that double": fields(lambda n: f'field("f{n - 1}") + field("f{n - 1}")', 41),
    "very many fields": fields(str, 20_000),
    "a long chain of fields": fields(lambda n: f'field("f{n - 1}")', 5_000),
    "very many statements": f"field a: Int = {lets('1', str, 10_000)}1;",
    "very many assertions": "field a: Int = " + 'assert(true, "A", "m"); ' * 5_000 + "1;",
    "a megabyte on one line": f'field a: Text = "{"x" * 1_000_000}";',
    "a megabyte of comment": f"field a: Int = 1; --{'-' * 1_000_000}",
    "the same facts again and again": fields(lambda _: f"count({PARTS})", 2_000),
    "a large table read often": "table t: Int = {" + ",".join(f'"k{n}":{n}' for n in range(5_000)) + "};"
    + "".join(f'field f{n}: Opt(Int) = lookup(t, "k{n}");' for n in range(2_000)),
    "a large table in a loop": "table t: Int = {" + ",".join(f'"k{n}":{n}' for n in range(5_000)) + "};"
    + f'field a: Int = count(map({PARTS}, _p => lookup(t, "k1")));',
    "very many names beside a loop": capturing(3_000),
    "very many statements of compliance": "field a: Bool = "
    + " && ".join(f'emitCompliance("C{n}", true, "m")' for n in range(5_000)) + ";",
    "deep, but not too deep": f"field a: Int = {'(' * 64}1{')' * 64};",
}  # fmt: skip


@pytest.mark.unmeasured
@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_a_large_text_within_the_limits_is_evaluated_in_so_many_steps(source: str) -> None:
    """The work grows with the text, and not with its square or worse: 500,000 steps are enough for each."""
    evaluator = ran(load(source), MANY, limits=Limits(steps=500_000))

    assert evaluator.proof.size <= 50_000


def answer(source: str) -> str:
    try:
        ran(load(source), MANY)
    except RuleError as error:
        return error.code
    return "done"


MOST_CALLS = 4_000_000  # a processor of today takes about a second for them
MOST_BARE_LOOPS = (
    100  # for what takes its time within one call; ten are usual, busy neighbours make it thirty
)
QUICK = {
    name: (TOO_MUCH[name], "RULE_LIMIT_EXCEEDED")
    for name in ("parentheses", "terms", "nots", "types", "scale", "cases")
} | {name: (HARMLESS[name], "done") for name in ("doubling", "fields that double")}


@pytest.mark.unmeasured
@pytest.mark.parametrize(("source", "expected"), QUICK.values(), ids=QUICK)
def test_an_answer_takes_about_a_second_at_the_most(source: str, expected: str) -> None:
    """Counted in calls of functions, which no neighbour slows."""
    bare, _ = work_of(lambda: sum(number * number for number in range(2_000_000)))
    seconds, calls = work_of(lambda: answer(source))

    assert answer(source) == expected
    assert calls <= MOST_CALLS
    assert seconds < MOST_BARE_LOOPS * bare


def work_of(run: Callable[[], object]) -> tuple[float, int]:
    """Seconds of the processor's time, and calls."""
    calls = 0

    def look(_frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    started, former = process_time(), sys.getprofile()
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(former)
    return process_time() - started, calls


def at_depth(frames: int, run: Callable[[], T]) -> T:
    return run() if frames == 0 else at_depth(frames - 1, run)


ONE = [make_fact("P", "p:0", {})]
DEEP = {
    "parentheses": f"field a: Int = {'(' * 64}1{')' * 64};",
    "nots": f"field a: Bool = {'!' * 64}true;",
    "operators": f"field a: Int = {'1 + 1 * (' * 30}1{')' * 30};",
    "folds": f"field a: Bool = let l = {PARTS}; "
    + "".join(f"fold(l, true, (a{n}, _x) => " for n in range(40))
    + "true"
    + " && true || false)" * 40
    + ";",
    "maps": f"field a: Int = let l = {PARTS}; {'count(map(l, _x => ' * 31}1{'))' * 31};",
    "lets": f"field a: Int = {'let x = ' * 60}1{'; x' * 60};",
    "ifs": f"field a: Int = {'if (true) then ' * 60}1{' else 2' * 60};",
    "facts": "field a: Bool = "
    + 'isSome(getFact("a", if (' * 20
    + "true"
    + ') then "x" else "y"))' * 20
    + ";",
    "records": f"field a: Int = let r = {'record(a: ' * 60}1{')' * 60}; 1;",
    "types": f'field a: {"List(" * 63}Int{")" * 63} = missing("x");',
}


def evaluate(source: str, facts: list[Fact]) -> str:
    try:
        ran(source, facts)
    except RuleError as error:
        return error.code
    return "done"


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_the_deepest_text_needs_less_than_half_of_pythons_stack(source: str) -> None:
    """However deep the caller is, up to there; pytest itself takes some frames."""
    assert at_depth(350, lambda: evaluate(source, ONE)) == "done"


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("frames", range(400, 900, 50))
def test_near_the_end_of_the_stack_there_is_an_error_of_ours(source: str, frames: int) -> None:
    assert at_depth(frames, lambda: evaluate(source, ONE)) in {"done", "RULE_LIMIT_EXCEEDED"}


def deepest(run: Callable[[], object]) -> str:
    """What happens at the first depth where it no longer works."""
    for frames in range(300, 980, 7):
        try:
            at_depth(frames, run)
        except RuleError as error:
            return error.message
    return "never"


def test_parsing_and_evaluating_say_when_the_stack_is_at_its_end() -> None:
    lambda_text = f"x => {'(' * 62}x{')' * 62}"
    message = "called too deep inside another program to read rules"

    assert deepest(lambda: parse(DEEP["parentheses"])) == message
    assert deepest(lambda: parse_lambda(lambda_text)) == message
    assert deepest(lambda: load(DEEP["records"])) == message
    module = load(DEEP["folds"])
    assert deepest(lambda: ran(module, ONE)) == message


def test_the_limits_of_nesting_are_exact() -> None:
    for depth, fine in ((64, True), (65, False)):
        source = f"field a: Int = {'(' * depth}1{')' * depth};"
        assert (evaluate(source, []) == "done") is fine
