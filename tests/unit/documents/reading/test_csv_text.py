"""CSV, strictly: cells with their places."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.documents.model import PAYLOAD_TOO_LARGE, Limits, Rejected
from bpc_worker.documents.problems import Problems
from bpc_worker.documents.reading.csv_text import Row, delimiter, rows

_CELLS = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=8)


def read(text: str, **limits: int) -> tuple[list[Row], Rejected]:
    bounds = Limits(**limits)
    problems = Problems(bounds.problems)
    return list(rows(text, bounds, problems)), problems.rejected()


def problem_of(text: str, **limits: int) -> tuple[str, str]:
    _, answer = read(text, **limits)
    [problem] = answer.problems
    return problem.where, problem.message


@pytest.mark.parametrize(
    ("header", "mark"), [("a;b", ";"), ("a,b", ","), ("a", ";"), ('"a;b;c",d', ","), ("a;b,c;d", ";")]
)
def test_the_delimiter_is_the_one_of_the_header(header: str, mark: str) -> None:
    assert delimiter(header + "\n1,2;3") == mark


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_know_the_line_on_which_they_begin(end: str) -> None:
    text = f'a;b{end}1; x {end}{end};{end}"two{end}lines";"say ""hi"""{end}3;'

    found, answer = read(text)

    assert answer.problems == ()
    assert found == [
        Row(1, ("a", "b"), whole=True),
        Row(2, ("1", "x"), whole=True),
        Row(5, (f"two{end}lines", 'say "hi"'), whole=True),
        Row(7, ("3", ""), whole=True),
    ]


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ('a;b\n1;"x', "line 2, column 2", "never closed"),
        ('a;b\n1;"x""', "line 2, column 2", "never closed"),
        ('a;b\n1;"x"y', "line 2, column 2", "behind a closing quote"),
        ('a;b\n1;x"y"', "line 2, column 2", "in the middle of a cell"),
        ("a;b\n1;x\0", "line 2, column 2", "NUL"),
        ("a;b\r1;x", "line 1, column 2", "carriage return"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, where: str, words: str) -> None:
    found, message = problem_of(text)

    assert found == where
    assert words in message


def test_a_wrong_cell_does_not_hide_the_next_row() -> None:
    found, answer = read('a;b\n"x"y;1\nz;"q"q\nfine;2')

    assert [each.where for each in answer.problems] == ["line 2, column 1", "line 3, column 2"]
    assert [row.whole for row in found] == [True, False, False, True]


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("a;b\n1;2\n3;4", {"csv_rows": 1}),
        ("a;b;c", {"csv_columns": 2}),
        ("a;b\n1;ääää", {"cell_bytes": 7}),
        ('a;b\n1;"ääää"', {"cell_bytes": 7}),
    ],
)
def test_size_is_bounded(text: str, limits: dict[str, int]) -> None:
    assert read(text, **limits)[1].code == PAYLOAD_TOO_LARGE


def test_what_just_fits_is_read() -> None:
    assert read("a;b\n1;äää", csv_rows=1, csv_columns=2, cell_bytes=6)[1].problems == ()


@given(st.lists(st.lists(_CELLS, min_size=2, max_size=2), min_size=1, max_size=6))
def test_what_a_writer_wrote_is_read_back(written: list[list[str]]) -> None:
    held = io.StringIO()
    csv.writer(held, delimiter=";", quoting=csv.QUOTE_ALL).writerows([["head", "er"], *written])
    expected = [tuple(cell.strip(" \t\xa0") for cell in row) for row in written]

    found, answer = read(held.getvalue())

    assert answer.problems == ()
    assert [row.cells for row in found[1:]] == [row for row in expected if any(row)]
