import pickle

import pytest

from bpc_worker.core.rules.source import (
    NOWHERE,
    Limits,
    RuleError,
    Span,
    limit_exceeded,
    place,
    quoted,
    render,
    too_deep_a_stack,
    unchecked,
)

SOURCE = "one\ntwo two\r\nthree"


@pytest.mark.parametrize(
    ("span", "line", "column", "text", "width"),
    [
        (Span(0, 3), 1, 1, "one", 3),
        (Span(4, 7), 2, 1, "two two", 3),
        (Span(8, 11), 2, 5, "two two", 3),
        (Span(8, 18), 2, 5, "two two", 4),  # to the end of its line
        (Span(13, 18), 3, 1, "three", 5),
        (Span(18, 18), 3, 6, "three", 1),
        (Span(99, 120), 3, 6, "three", 1),
        (NOWHERE, 1, 1, "one", 1),
    ],
)
def test_places(span: Span, line: int, column: int, text: str, width: int) -> None:
    found = place(SOURCE, span)

    assert (found.line, found.column, found.text, found.width) == (line, column, text, width)


def test_a_span_reaches_to_another() -> None:
    assert Span(1, 2).to(Span(5, 9)) == Span(1, 9)


def test_an_error_is_printed_in_four_lines() -> None:
    error = RuleError("RULE_TYPE_ERROR", "wrong", Span(4, 7), hint="mend it")

    assert render(SOURCE, error).split("\n") == [
        "RULE_TYPE_ERROR: wrong (line 2, column 1)",
        "    two two",
        "    ^^^",
        "hint: mend it",
    ]


def test_an_error_without_a_hint_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'hint'"):
        RuleError("RULE_TYPE_ERROR", "wrong", Span(4, 7))  # type: ignore[call-arg]


@pytest.mark.parametrize("error", [unchecked("m"), too_deep_a_stack(), limit_exceeded("m", 7)])
def test_errors_that_the_text_is_not_to_blame_for_have_a_hint(error: RuleError) -> None:
    assert error.hint


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    source = "a" * 500 + "HERE" + "b" * 500
    lines = render(source, RuleError("X", "m", Span(500, 504), hint="h")).split("\n")

    assert lines[0] == "X: m (line 1, column 501)"
    assert lines[1] == "    " + "a" * 50 + "HERE" + "b" * 46
    assert lines[2] == "    " + " " * 50 + "^^^^"


def test_an_underline_ends_where_the_shown_part_ends() -> None:
    lines = render("a" * 500, RuleError("X", "m", Span(100, 500), hint="h")).split("\n")

    assert lines[2] == "    " + " " * 50 + "^" * 50


def test_what_would_move_a_terminal_s_cursor_is_not_printed() -> None:
    printed = render('field a = "\x1b[2J\u202e";', RuleError("X", "m", Span(0, 5), hint="h"))

    assert printed.split("\n")[1] == '    field a = "\ufffd[2J\ufffd";'


@pytest.mark.parametrize(
    ("text", "shown"),
    [("abc", "'abc'"), ("a\nb", "'a\ufffdb'"), ("x" * 40, f"'{'x' * 40}'"), ("x" * 41, f"'{'x' * 39}…'")],
)
def test_quotes_are_short_and_on_one_line(text: str, shown: str) -> None:
    assert quoted(text) == shown


def test_an_error_gets_a_place_once() -> None:
    error = RuleError("X", "m", hint="h")
    placed = error.at(Span(1, 2))

    assert (placed.code, placed.message, placed.span, placed.hint) == ("X", "m", Span(1, 2), "h")
    assert placed.at(Span(3, 4)) is placed


def test_an_error_arrives_whole_in_another_process() -> None:
    error = RuleError("X", "m", Span(1, 2), hint="h")
    found = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert (found.code, found.message, found.span, found.hint) == ("X", "m", Span(1, 2), "h")
    assert str(found) == str(error) == "X: m"


def test_limits_have_the_defaults_of_the_contract() -> None:
    assert Limits() == Limits(
        source_bytes=1_048_576,
        nesting=64,
        nodes=200_000,
        digits=1_000,
        steps=5_000_000,
        test_steps=20_000_000,
        cases=100_000,
        scale=30,
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("nesting", 65, "the limit nesting is between 1 and 64, not 65"),
        ("digits", 1_001, "the limit digits is between 1 and 1000, not 1001"),
        ("scale", 31, "the limit scale is between 1 and 30, not 31"),
        ("steps", 0, "the limit steps is at least 1, not 0"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(name: str, value: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Limits(**{name: value})


def test_limits_can_be_raised_where_nothing_rests_on_them() -> None:
    assert Limits(source_bytes=2**30, nodes=10**7, steps=10**9, cases=10**6).steps == 10**9


def test_beyond_a_limit_is_an_error_that_says_the_limit() -> None:
    error = limit_exceeded("something is large", 7, hint="make it small")

    assert (error.code, error.message, error.hint) == (
        "RULE_LIMIT_EXCEEDED",
        "something is large (the limit is 7)",
        "make it small",
    )
