"""What a battery is and can do."""

import pytest

from tests.unit.documents.sending import changed, one_fact, places, problem

BATTERY: dict[str, object] = {
    "battery_id": "urn:example:9", "manufacturer": "Volt Works", "manufacturing_place": "Aachen, DE",
    "manufacturing_date": "2028-08-01", "category": "EV", "status": "original", "chemistry": "LFP",
    "mass_kg": "400.0", "rated_capacity_ah": 200, "v_min": 300, "v_nom": 400, "v_max": 450,
    "t_idle_min": -20, "t_idle_max": 60,
}  # fmt: skip
OPTIONAL: dict[str, object] = {
    "usable_kwh": "75.0", "life_years": 8, "life_cycles": 1500, "vehicle_category": "M1",
}  # fmt: skip


def test_a_battery_is_one_fact() -> None:
    fact = one_fact({"battery": BATTERY | OPTIONAL}, "OTHER")

    assert (fact.fact_type, fact.fact_key, fact.pointer) == ("Battery", "battery", "/battery")
    assert fact.payload == BATTERY | {
        "rated_capacity_ah": "200", "v_min": "300", "v_nom": "400", "v_max": "450", "t_idle_min": "-20",
        "t_idle_max": "60", "usable_kwh": "75.0", "life_years": "8", "life_cycles": 1500,
        "vehicle_category": "M1",
    }  # fmt: skip


@pytest.mark.parametrize("nothing", [None, ""])
def test_what_is_optional_may_be_left_out_or_empty(nothing: object) -> None:
    bare = one_fact({"battery": BATTERY}, "OTHER")

    assert one_fact({"battery": BATTERY | dict.fromkeys(OPTIONAL, nothing)}, "OTHER").payload == bare.payload
    assert not bare.payload.keys() & OPTIONAL.keys()


@pytest.mark.parametrize("name", sorted(BATTERY))
def test_what_is_needed_is_needed(name: str) -> None:
    assert problem({"battery": changed(BATTERY, **{name: None})}, "OTHER") == (
        "/battery",
        f"{name} is missing; add it",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("manufacturing_date", "2028-02-30"),
        ("manufacturing_date", "2028-08"),
        ("manufacturing_date", "01.08.2028"),
        ("manufacturing_date", 20280801),
        ("category", "ev"),
        ("status", "new"),
        ("vehicle_category", "M4"),
        ("mass_kg", "400 kg"),
        ("mass_kg", True),
        ("life_cycles", 1500.5),
        ("life_cycles", -1),
        ("life_cycles", "many"),
        ("life_cycles", 2**53),
        ("life_cycles", str(2**53)),
        ("chemistry", "   "),
        ("chemistry", "NMC\n622"),
        ("chemistry", "x" * 2_001),
        ("manufacturer", {"name": "x"}),
        ("battery_id", "x" * 201),
    ],
)
def test_a_wrong_value_is_named(name: str, value: object) -> None:
    assert problem({"battery": BATTERY | {name: value}}, "OTHER")[0] == f"/battery/{name}"


def test_cycles_may_be_a_text() -> None:
    assert one_fact({"battery": BATTERY | {"life_cycles": "1500"}}, "OTHER").payload["life_cycles"] == 1500


@pytest.mark.parametrize(
    ("name", "words"), [("usable_kWh", "did you mean usable_kwh?"), ("colour", "known are: battery_id, ")]
)
def test_an_unknown_member_is_named_with_the_nearest_one(name: str, words: str) -> None:
    where, message = problem({"battery": BATTERY | {name: "1"}}, "OTHER")

    assert where == f"/battery/{name}"
    assert words in message


def test_more_unknown_members_than_the_limit_are_counted() -> None:
    wrong = BATTERY | {f"x{index}": 1 for index in range(150)}

    assert len(places({"battery": wrong}, "OTHER")) == 101


def test_beside_the_battery_there_is_nothing() -> None:
    assert places({"battery": [], "comment": "x"}, "OTHER") == ["/comment", "/battery"]
