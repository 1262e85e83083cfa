"""Bills of materials, as CSV and as JSON."""

from decimal import Decimal

import pytest

from bpc_worker.documents.model import PAYLOAD_TOO_LARGE, Limits
from tests.unit.documents.sending import facts, one_fact, places, problem, rejected

HEADER = "part;material;mass_kg;critical;renewable\n"
STEEL = {"part": "frame", "material": "steel", "mass_kg": "1.50", "critical": False, "renewable": False}


def test_each_row_is_a_component_with_its_place() -> None:
    frame, pad = facts(HEADER + "frame;steel;1.50;false;false\npad;cellulose;0.2;no;yes\n", "BOM")

    assert (frame.fact_type, frame.fact_key, frame.schema_version) == ("Component", "component:frame", 1)
    assert frame.payload == STEEL
    assert (frame.pointer, pad.pointer) == ("2:1", "3:1")
    assert pad.payload == STEEL | {
        "part": "pad", "material": "cellulose", "mass_kg": "0.2", "renewable": True
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "PART, Material ,Mass [kg],Critical,Renewable,Colour\nframe,steel,1.50,0,0,red\n",
        "erneuerbar;kritisch;Masse kg;Werkstoff;Teilenummer\nnein;nein;1.50;steel;frame",
        "part;material;mass;unit;critical;renewable\nframe;steel;1.50;kg;false;no",
        "part;material;mass;unit;critical;renewable\nframe;steel;1500;g;false;no",
        "part;material;mass;mass_kg;critical;renewable\nframe;steel;99;1.50;false;no",
    ],
)
def test_columns_come_in_any_order_case_and_spelling(text: str) -> None:
    fact = one_fact(text, "BOM")

    assert fact.fact_key == "component:frame"
    assert Decimal(str(fact.payload["mass_kg"])) == Decimal("1.5")
    kept = {name: value for name, value in fact.payload.items() if name not in {"part_number", "further"}}
    assert {**kept, "mass_kg": "1.50"} == STEEL


def test_what_stands_in_other_columns_is_kept_by_its_title() -> None:
    fact = one_fact("part;material;mass;mass_kg;Colour;note\nframe;steel;99;1.50;red;", "BOM")

    assert fact.payload["further"] == {"mass": "99", "Colour": "red"}


def test_a_column_that_is_nearly_a_known_one_is_not_kept_unread() -> None:
    where, message = problem("part;material;mass_kg;recyled_pct\nframe;steel;1;12", "BOM")

    assert where == "line 1, column 4"
    assert "did you mean recycled_pct?" in message


def test_parts_may_be_named_by_their_numbers_alone() -> None:
    fact = one_fact("part_number;material;mass_kg\nA-17;steel;1", "BOM")

    assert fact.payload["part"] == fact.payload["part_number"] == "A-17"
    again = problem("part_number;material;mass_kg\nA-17;steel;1\nA-17;steel;1", "BOM")
    assert again[0] == "line 3, column 1"


def test_a_part_has_a_role_a_cas_number_and_a_recycled_share() -> None:
    text = "part;part_number;material;mass_kg;cas;role;recycled_pct\nfoil;F1;cobalt;1;7440-48-4;cathode;12,5"
    fact = one_fact(text, "BOM", number_format="1.234,56")

    assert fact.payload == {
        "part": "foil", "part_number": "F1", "material": "cobalt", "mass_kg": "1", "cas": "7440-48-4",
        "role": "cathode", "recycled_pct": "12.5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        ("cas", "7440-48-5", "its last digit does not fit"),
        ("cas", "7440 48-4", "is not a CAS number"),
        ("role", "kathode", "is not one of: cathode"),
        ("recycled_pct", "100.1", "above 100 %"),
    ],
)
def test_what_cannot_be_is_refused(column: str, cell: str, words: str) -> None:
    where, message = problem(f"part;material;mass_kg;{column}\nfoil;cobalt;1;{cell}", "BOM")

    assert where == "line 2, column 4"
    assert words in message


@pytest.mark.parametrize(
    ("mass", "unit", "kept"),
    [("1500", "g", "1.500"), ("0.0021", "t", "2.1000"), ("7", "kg", "7"), ("0", "g", "0.000")],
)
def test_a_mass_in_another_unit_is_converted_exactly(mass: str, unit: str, kept: str) -> None:
    text = f"part;material;mass;unit;critical;renewable\nframe;steel;{mass};{unit};false;no"

    assert one_fact(text, "BOM").payload["mass_kg"] == kept


def test_numbers_are_read_as_declared() -> None:
    text = HEADER + "frame;steel;1.234,50;ja;nein"

    assert one_fact(text, "BOM", number_format="1.234,56").payload["mass_kg"] == "1234.50"
    assert "declare number_format" in problem(text, "BOM")[1]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_part_of_the_header(encoding: str) -> None:
    text = HEADER + "Gehäuse;steel;1.50;false;false"

    assert one_fact(text.encode(encoding), "BOM", mime="text/csv; charset=x").fact_key == "component:Gehäuse"


def test_every_wrong_cell_is_named() -> None:
    text = HEADER + (
        "frame;;heavy;maybe;false\n"
        "frame;steel;-1;true;false\n"
        ";steel;1;true;false\n"
        "short;steel\n"
        f"{'n' * 201};steel;1;true;false\n"
    )

    assert places(text, "BOM") == [
        "line 2, column 2",
        "line 2, column 3",
        "line 2, column 4",
        "line 3, column 3",
        "line 3, column 1",
        "line 4, column 1",
        "line 5",
        "line 6, column 1",
    ]


def test_a_part_that_stands_twice_says_where_it_stood_first() -> None:
    where, message = problem(HEADER + "a;steel;1;true;false\na;steel;1;true;false", "BOM")

    assert where == "line 3, column 1"
    assert "already at line 2" in message


def test_a_missing_column_is_named_once_not_per_row() -> None:
    where, message = problem("part;material;critical\na;b;true\nc;d;true", "BOM")

    assert where == "line 1"
    assert "column mass_kg is missing" in message


def test_a_mass_without_its_unit_is_refused() -> None:
    text = "part;material;mass;critical;renewable\na;steel;1;true;false"

    assert "column unit is missing" in problem(text, "BOM")[1]


@pytest.mark.parametrize("unit", ["lb", "KG", ""])
def test_a_wrong_unit_is_refused(unit: str) -> None:
    text = f"part;material;mass;unit;critical;renewable\na;steel;1;{unit};true;false"

    assert problem(text, "BOM")[0] == "line 2, column 4"


def test_two_columns_for_one_thing_are_refused() -> None:
    where, message = problem("part;material;mass_kg;weight_kg;critical;renewable\na;b;1;2;1;1", "BOM")

    assert where == "line 1, column 4"
    assert "a second column for mass_kg" in message


def test_a_list_without_parts_is_refused() -> None:
    assert "lists no part" in problem(HEADER, "BOM")[1]
    assert "lists no part" in problem({"components": []}, "BOM")[1]
    assert "no header" in problem(";;;\n", "BOM")[1]


def test_a_broken_header_is_not_reported_a_second_time() -> None:
    assert problem('"part;material', "BOM")[0] == "line 1, column 1"


def test_json_components_are_the_same_facts() -> None:
    fact = one_fact({"components": [STEEL]}, "BOM")

    assert fact.payload == STEEL
    assert (fact.fact_key, fact.pointer) == ("component:frame", "/components/0")


def test_json_members_of_other_names_are_refused() -> None:
    document = {"components": [STEEL | {"comment": "painted"}], "plant": "Wetzlar"}

    assert places(document, "BOM") == ["/plant", "/components/0/comment"]


def test_json_numbers_keep_their_digits() -> None:
    text = (
        b'{"components": [{"part": "a", "material": "b", "mass_kg": 0.10, "critical": true, "renewable": 0}]}'
    )

    assert one_fact(text, "BOM", mime="application/json").payload["mass_kg"] == "0.10"


def test_json_masses_have_units_too() -> None:
    part = {name: value for name, value in STEEL.items() if name != "mass_kg"} | {"mass": 20, "unit": "g"}

    assert one_fact({"components": [part]}, "BOM").payload["mass_kg"] == "0.020"
    assert places({"components": [part | {"unit": "lb"}]}, "BOM") == ["/components/0/unit"]


def test_every_wrong_member_is_named() -> None:
    wrong = {"part": " x", "material": 5, "mass_kg": [], "critical": "perhaps", "renewable": None}

    assert places({"components": [wrong, "x", {"part": "y"}]}, "BOM") == [
        "/components/0/part",
        "/components/0/material",
        "/components/0/mass_kg",
        "/components/0/critical",
        "/components/1",
        *["/components/2"] * 2,
    ]


def test_components_are_an_array() -> None:
    assert problem({"components": {}}, "BOM")[0] == "/components"
    assert problem(b'{"components": NaN}', "BOM", mime="application/json")[0] == "/components"


def test_too_many_rows_are_too_large() -> None:
    text = HEADER + "a;steel;1;true;false\nb;steel;1;true;false"

    assert rejected(text, "BOM", limits=Limits(csv_rows=1)).code == PAYLOAD_TOO_LARGE
