"""Names: what they mean where, what is hidden, what is never used."""

import pytest

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.scope import Warnings
from bpc_worker.core.rules.source import Span
from tests.unit.core.rules.support import STAGES, error_in, value_of


def warnings_of(source: str) -> tuple[str, ...]:
    return load(source).warnings


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("let x = 1; let x = x + 1; x", 2),
        ("let x = 1; let y = (let x = 2; x); x + y", 3),
        ("let x = 1; (let x = 5; x) + x", 6),
        ("let x = 1; (let x = 5; let x = 6; x) + x", 7),
        (f"let x = 10; fold({STAGES}, 0, (x, _s) => x + 1) + x", 13),
        (f"let x = 10; fold({STAGES}, 0, (acc, _s) => let x = acc + 1; x) + x", 13),
        (f"let x = 10; fold({STAGES}, 0, (acc, _s) => acc + x)", 30),
        (f"let x = 1; let y = fold({STAGES}, 0, (acc, _s) => acc + x); let x = 100; x + y", 103),
        # The outer x is taken from outside, although an inner one hides it later in the same lambda.
        (f"let x = 1; fold({STAGES}, 0, (acc, _s) => let a = x; let x = 7; acc + a * 10 + x)", 51),
        # Two lambdas in one: each sees what its own place sees.
        (
            f"""let l = {STAGES}; let x = 1;
            fold(l, 0, (acc, _s) =>
              let y = count(filter(l, _t => x == 1)); let x = 2; acc + y + count(filter(l, _t => x == 2)))""",
            18,
        ),
    ],
)
def test_the_inner_name_counts_until_its_expression_ends(expression: str, value: int) -> None:
    assert value_of(expression, "Int") == value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("field a: Int = let x = 1; x;", ()),
        ("field a: Int = let x = 1; 2;", ("line 1, column 20: 'x' is never used",)),
        ("field a: Int = let _x = 1; 2;", ()),
        ("field a: Int = let x = 1; let x = x; x;", ("line 1, column 31: 'x' hides another 'x'",)),
        (
            "field a: Int =\n  let x = 1;\n  let x = 2;\n  x;",
            ("line 2, column 7: 'x' is never used", "line 3, column 7: 'x' hides another 'x'"),
        ),
        (
            "field a: Int = let x = 1; let y = (let x = 2; x); y + x;",
            ("line 1, column 40: 'x' hides another 'x'",),
        ),
        (
            'field a: Int = count(map(getFactsByPrefix("a", "b"), x => 1));',
            ("line 1, column 54: 'x' is never used",),
        ),
        ('field a: Int = count(map(getFactsByPrefix("a", "b"), _ => 1));', ()),
        (
            'field a: Int = let x = 1; x + fold(getFactsByPrefix("a", "b"), 1, (acc, x) => acc + 1);',
            ("line 1, column 73: 'x' hides another 'x'", "line 1, column 73: 'x' is never used"),
        ),
        ('table t: Int = {"a": 1}; field a: Int = 1;', ("line 1, column 7: the table 't' is never used",)),
        ('table t: Int = {"a": 1}; field a: Opt(Int) = lookup(t, "a");', ()),
        (
            'table t: Int = {"a": 1}; field a: Int = let t = 1; t;',
            ("line 1, column 7: the table 't' is never used", "line 1, column 45: 't' hides another 't'"),
        ),
        (
            f'table t: Int = {{"a": 1}}; field a: Int = count(map({STAGES}, _ => lookup(t, "a")));',
            (),
        ),
    ],
)
def test_warnings_in_order_of_place(source: str, expected: tuple[str, ...]) -> None:
    assert warnings_of(source) == expected


def test_a_name_ends_with_its_expression() -> None:
    assert error_in("field a: Int = (let x = 1; x) + x;").message == "unknown name 'x'"
    assert error_in("field a: Int = let x = 1; x; field b: Int = x;").message == "unknown name 'x'"


def test_of_very_many_warnings_the_first_are_shown() -> None:
    warnings = Warnings()
    for number in range(250):
        warnings.add("m", Span(number, number + 1))

    shown = warnings.shown("x" * 250)

    assert shown[0] == "line 1, column 1: m"
    assert (len(shown), shown[-1]) == (101, "and 150 more")
