"""A place of a document, shown among its neighbours."""

import pytest

from bpc_worker.web.dashboard import cells
from bpc_worker.web.dashboard.cells import ShownPlace

TABLE = 'part;mass_kg;"where; from"\ncathode;49,250;FI\nanode;forty-nine;"x;\ny"\n\nlid;2;DE\n'


def marked(place: ShownPlace | None) -> list[tuple[str, str]]:
    assert place is not None
    return [(row.name, cell.text) for row in place.rows for cell in row.cells if cell.is_it]


@pytest.mark.parametrize("where", ["line 3, column 2", "3:2"])
def test_a_cell_stands_in_its_row_under_its_title_beside_its_neighbours(where: str) -> None:
    place = cells.place(TABLE.encode(), "text/csv", where)

    assert marked(place) == [("3", "forty-nine")]
    assert place is not None
    assert place.titles == ["part", "mass_kg", "where; from"]
    assert [row.name for row in place.rows] == ["2", "3", "6"]


def test_of_a_wide_row_what_is_near_shows() -> None:
    wide = ";".join(f"t{n}" for n in range(40)) + "\n" + ";".join(str(n) for n in range(40)) + "\n"
    place = cells.place(wide.encode(), "text/csv", "line 2, column 31")

    assert marked(place) == [("2", "30")]
    assert place is not None
    assert place.titles == [f"t{n}" for n in range(27, 34)]


def test_a_member_stands_in_its_object_and_digits_stay_as_they_were_written() -> None:
    text = b'{"stages": [{"name": "raw", "kg": 1.230E2}, {"name": "x"}], "n": 10000000000000000000001}'

    assert marked(cells.place(text, "application/json", "/stages/0/kg")) == [("kg", "1.230E2")]
    assert marked(cells.place(text, "application/json", "/n")) == [("n", "10000000000000000000001")]
    assert marked(cells.place(text, "application/json", "/stages/1/kg")) == [("kg", "")]
    assert marked(cells.place(text, "application/json", "/stages/1")) == [("1", "{ … 1 }")]


@pytest.mark.parametrize(
    ("content", "mime_type", "where"),
    [
        (TABLE.encode(), "text/csv", ""), (TABLE.encode(), "text/csv", "line 99, column 1"),
        (TABLE.encode(), "text/csv", "sheet 'A', cell B2"), (b"\xff\xfe\x00", "text/csv", "line 1"),
        (b"", "text/csv", "line 1"), (b"{not json", "application/json", "/a"),
        (b"{}", "application/json", "a"),
        (b"[1]", "application/json", "/0/a/b"), (b"PK\x03\x04", "application/vnd.ms-excel", "line 2"),
        (b"[" * 100_000, "application/json", "/0"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_left_out(content: bytes, mime_type: str, where: str) -> None:
    assert cells.place(content, mime_type, where) is None
