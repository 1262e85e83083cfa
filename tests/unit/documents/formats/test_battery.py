"""What a battery is and can do, as JSON."""

import pytest

from tests.unit.documents.sending import facts, places, problem

BATTERY: dict[str, object] = {
    "battery_id": "urn:example:9", "manufacturer": "Volt Works", "manufacturing_place": "Aachen, DE",
    "manufacturing_date": "2028-08-01", "category": "EV", "status": "original", "chemistry": "LFP",
    "mass_kg": "400.0", "rated_capacity_ah": 200, "v_min": 300, "v_nom": 400, "v_max": 450,
    "t_idle_min": -20, "t_idle_max": 60, "usable_kwh": "75.0", "life_years": 8, "life_cycles": 1500,
    "vehicle_category": "M1",
}  # fmt: skip


def read(battery: object) -> dict[str, object]:
    found = facts({"battery": battery}, "OTHER")
    assert {fact.fact_type for fact in found} <= {"Value"}
    return {fact.fact_key: fact.payload["value"] for fact in found}


def test_each_older_member_is_a_value_of_the_vocabulary() -> None:
    assert read(BATTERY) == {
        "identity.battery_id": "urn:example:9",
        "manufacturer.name": "Volt Works",
        "identity.manufacturing_place": "Aachen, DE",
        "identity.manufacturing_month": "2028-08",
        "identity.category": "EV",
        "identity.status": "original",
        "composition.chemistry": "LFP",
        "composition.mass_kg": "400.0",
        "performance.rated_capacity_ah": "200",
        "performance.voltage_min_v": "300",
        "performance.voltage_nominal_v": "400",
        "performance.voltage_max_v": "450",
        "performance.idle_temperature_min_c": "-20",
        "performance.idle_temperature_max_c": "60",
        "performance.usable_kwh": "75.0",
        "performance.life_years": "8",
        "performance.life_cycles": 1500,
        "identity.vehicle_category": "M1",
    }


def test_a_value_points_to_its_member() -> None:
    [mass, address] = facts(
        {"battery": {"mass_kg": 1, "manufacturer": {"address": {"de": "Hafen 1", "en": "1 Harbour"}}}},
        "OTHER",
    )

    assert (mass.fact_key, mass.pointer) == ("composition.mass_kg", "/battery/mass_kg")
    assert (address.fact_key, address.pointer) == ("manufacturer.address", "/battery/manufacturer/address")
    assert address.payload == {"value": {"de": "Hafen 1", "en": "1 Harbour"}}


def test_names_may_be_whole_or_in_groups() -> None:
    assert read({"performance.power_at_80_w": 9, "condition": {"bms": True, "cycle_use": "no"}}) == {
        "performance.power_at_80_w": "9",
        "condition.bms": True,
        "condition.cycle_use": False,
    }


def test_a_text_without_a_language_is_of_none() -> None:
    link = "https://example.com/waste"

    assert read({"waste": {"prevention": link}}) == {"waste.prevention": {"und": link}}


def test_an_older_word_for_flow_batteries_is_two_values() -> None:
    assert read({"category": "INDUSTRIAL_EXTERNAL_STORAGE"}) == {
        "identity.category": "INDUSTRIAL",
        "condition.external_storage_only": True,
    }


def test_what_is_empty_is_not_given() -> None:
    assert read({"chemistry": "LFP", "usable_kwh": None, "life_years": ""}) == {
        "composition.chemistry": "LFP"
    }
    assert "there is no value" in problem({"battery": {}}, "OTHER")[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("manufacturing_date", "2028-02-30"),
        ("manufacturing_date", "2028-13"),
        ("manufacturing_date", "01.08.2028"),
        ("manufacturing_date", 20280801),
        ("category", "ev"),
        ("status", "new"),
        ("vehicle_category", "M4"),
        ("mass_kg", "400 kg"),
        ("mass_kg", True),
        ("mass_kg", -1),
        ("composition.renewable_pct", "100.01"),
        ("t_idle_min", "-273.16"),
        ("life_cycles", 1500.5),
        ("life_cycles", -1),
        ("life_cycles", "many"),
        ("life_cycles", 2**53),
        ("life_cycles", str(2**53)),
        ("chemistry", "   "),
        ("chemistry", "NMC\n622"),
        ("chemistry", "x" * 2_001),
        ("manufacturer.web", "example.com"),
        ("manufacturer.address", {}),
        ("manufacturer.address", {"german": "x"}),
        ("manufacturer.address", {"de": 5}),
        ("manufacturer.address", ["x"]),
    ],
)
def test_a_wrong_value_is_named(name: str, value: object) -> None:
    assert problem({"battery": {name: value}}, "OTHER")[0] == f"/battery/{name}"


def test_a_text_that_cannot_be_read_takes_its_value_away() -> None:
    text = b'{"battery": {"manufacturer.address": {"de": NaN, "en": "x"}}}'

    assert places(text, "OTHER", mime="application/json") == [
        "/battery/manufacturer.address/de",
        "/battery/manufacturer.address",
    ]


def test_cycles_may_be_a_text() -> None:
    assert read({"life_cycles": "1500"}) == {"performance.life_cycles": 1500}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("usable_kwhh", "did you mean performance.usable_kwh?"),
        ("declaration_id", "did you mean carbon.declaration_id or conformity.declaration_id?"),
        ("colour", "name what it is in mapping.yaml"),
    ],
)
def test_an_unknown_member_is_named_with_the_nearest_one(name: str, words: str) -> None:
    where, message = problem({"battery": {name: "1"}}, "OTHER")

    assert where == f"/battery/{name}"
    assert words in message


def test_more_unknown_members_than_the_limit_are_counted() -> None:
    assert len(places({"battery": {f"x{index}": 1 for index in range(150)}}, "OTHER")) == 101


def test_a_value_that_stands_twice_is_named() -> None:
    where, message = problem({"battery": {"v_min": 1, "performance": {"voltage_min_v": 1}}}, "OTHER")

    assert where == "/battery/performance/voltage_min_v"
    assert "already at /battery/v_min" in message


def test_beside_the_battery_there_are_only_lists() -> None:
    assert places({"battery": [], "comment": "x"}, "OTHER") == ["/comment", "/battery"]


@pytest.mark.parametrize(
    ("members", "where"),
    [
        ({"v_min": 401, "v_nom": 400}, "/battery/v_min"),
        ({"v_nom": 500, "v_max": 450}, "/battery/v_nom"),
        ({"t_idle_min": 61, "t_idle_max": 60}, "/battery/t_idle_min"),
        (
            {"recycled": {"cobalt_pct": 20, "pre_consumer_cobalt_pct": 9, "post_consumer_cobalt_pct": 9}},
            "/battery/recycled/cobalt_pct",
        ),
        (
            {"carbon": {"raw_material_kg": 3000, "production_kg": 1800, "distribution_kg": 900,
                        "end_of_life_kg": -300, "absolute_t": "5.7"}},
            "/battery/carbon/absolute_t",
        ),
    ],
)  # fmt: skip
def test_values_that_cannot_be_together_are_named(members: object, where: str) -> None:
    assert problem({"battery": members}, "OTHER")[0] == where


def test_a_total_in_tonnes_may_be_rounded() -> None:
    stages = {"raw_material_kg": 3000, "production_kg": 1800, "distribution_kg": 900, "end_of_life_kg": -260}

    assert read({"carbon": {**stages, "absolute_t": "5.4"}})["carbon.absolute_t"] == "5.4"


def test_lists_stand_beside_the_battery() -> None:
    document = {
        "battery": {"mass_kg": 1},
        "substances": [{"name": "LiPF6", "cas": "21324-40-3", "ec": "244-334-7", "class": "Acute Tox. 3",
                        "share_pct": "1.50", "location": "electrolyte"}],
        "spare_sources": [{"name": "Spares Ltd", "web": "https://example.com", "part_numbers": ["A1", "A2"]}],
        "negative_events": [{"at": "2028-01-02T03:04:05+01:00", "what": "fell"}],
    }  # fmt: skip
    _, substance, spare, event = facts(document, "OTHER")

    assert (substance.fact_type, substance.fact_key) == ("Substance", "substance:LiPF6 electrolyte")
    assert substance.payload == document["substances"][0]  # type: ignore[index]
    assert (spare.fact_type, spare.fact_key, spare.pointer) == (
        "SpareSource", "spare:Spares Ltd", "/spare_sources/0"
    )  # fmt: skip
    assert event.payload == {"at": "2028-01-02T02:04:05.000000Z", "what": "fell"}


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ({"name": "x"}, "/substances/0"),
        ({"name": "x", "class": "y", "colour": "z"}, "/substances/0/colour"),
        ({"name": "x", "class": "y", "cas": "21324-40-4"}, "/substances/0/cas"),
        ({"name": "x", "class": "y", "ec": "244-334-8"}, "/substances/0/ec"),
        ({"name": "x", "class": "y", "ec": "244334-8"}, "/substances/0/ec"),
        ({"name": "x", "class": "y", "share_pct": 101}, "/substances/0/share_pct"),
        ("x", "/substances/0"),
    ],
)
def test_a_wrong_row_of_a_list_is_named(row: object, where: str) -> None:
    assert problem({"battery": {"mass_kg": 1}, "substances": [row]}, "OTHER")[0] == where


def test_a_list_is_an_array_whose_rows_differ() -> None:
    row = {"name": "x", "class": "y"}

    assert problem({"battery": {"mass_kg": 1}, "substances": {}}, "OTHER")[0] == "/substances"
    assert (
        "already at /substances/0"
        in problem({"battery": {"mass_kg": 1}, "substances": [row, row]}, "OTHER")[1]
    )


@pytest.mark.parametrize("numbers", [[], 5, ["x"] * 101, [None]])
def test_part_numbers_are_texts(numbers: object) -> None:
    source = {"name": "x", "part_numbers": numbers}

    where = problem({"battery": {"mass_kg": 1}, "spare_sources": [source]}, "OTHER")[0]
    assert where == "/spare_sources/0/part_numbers"
