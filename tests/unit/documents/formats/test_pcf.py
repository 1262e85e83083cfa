"""Carbon footprints by stage."""

import pytest

from tests.unit.documents.sending import facts, places, problem

STAGES = {
    "raw_material": {"kg_co2e": "3000.50"},
    "production": {"kg_co2e": 1800},
    "distribution": {"kg_co2e": "9e2"},
    "end_of_life": {"kg_co2e": "-300.5"},
}
PCF = {"declared_unit": "battery", "stages": STAGES}
ROWS = "stage;kg_co2e\nraw_material;3000.50\nproduction;1800\ndistribution;900\nend_of_life;-300.5\n"


def test_each_stage_is_a_fact() -> None:
    found = facts(PCF, "PCF")

    assert {fact.fact_type for fact in found} == {"Value"}
    assert [(fact.fact_key, fact.payload["value"], fact.pointer) for fact in found] == [
        ("carbon.raw_material_kg", "3000.50", "/stages/raw_material/kg_co2e"),
        ("carbon.production_kg", "1800", "/stages/production/kg_co2e"),
        ("carbon.distribution_kg", "900", "/stages/distribution/kg_co2e"),
        ("carbon.end_of_life_kg", "-300.5", "/stages/end_of_life/kg_co2e"),
    ]


def test_a_table_gives_the_same_facts() -> None:
    found = facts(ROWS, "PCF")

    assert {fact.fact_key: fact.payload for fact in found} == {
        fact.fact_key: fact.payload for fact in facts(PCF, "PCF")
    }
    assert found[0].pointer == "2:2"


@pytest.mark.parametrize("total", ["5400.00", "5400", "5399.7"])
def test_a_total_is_the_sum_of_the_stages_as_far_as_they_are_rounded(total: str) -> None:
    assert len(facts(f"{ROWS}total;{total}\n", "PCF")) == 4
    assert len(facts({**PCF, "stages": {**STAGES, "total": {"kg_co2e": total}}}, "PCF")) == 4


def test_a_total_that_is_another_sum_is_refused() -> None:
    where, message = problem(f"{ROWS}total;5420\n", "PCF")

    assert where == "line 6, column 2"
    assert message == "the total is 5420, but its parts add up to 5400.00; correct what is wrong"


def test_all_four_stages_are_needed() -> None:
    three = {name: stage for name, stage in STAGES.items() if name != "production"}

    assert problem({**PCF, "stages": three}, "PCF") == ("/stages", "production is missing; add it")
    assert "production, distribution" in problem("stage,kg_co2e\nraw_material,1\nend_of_life,0", "PCF")[1]


def test_a_stage_that_is_none_is_named_with_the_nearest_one() -> None:
    where, message = problem({**PCF, "stages": {**STAGES, "end_of_live": {"kg_co2e": 1}}}, "PCF")

    assert where == "/stages/end_of_live"
    assert "did you mean end_of_life?" in message


def test_a_stage_in_a_table_stands_once() -> None:
    assert places(ROWS + "production;5\nuse;7\n", "PCF") == ["line 6, column 1", "line 7, column 1"]


@pytest.mark.parametrize("unit", ["kWh", "", 5])
def test_stages_are_for_the_whole_battery(unit: object) -> None:
    assert problem({**PCF, "declared_unit": unit}, "PCF")[0] == "/declared_unit"


def test_every_wrong_member_is_named() -> None:
    wrong = {
        "raw_material": 5,
        "production": {"kg_co2e": True},
        "distribution": {"t_co2e": 1},
        "end_of_life": None,
    }

    assert places({"stages": wrong, "year": 2027}, "PCF") == [
        "/year",
        "",
        "/stages/raw_material",
        "/stages/production/kg_co2e",
        "/stages/distribution/t_co2e",
        "/stages/distribution",
        "/stages/end_of_life",
    ]


def test_stages_are_an_object() -> None:
    assert problem({"declared_unit": "battery"}, "PCF") == ("", "stages is missing; add it")
    assert problem({"declared_unit": "battery", "stages": []}, "PCF")[0] == "/stages"
