"""JSON, strictly: every wrong value by its pointer, reading goes on where it can."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.documents.model import PAYLOAD_TOO_LARGE, Limits, Problem
from bpc_worker.documents.problems import Problems
from bpc_worker.documents.reading.json_text import REFUSED, Number, Unreadable, Value, decode


def reading(text: str, **limits: int) -> tuple[Value, tuple[Problem, ...], str]:
    bounds = Limits(**limits)
    problems = Problems(bounds.problems)
    value = decode(text, bounds, problems)
    answer = problems.rejected()
    return value, answer.problems, answer.code


def problem_of(text: str, **limits: int) -> tuple[str, str]:
    _, [problem], _ = reading(text, **limits)
    return problem.where, problem.message


@pytest.mark.parametrize(
    ("number", "why"), [("1.7976931348623157E308", "exponent of 50"), ("1" * 51, "more than 50 digits")]
)
def test_a_number_beyond_the_limits_is_left_to_the_form(number: str, why: str) -> None:
    value, problems, _ = reading(f'{{"a": {number}}}')

    assert isinstance(value, dict)
    assert isinstance(value["a"], Unreadable)
    assert why in value["a"].why
    assert not problems


def number(text: str) -> Number:
    return Number(Decimal(text), whole=text.isdecimal())


def test_values_are_read_as_they_are_written() -> None:
    text = (
        ' {"a": [1, 2.50, -1e2, {}, [], null], "b": {"c": true, "d": false}, "e": "\\u00e4\\ud83d\\ude00"} '
    )

    value, problems, _ = reading(text)

    assert not problems
    assert value == {
        "a": [number("1"), number("2.50"), number("-1e2"), {}, [], None],
        "b": {"c": True, "d": False},
        "e": "ä😀",
    }


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("ab/~ ä", max_size=3), inner),
    )
)
def test_what_a_writer_wrote_is_read_back(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert reading(text)[:2] == (value, ())


def test_a_wrong_value_does_not_hide_the_next_one() -> None:
    value, problems, _ = reading('{"a": NaN, "b": [1, -Infinity, 1_0], "c": "ok", "c": 2, "d": "\\ud800"}')

    assert [each.where for each in problems] == ["/a", "/b/1", "/b/2", "/c", "/d"]
    assert value == {"a": REFUSED, "b": [number("1"), REFUSED, REFUSED], "c": "ok", "d": REFUSED}


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ('{"a": NaN}', "/a", "finite"),
        ('{"a": ٣}', "/a", "other scripts"),
        ('{"a": 1_000}', "/a", "underscores"),
        ('{"a": 01}', "/a", "not a JSON value"),
        ('{"a/b~c": x}', "/a~1b~0c", "not a JSON value"),
        ('{"a": {"b": 1, "b": {"x": [1]}}}', "/a/b", "more than once"),
        ('{"\\ud83d\\ude00": 1}', "/😀", "above U+FFFF"),
        ('{"a": "\\ud800"}', "/a", "surrogate"),
        ('{"a\\ud800": 1}', "/a\\ud800", "surrogate"),
        ('{"a": "\\u0000"}', "/a", "NUL"),
        ('{"a": "x\ny"}', "/a", "control character"),
        ('{"a": "\\x"}', "/a", "bad escape"),
        ('{"a": 1} {"b": 2}', "", "behind the end"),
        ('{"a": 1', "/a", "ends where a comma or } is expected"),
        ("[1", "/0", "ends where a comma or ] is expected"),
        ("[1,", "/1", "ends where a value is expected"),
        ("[1,]", "/1", 'a value is expected, found "]"'),
        ('{"a": 1,}', "/a", 'a key in double quotes is expected, found "}"'),
        ("{a: 1}", "", "a key in double quotes"),
        ('{"a" 1}', "/a", "a colon is expected"),
        ('{"a": [1}', "/a/0", "] is expected here, found }"),
        ("[1 2]", "/0", "a comma or ]"),
        ("[1:2]", "/0", "a comma or ]"),
        ('{"a": "x}', "/a", "never closed"),
        ('{"a": "x\\"}', "/a", "never closed"),
        ("", "", "ends where a value"),
        ("}", "", "a value is expected"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, where: str, words: str) -> None:
    found, message = problem_of(text)

    assert found == where
    assert words in message


def test_a_text_that_is_no_json_is_named_with_line_and_column() -> None:
    assert "line 3, column 9" in problem_of('{\n "a": 1,\n "b": 2 3}')[1]


def test_nesting_is_bounded_before_it_hurts() -> None:
    value, [problem], code = reading("[" * 1_000_000)

    assert value is REFUSED
    assert code == PAYLOAD_TOO_LARGE
    assert problem.where == "/0" * 64
    assert reading("[" * 64 + "]" * 64)[1] == ()


def test_the_number_of_values_is_bounded() -> None:
    assert reading("[1, {}, []]", json_values=4)[1] == ()
    assert reading("[1, {}, [], 5]", json_values=4)[2] == PAYLOAD_TOO_LARGE


def test_the_length_of_texts_is_bounded_in_bytes() -> None:
    assert reading('["äää"]', string_bytes=6)[1] == ()
    assert reading('["ääää"]', string_bytes=7)[2] == PAYLOAD_TOO_LARGE
    assert reading('{"ääää": 1}', string_bytes=7)[2] == PAYLOAD_TOO_LARGE


def test_a_long_key_is_cut_in_the_pointer() -> None:
    assert problem_of('{"' + "k" * 5_000 + '": NaN}')[0] == "/" + "k" * 100 + "…"


def test_more_problems_than_the_limit_are_counted() -> None:
    _, problems, _ = reading(f"[{','.join(['NaN'] * 10)}]", problems=3)

    assert [each.where for each in problems] == ["/0", "/1", "/2", ""]
    assert problems[-1].message == "and 7 more"


def test_hostile_quotes_are_read_once() -> None:
    """Reading them once per quote would take minutes."""
    assert "never closed" in problem_of('["' + r"\"" * 200_000)[1]


def test_limits_that_no_fact_can_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="json_depth"):
        Limits(json_depth=101)
