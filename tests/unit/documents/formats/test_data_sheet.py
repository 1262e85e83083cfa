"""Data sheets as tables: tall, wide, and the lists; with a supplier's own titles."""

import pytest

from tests.unit.documents.sending import facts, places, problem, rejected

SHEET = "DATA_SHEET"


def read(text: str, **options: object) -> dict[str, object]:
    return {fact.fact_key: fact.payload["value"] for fact in facts(text, SHEET, **options)}


def test_each_row_is_a_value_that_points_to_its_cell() -> None:
    found = facts("name;value;unit\nRated capacity;213;Ah\ncondition.bms;yes;\n", SHEET)

    assert [(fact.fact_type, fact.fact_key, fact.payload, fact.pointer) for fact in found] == [
        ("Value", "performance.rated_capacity_ah", {"value": "213"}, "2:2"),
        ("Value", "condition.bms", {"value": True}, "3:2"),
    ]


@pytest.mark.parametrize(
    ("row", "name", "value"),
    [
        ("mass;400000;g", "composition.mass_kg", "400.000"),
        ("Mass [g];400000;", "composition.mass_kg", "400.000"),
        ("usable_kwh;75000;Wh", "performance.usable_kwh", "75.000"),
        ("power_limit;150;kW", "performance.power_limit_w", "150000"),
        ("Resistance pack;0,05;Ohm", "performance.resistance_pack_mohm", "50.00"),
        ("resistance_pack;50;m\N{OHM SIGN}", "performance.resistance_pack_mohm", "50"),
        ("warranty;8;years", "performance.warranty_months", "96"),
        ("c_rate;0,5;C", "performance.c_rate_per_h", "0.5"),
        ("carbon.production;1,8;t CO2-eq", "carbon.production_kg", "1800.0"),
        ("idle_temperature_min;-20;°C", "performance.idle_temperature_min_c", "-20"),
        ("life_cycles;1.500;cycles", "performance.life_cycles", 1500),
        ("supply chain index;0,8;-", "due_diligence.supply_chain_index", "0.8"),
        ("manufacturing_month;2027-02;", "identity.manufacturing_month", "2027-02"),
    ],
)
def test_a_value_is_turned_into_the_unit_of_its_name(row: str, name: str, value: object) -> None:
    assert read(f"Merkmal;Wert;Einheit\n{row}", number_format="1.234,56") == {name: value}


@pytest.mark.parametrize(
    ("row", "column", "words"),
    [
        ("rated capacity;213;V", 2, 'the unit "V" does not fit'),
        ("resistance_pack;50;MOhm", 2, 'the unit "MOhm" does not fit'),
        ("chemistry;LFP;kg", 2, "it has none"),
        ("life_cycles;1500;Ah", 2, "it has none"),
        ("life_cycles;1500.5;", 2, "a whole number"),
        ("renewable;101;%", 2, "above 100 %"),
        ("colour;red;", 1, "name what it is in mapping.yaml"),
        ("rated_capcity;1;Ah", 1, "did you mean performance.rated_capacity_ah?"),
        (";1;Ah", 1, "is empty"),
    ],
)
def test_a_wrong_row_is_named(row: str, column: int, words: str) -> None:
    where, message = problem(f"name;value;unit\n{row}", SHEET)

    assert where == f"line 2, column {column}"
    assert words in message


def test_texts_of_several_languages_are_one_fact_with_a_place_for_each() -> None:
    text = "name,value,language\nsafety.measures,Handschuhe,de\nsafety.measures,gloves,en\nchemistry,LFP,\n"
    chemistry, german, english = facts(text, SHEET)

    assert chemistry.payload == {"value": "LFP"}
    assert german.payload == english.payload == {"value": {"de": "Handschuhe", "en": "gloves"}}
    assert (german.pointer, english.pointer) == ("2:2", "3:2")


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ("chemistry;LFP;de", "line 2, column 3"),
        ("safety.measures;x;german", "line 2, column 3"),
        ("safety.measures;x;de\nsafety.measures;y;de", "line 3, column 1"),
        ("chemistry;LFP;\nchemistry;LFP;", "line 3, column 1"),
    ],
)
def test_a_wrong_language_or_a_second_value_is_named(rows: str, where: str) -> None:
    assert places(f"name;value;language\n{rows}", SHEET) == [where]


def test_what_is_empty_is_not_given() -> None:
    assert read("name;value\nchemistry;LFP\nmass_kg;\n") == {"composition.chemistry": "LFP"}
    assert "there is no value" in problem("name;value\nmass_kg;", SHEET)[1]


def test_a_column_that_is_not_read_is_refused_unless_it_is_to_be_ignored() -> None:
    text = "name;value;Remark\nchemistry;LFP;checked\n"

    assert 'the column "Remark" is not read' in problem(text, SHEET)[1]
    assert read(text, mapping={"names": {"Remark": "ignore"}}) == {"composition.chemistry": "LFP"}


def test_one_row_under_names_is_a_model() -> None:
    text = "Rated capacity [mAh];chemistry;condition.bms;mass_kg\n213000;LFP;ja;\n"
    found = facts(text, SHEET)

    assert [(fact.fact_key, fact.payload["value"], fact.pointer) for fact in found] == [
        ("performance.rated_capacity_ah", "213.000", "2:1"),
        ("composition.chemistry", "LFP", "2:2"),
        ("condition.bms", True, "2:3"),
    ]


def test_every_mistake_of_a_row_under_names_is_named() -> None:
    text = "mass_kg;chemistry;Colour;mass [g]\nheavy;LFP;red;1\n1;LFP;red;1\n"

    assert places(text, SHEET) == ["line 1, column 3", "line 2, column 1", "line 3"]
    assert places("mass_kg;mass [g]\n1;1000\n", SHEET) == ["line 2, column 2"]


@pytest.mark.parametrize(
    ("text", "fact_type"),
    [
        ("substance;class;cas\nLiPF6;Acute Tox. 3;21324-40-3", "Substance"),
        ("supplier;web;colour\nSpares Ltd;https://example.com;red", "SpareSource"),
        ("at;event\n2028-01-02T03:04:05Z;fell", "NegativeEvent"),
        ("part;material;mass_kg\nframe;steel;1", "Component"),
        ("Teilenummer;Werkstoff;Masse [g]\nA1;steel;1", "Component"),
    ],
)
def test_lists_are_known_by_their_columns(text: str, fact_type: str) -> None:
    [fact] = facts(text, SHEET)

    assert (fact.fact_type, fact.pointer) == (fact_type, "2:1")


def test_stages_and_reports_may_stand_in_a_data_sheet() -> None:
    assert len(read("stage;kg_co2e\nraw_material;1\nproduction;2\ndistribution;3\nend_of_life;4")) == 4
    assert len(read("report_url;period\nhttps://example.com;2027")) == 2


def test_part_numbers_of_a_source_stand_in_one_cell() -> None:
    [fact] = facts("supplier;part_numbers;note\nSpares Ltd;A1, A2;fast", SHEET)

    assert fact.payload == {"name": "Spares Ltd", "part_numbers": ["A1", "A2"], "further": {"note": "fast"}}


def test_a_table_that_is_not_known_says_what_is() -> None:
    where, message = problem("a;b\n1;2", SHEET)

    assert where == "line 1"
    assert 'the columns "a", "b"; send name;value;unit' in message


def test_values_that_cannot_be_together_are_named_by_line_and_column() -> None:
    text = "name;value\nv_min;401\nv_nom;400\n"

    assert problem(text, SHEET)[0] == "line 2, column 2"


def test_a_suppliers_own_titles_are_mapped() -> None:
    mapping = {
        "names": {"Kapazität C3 (mAh)": "performance.rated_capacity_ah", "Was": "name", "Wieviel": "value"}
    }

    assert read("Was;Wieviel\nKapazität C3 (mAh);213000\n", mapping=mapping) == {
        "performance.rated_capacity_ah": "213.000"
    }
    wide = {"names": {"Kap.": "performance.rated_capacity_ah", "Nr": "ignore"}}
    assert read("Nr;KAP\n7;213\n", mapping=wide) == {"performance.rated_capacity_ah": "213"}
    bom = {"names": {"Pos": "part", "Stoff": "material", "Gew.": "mass_g", "Lief.": "ignore"}}
    [part] = facts("Pos;Stoff;Gew.;Lief.\nframe;steel;5;x", "BOM", mapping=bom)
    assert part.payload == {"part": "frame", "material": "steel", "mass_kg": "0.005"}


def test_a_name_that_is_to_be_ignored_is() -> None:
    mapping = {"names": {"Farbe": "ignore"}}

    assert read("name;value\nFarbe;rot\nchemistry;LFP", mapping=mapping) == {"composition.chemistry": "LFP"}


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"names": {"Kap": "performance.rated_capacity"}}, "did you mean performance.rated_capacity_ah?"),
        ({"names": {"Kap": 5}}, "is no name here"),
        ({"names": {"Kap": "xyzzy"}}, "docs/documents.md lists the names"),
        ({"names": {"--": "ignore"}}, "is no title"),
        ({"names": {5: "ignore"}}, "is no title"),
        ({"names": {"a b": "value", "A-B": "name"}}, "is said to mean value and name"),
        ({"names": []}, "names must hold"),
        ({"sheets": "x"}, "sheets must be a list"),
        ({"columns": {}}, "the mapping must hold"),
        ({}, "the mapping must hold"),
    ],
)
def test_a_mapping_that_says_nothing_is_refused(mapping: dict[str, object], words: str) -> None:
    where, message = problem("name;value\nchemistry;LFP", SHEET, mapping=mapping)

    assert where == "mapping"
    assert words in message


def test_json_has_names_of_its_own() -> None:
    answer = rejected({"battery": {"mass_kg": 1}}, SHEET, mapping={"names": {}})

    assert [each.where for each in answer.problems] == ["mapping"]
    assert facts({"battery": {"mass_kg": 1}}, SHEET)[0].fact_key == "composition.mass_kg"
