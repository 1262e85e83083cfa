"""Workbooks: what their cells say, and those that are bombs or lie."""

from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest

from bpc_worker.documents.model import PAYLOAD_TOO_LARGE, VALIDATION_ERROR, Limits
from tests.support.workbooks import XLSX, number, rows, workbook
from tests.unit.documents.sending import CSV, facts, places, problem, rejected

SHEET = "DATA_SHEET"
HEADER = ("name", "value", "unit")


def read(*values: str, **options: object) -> dict[str, object]:
    """Of a sheet with one value per row."""
    content = workbook({"Data": rows(HEADER, *((value.split("|")) for value in values))})
    return {fact.fact_key: fact.payload["value"] for fact in facts(content, SHEET, mime=XLSX, **options)}


def one(name: str, cell: str) -> object:
    content = workbook({"Data": rows(HEADER[:2], (name, cell))})
    [fact] = facts(content, SHEET, mime=XLSX)
    return fact.payload["value"]


def test_values_point_to_their_cells() -> None:
    content = workbook({"Data": rows(HEADER, ("rated capacity", number("213"), "Ah"), ("chemistry", "LFP"))})
    capacity, chemistry = facts(content, SHEET, mime=XLSX)

    assert (capacity.fact_key, capacity.payload, capacity.pointer) == (
        "performance.rated_capacity_ah", {"value": "213"}, "Data!B2"
    )  # fmt: skip
    assert chemistry.pointer == "Data!B3"


def test_every_sheet_is_read_and_known_by_its_columns() -> None:
    content = workbook(
        {
            "Data": rows(HEADER, ("mass", number("400"), "kg")),
            "Empty": rows(),
            "Parts": rows(("part", "material", "mass [g]"), ("frame", "steel", number("1500"))),
            "Substances": rows(("substance", "class", "cas"), ("LiPF6", "Acute Tox. 3", "21324-40-3")),
        }
    )
    mass, part, substance = facts(content, SHEET, mime=XLSX)

    assert (mass.fact_key, part.fact_key, substance.fact_type) == (
        "composition.mass_kg", "component:frame", "Substance"
    )  # fmt: skip
    assert part.pointer == "Parts!A2"
    assert part.payload["mass_kg"] == "1.500"


@pytest.mark.parametrize(
    ("stored", "kept"),
    [
        ("78.6", "78.6"),
        ("78.599999999999994", "78.6"),  # how 78.6 is stored
        ("0.30000000000000004", "0.3"),
        ("1.5E3", "1500"),
        ("123456789012.345", "123456789012.345"),
    ],
)
def test_a_number_is_what_its_sheet_shows(stored: str, kept: str) -> None:
    assert one("mass_kg", number(stored)) == kept
    assert one("mass_kg", number(stored, style=5)) == kept


@pytest.mark.parametrize("style", [1, 4])
def test_a_number_in_percent_is_a_hundred_times_as_much(style: int) -> None:
    assert one("composition.renewable_pct", number("0.16", style)) == "16"
    assert one("composition.renewable_pct", number("0.1234", style)) == "12.34"
    content = workbook({"Data": rows(HEADER[:2], ("mass_kg", number("0.16", style)))})
    assert '"16 %" is not a number' in problem(content, SHEET, mime=XLSX)[1]


@pytest.mark.parametrize("style", [2, 3])
def test_a_date_is_a_day(style: int) -> None:
    assert one("manufacturing_month", number("46419", style)) == "2027-02"
    early = workbook({"Data": rows(HEADER[:2], ("manufacturing_month", number("60", style)))})
    assert "is shown as a date and is none" in problem(early, SHEET, mime=XLSX)[1]
    timed = workbook({"Data": rows(HEADER[:2], ("manufacturing_month", number("46419.5", style)))})
    assert "2027-02-01T12:00:00" in problem(timed, SHEET, mime=XLSX)[1]


def test_days_may_be_counted_from_1904() -> None:
    tabs = '<sheets><sheet name="D" id="rId1"/></sheets>'
    parts = {"xl/workbook.xml": f'<workbook><workbookPr date1904="1"/>{tabs}</workbook>'}
    content = workbook({"D": rows(HEADER[:2], ("manufacturing_month", number("44957", 2)))}, parts)

    assert facts(content, SHEET, mime=XLSX)[0].payload == {"value": "2027-02"}


def test_texts_are_shared_and_have_runs() -> None:
    shared = (
        "<sst><si><t>chem</t></si><si><r><t>chemi</t></r><r><t>stry</t></r><rPh><t>x</t></rPh></si></sst>"
    )
    cell = '<c t="s"><v>1</v></c>'
    content = workbook({"D": rows(HEADER[:2], (cell, " LFP "))}, {"xl/sharedStrings.xml": shared})

    assert facts(content, SHEET, mime=XLSX)[0].payload == {"value": "LFP"}


def test_yes_and_no_and_results_of_formulas_are_read() -> None:
    assert one("condition.bms", '<c t="b"><v>1</v></c>') is True
    assert one("condition.bms", '<c t="b"><v>0</v></c>') is False
    assert one("mass_kg", "<c><f>1+1</f><v>2</v></c>") == "2"
    assert one("chemistry", '<c t="str"><f>A1</f><v>LFP</v></c>') == "LFP"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ('<c t="e"><v>#REF!</v></c>', 'holds the error "#REF!"'),
        ("<c><f>1+1</f></c>", "a formula without a result"),
        ('<c t="s"><v>7</v></c>', "names a text that the workbook does not hold"),
        ('<c t="s"><v>x</v></c>', "names a text that the workbook does not hold"),
        ("<c><v>1,5</v></c>", "is stored as a number and is none"),
        ('<c r="B2"><v>1</v></c><c r="B2"><v>2</v></c>', "stands in the workbook twice"),
    ],
)
def test_a_cell_that_says_nothing_is_named(cell: str, words: str) -> None:
    content = workbook({"Data": rows(HEADER[:2], ("mass_kg", cell))})
    where, message = problem(content, SHEET, mime=XLSX)

    assert where == "Data!B2"
    assert words in message


def test_cells_may_be_left_out_and_stand_where_they_say() -> None:
    sheet = rows(HEADER, ("mass_kg", '<c r="C2" t="inlineStr"><is><t>kg</t></is></c>'), ("chemistry", "LFP"))
    content = workbook({"Data": sheet})

    assert [fact.fact_key for fact in facts(content, SHEET, mime=XLSX)] == ["composition.chemistry"]


def test_what_stands_beside_the_columns_is_named() -> None:
    content = workbook({"Data": rows(HEADER[:2], ("chemistry", "LFP", "checked"))})

    assert problem(content, SHEET, mime=XLSX)[0] == "Data!C2"


def test_a_hidden_sheet_is_not_read_unseen() -> None:
    sheets = {"Data": rows(HEADER[:2], ("chemistry", "LFP")), "Old": rows(HEADER[:2], ("chemistry", "NMC"))}
    content = workbook(sheets, Old="hidden")

    assert '"Old" is hidden' in problem(content, SHEET, mime=XLSX)[1]
    assert len(facts(content, SHEET, mime=XLSX, mapping={"sheets": ["Data"]})) == 1
    assert 'names the sheet "Dat"' in problem(content, SHEET, mime=XLSX, mapping={"sheets": ["Dat"]})[1]


def test_two_sheets_must_not_contradict_each_other() -> None:
    sheets = {"A": rows(HEADER[:2], ("chemistry", "LFP")), "B": rows(HEADER[:2], ("chemistry", "NMC"))}

    where, message = problem(workbook(sheets), SHEET, mime=XLSX)
    assert (where, "already at A!B2" in message) == ("B!B2", True)


def test_a_bill_of_materials_is_one_sheet() -> None:
    parts = rows(("part", "material", "mass_kg"), ("frame", "steel", number("1.5")))

    assert facts(workbook({"Parts": parts}), "BOM", mime=XLSX)[0].fact_key == "component:frame"
    assert "has 2 sheets" in problem(workbook({"Parts": parts, "More": parts}), "BOM", mime=XLSX)[1]


def test_an_empty_workbook_is_named() -> None:
    assert "the workbook is empty" in problem(workbook({"Data": rows()}), SHEET, mime=XLSX)[1]


def test_declarations_that_do_not_fit_are_named() -> None:
    content = workbook({"Data": rows(HEADER[:2], ("chemistry", "LFP"))})

    assert "leave the number format out" in problem(content, SHEET, mime=XLSX, number_format="1.234,56")[1]
    assert "OTHER is not read as a workbook" in problem(content, "OTHER", mime=XLSX)[1]
    assert "declare an XLSX as such" in problem(content, SHEET, mime=CSV)[1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"%PDF-1.7\n1 0 obj\n", "this is a PDF"),
        (b"name;value\nchemistry;LFP\n", "this is none"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "one with a password"),
        (b"PK\x03\x04" + b"%PDF-1.7", "breaks off before its end"),
        (b"", "this is none"),
    ],
)
def test_what_says_to_be_a_workbook_and_is_none_is_named(content: bytes, words: str) -> None:
    assert words in problem(content, SHEET, mime=XLSX)[1]


def a_zip(parts: dict[str, bytes], method: int = ZIP_DEFLATED) -> bytes:
    held = BytesIO()
    with ZipFile(held, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return held.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (a_zip({"word/document.xml": b"<w/>"}), "no workbook"),
        (a_zip({"xl/workbook.xml": b"<workbook/>"}, ZIP_BZIP2), "is damaged"),
        (a_zip({"xl/workbook.xml": b"<workbook/>"}), "xl/_rels/workbook.xml.rels"),
        (a_zip({"xl/workbook.xml": b"<workbook>"}), "is damaged"),
        (workbook({"D": rows(HEADER)}, {"xl/vbaProject.bin": "x"}), "holds macros"),
        (workbook({"D": '<!DOCTYPE a [<!ENTITY b "x">]><a>&b;</a>'}), "declares entities"),
        (workbook({"D": rows(HEADER)[:-20]}), "is damaged"),
    ],
)
def test_an_archive_that_is_no_sound_workbook_is_named(content: bytes, words: str) -> None:
    assert words in problem(content, SHEET, mime=XLSX)[1]


def test_a_workbook_that_lies_about_its_sizes_is_damaged() -> None:
    """No more is unpacked than the archive says there is; the checksum then finds the rest missing."""
    sheet = rows(HEADER[:2], ("chemistry", "LFP"))
    content = workbook({"Data": sheet})
    lying = content.replace(len(sheet).to_bytes(4, "little"), b"\x40\0\0\0")

    assert lying != content
    assert "is damaged" in problem(lying, SHEET, mime=XLSX)[1]


def test_a_locked_part_is_named() -> None:
    content = bytearray(workbook({"Data": rows(HEADER)}))
    at = content.find(b"PK\x01\x02")
    content[at + 8] |= 1

    assert "locked with a password" in problem(bytes(content), SHEET, mime=XLSX)[1]


def test_rows_in_disorder_are_damage() -> None:
    sheet = '<worksheet><sheetData><row r="2"><c><v>1</v></c></row><row r="1"/></sheetData></worksheet>'

    assert any(
        "row 1 stands behind row 2" in each.message
        for each in rejected(workbook({"D": sheet}), SHEET, mime=XLSX).problems
    )


def bomb_of_zeros() -> bytes:
    return workbook({"D": "<worksheet>" + " " * 200_000_000 + "</worksheet>"})


@pytest.mark.parametrize(
    ("content", "limits", "words"),
    [
        (workbook({"D": rows(*[("a", "b")] * 50)}), Limits(xlsx_bytes=3_000), "more than 3000 bytes"),
        (workbook({}, {f"x/{n}": "" for n in range(400)}), Limits(xlsx_parts=10), "10 parts"),
        (workbook({"D": "<a>" * 100}), Limits(), "nested deeper than 64"),
        (workbook({"D": rows(*[("a", "b")] * 9)}), Limits(csv_rows=7), "more than 7 rows"),
        (workbook({"D": rows(['<c r="ZZZ1"><v>1</v></c>'])}), Limits(), "D!ZZZ1: more than 500 columns"),
        (workbook({"D": rows(["x" * 40_000])}), Limits(), "D!A1 holds more than 32768 bytes"),
        (
            workbook({"D": rows(["a"])}, {"xl/sharedStrings.xml": f"<sst><si><t>{'x' * 99}</t></si></sst>"}),
            Limits(xlsx_texts=50),
            "more than 50 characters of text",
        ),
    ],
)  # fmt: skip
def test_a_bomb_is_too_large(content: bytes, limits: Limits, words: str) -> None:
    answer = rejected(content, SHEET, mime=XLSX, limits=limits)

    assert answer.code == PAYLOAD_TOO_LARGE
    assert words in str([each.message for each in answer.problems])


def test_the_directory_of_a_large_archive_is_not_read() -> None:
    content = bytearray(workbook({"D": rows(["a"])}))
    at = content.rfind(b"PK\x05\x06")
    content[at:at] = b"PK\x06\x07" + bytes(16)

    assert rejected(bytes(content), SHEET, mime=XLSX).code == PAYLOAD_TOO_LARGE


@pytest.mark.slow
def test_a_bomb_of_blanks_is_refused_before_it_is_unpacked() -> None:
    content = bomb_of_zeros()

    assert len(content) < 300_000
    assert rejected(content, SHEET, mime=XLSX).code == PAYLOAD_TOO_LARGE


def test_wrong_values_are_named_by_their_cells() -> None:
    content = workbook({"Data": rows(HEADER, ("mass_kg", number("-1")), ("colour", "red"))})

    assert places(content, SHEET, mime=XLSX) == ["Data!B2", "Data!A3"]
    assert rejected(content, SHEET, mime=XLSX).code == VALIDATION_ERROR
