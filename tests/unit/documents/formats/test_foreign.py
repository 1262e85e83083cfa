"""Forms of others: each value under its name of the vocabulary, in our units, with its place."""

from typing import Any

import pytest

from bpc_worker.documents.formats.battery_pass import FORMS as BATTERY_PASS
from bpc_worker.documents.formats.battery_pass_ready import FORMS as READY_FORMS
from bpc_worker.documents.formats.catena_x import FORMS as CATENA_X_FORMS
from bpc_worker.documents.formats.form import Form
from bpc_worker.documents.formats.idta import FORMS as IDTA
from bpc_worker.documents.model import Accepted
from bpc_worker.documents.vocabulary import LISTS, MEASURED, VALUES
from tests.unit.documents import foreign
from tests.unit.documents.sending import JSON, facts, places, problem, send


def _values(document: object, fact_type: str = "Value") -> dict[str, object]:
    return {
        fact.fact_key: fact.payload["value"]
        for fact in facts(document, "OTHER")
        if fact.fact_type == fact_type and "value" in fact.payload
    }


def _rows(document: object, fact_type: str, kind: str = "OTHER") -> list[dict[str, object]]:
    return [dict(fact.payload) for fact in facts(document, kind) if fact.fact_type == fact_type]


def _refused(document: object, kind: str = "OTHER", **options: Any) -> dict[str, str]:
    answer = send(document, kind, **options)
    assert isinstance(answer, Accepted), answer
    return {each.where: each.message for each in answer.refused}


@pytest.mark.parametrize("name", foreign.EVERY)
def test_no_value_of_a_document_is_lost(name: str) -> None:
    assert foreign.lost(*foreign.EVERY[name]) == []


@pytest.mark.parametrize(
    "form", [*BATTERY_PASS, *READY_FORMS, *IDTA, *CATENA_X_FORMS], ids=lambda form: form.name
)
def test_a_table_names_what_the_vocabulary_has(form: Form) -> None:
    for cell in form.cells:
        assert cell.name in (MEASURED if cell.at else VALUES)
    for rows in form.rows:
        known = {member.rstrip("?") for member in LISTS[rows.fact_type].split()}
        assert {member.name for member in rows.members} | set(rows.fixed) <= known


def test_general_product_information() -> None:
    assert _values(foreign.GENERAL) == {
        "identity.category": "INDUSTRIAL",
        "condition.stationary": True,
        "identity.status": "re-used",
        "composition.mass_kg": "412.5",
        "identity.manufacturing_month": "2027-01",
        "identity.manufacturing_place": "Am Werk 1, 35576, DE",
        "performance.warranty_months": "96",
        "manufacturer.name": "Helios Speicherwerke GmbH",
        "manufacturer.address": {"und": "Am Werk 1, DE, 2"},
        "manufacturer.email": "info@helios.example",
        "manufacturer.web": "https://helios.example",
    }


def test_a_carbon_footprint_by_stage_and_what_is_no_stage_of_ours() -> None:
    assert _values(foreign.CARBON) == {
        "carbon.per_kwh_kg": "61.5",
        "carbon.absolute_t": "5.400",
        "carbon.raw_material_per_kwh_kg": "35.5",
        "carbon.end_of_life_per_kwh_kg": "-3",
        "carbon.study_url": "https://helios.example/study",
    }
    [kept] = _rows(foreign.CARBON, "Kept")
    assert kept == {
        "form": "Battery Pass CarbonFootprint 1",
        "values": {
            "/carbonFootprintPerLifecycleStage/2/lifecycleStage": "Use",
            "/carbonFootprintPerLifecycleStage/2/carbonFootprint": 1,
        },
    }


def test_materials_in_kilograms_and_substances_with_all_they_say() -> None:
    assert _rows(foreign.MATERIALS, "Component") == [
        {"part": "Cathode", "material": "Cobalt", "cas": "7440-48-4", "mass_kg": "6.150", "critical": True}
    ]
    assert _rows(foreign.MATERIALS, "Substance") == [
        {
            "name": "LiPF6",
            "class": "AcuteToxicity",
            "share_pct": "1.2",
            "further": {"/hazardousSubstanceImpact/0": "H301"},
        }
    ]


def test_labels_by_language() -> None:
    assert _values(foreign.LABELS) == {
        "conformity.declaration_url": "https://helios.example/doc",
        "label.separate_collection_symbol": True,
        "waste.symbols": {"en": "Collect separately", "de": "Getrennt sammeln"},
    }


def test_ready_has_units_beside_its_values_and_one_time_for_all() -> None:
    assert _values(foreign.READY) == {
        "identity.category": "LMT",
        "condition.stationary": False,
        "composition.mass_kg": "9.500",
        "performance.rated_capacity_ah": "20",
        "label.separate_collection_symbol": True,
    }
    assert _rows(foreign.READY, "Measured")[0] == {
        "value": "2.5",
        "measured_at": "2027-03-01T08:00:00.000000Z",
        "source": "BatteryPass-Ready, as of its last update",
    }
    assert _rows(foreign.READY, "Substance") == [
        {"name": "Acute toxicity (CAS 21324-40-3)", "class": "Acute toxicity", "cas": "21324-40-3"},
        {"name": "something else"},
    ]
    assert _rows(foreign.READY, "Component") == [{"material": "LiFePO4"}, {"material": "Graphite"}]


def test_a_value_that_says_too_little_is_refused_and_stays_declared() -> None:
    message = "one value for cell and pack; say which it is"
    defects = [each["defect"] for each in _rows(foreign.READY, "Value") if "defect" in each]

    assert [where.rpartition("/")[2] for where in _refused(foreign.READY)] == ["ohmValue"]
    assert [str(each)[: len(message)] for each in defects] == [message, message]


def test_technical_data() -> None:
    assert _values(foreign.TECHNICAL) == {
        "identity.category": "EV",
        "condition.stationary": False,
        "performance.warranty_months": "18",
        "performance.voltage_min_v": "288.0",
        "performance.voltage_max_v": "420",
        "performance.resistance_cell_mohm": "1.2000",
        "performance.power_at_80_w": "150000",
    }
    assert _refused(foreign.TECHNICAL) == {
        "/TechnicalPropertyAreas/CapacityEnergyVoltage/CapacityFade": (
            "capacity_fade_pct: the time of its measurement is missing; add LastUpdate"
        )
    }


def test_a_time_without_a_zone_is_utc() -> None:
    measured = {fact.fact_key: fact.payload for fact in facts(foreign.CONDITION, "OTHER")}

    assert measured["soce_pct"]["measured_at"] == "2027-03-01T08:00:00.000000Z"
    assert measured["charge_pct"]["measured_at"] == "2027-03-01T08:00:00.000000Z"
    assert measured["charge_pct"]["source"] == "IDTA 02035 ProductCondition, time read as UTC"
    assert _rows(foreign.CONDITION, "NegativeEvent") == [
        {"what": "overcharged", "at": "2027-02-01T08:00:00.000000Z"}
    ]


def test_a_footprint_of_idta() -> None:
    assert _rows(foreign.IDTA_CARBON, "Footprint") == [
        {
            "form": "IDTA 02035 CarbonFootprint 1",
            "kg_co2e": "17.2",
            "declared_unit": "piece",
            "declared_amount": "5",
            "phases": "A3 - production",
            "further": {"/Note": "of a module"},
        }
    ]


def test_the_battery_pass_of_catena_x() -> None:
    assert _values(foreign.CATENA_X) == {
        "identity.category": "EV",
        "composition.chemistry": "NMC 622",
        "composition.mass_kg": "400",
        "performance.warranty_months": "96",
        "performance.resistance_cell_mohm": "1.2000",
        "performance.resistance_pack_mohm": "55.000",
        "composition.lead_pct": "0.0053",
        "recycled.lead_pct": "12.5",
        "carbon.distribution_per_kwh_kg": "2.5",
        "waste.prevention": {"und": "https://helios.example/w"},
    }
    assert _values(foreign.CATENA_X, "Measured") == {"capacity_fade_pct": "2.5"}
    assert _rows(foreign.CATENA_X, "Part") == [{"part_number": "P-17", "name": "Lid"}]
    assert _rows(foreign.CATENA_X, "Substance") == [
        {"name": "phenolphthalein", "ec": "201-004-7", "share_pct": "0.5", "location": "cell"}
    ]


def test_a_battery_pass_of_another_version_is_rejected() -> None:
    where, message = problem(foreign.CATENA_X | {"specVersion": "urn:example:dpp:1.0.0"}, "OTHER")

    assert where == "/specVersion"
    assert "urn:io.catenax.battery.battery_pass:6" in message


def test_a_bill_of_materials_as_built_lists_parts() -> None:
    assert _rows(foreign.BOM_AS_BUILT, "Part", "BOM") == [
        {
            "part_number": "urn:uuid:2",
            "maker": "BPNL1",
            "quantity": "12.0",
            "unit": "unit:piece",
            "built_at": "2027-01-03T14:48:54.709000Z",
            "further": {"/hasAlternatives": False},
        }
    ]


def test_a_number_beyond_the_limits_costs_no_other() -> None:
    text = b'{"batteryCarbonFootprint": -1.8E308, "absoluteCarbonFootprint": 1, "y": [{"z": 1.8E308}]}'
    answer = send(text, "OTHER", mime=JSON)

    assert isinstance(answer, Accepted)
    assert [each.where for each in answer.refused] == ["/batteryCarbonFootprint", "/y/0/z"]
    assert {fact.fact_key: dict(fact.payload) for fact in answer.facts} == {
        "carbon.absolute_t": {"value": "0.001"},
        "carbon.per_kwh_kg": {"defect": answer.refused[1].message.replace("1.8", "-1.8")},
    }


def test_a_document_of_nothing_but_refused_values_is_rejected() -> None:
    assert places(b'{"batteryCarbonFootprint": -1.8E308, "y": 1e999}', "OTHER", mime=JSON) == [
        "/batteryCarbonFootprint",
        "/y",
    ]


@pytest.mark.parametrize(
    ("changes", "where", "words"),
    [
        ({"batteryMass": -1}, "/batteryMass", "below 0"),
        ({"batteryMass": 1e13}, "/batteryMass", "above 1000000000000"),
        ({"batteryMass": "heavy"}, "/batteryMass", "not a number"),
        ({"batteryCategory": "SLI"}, "/batteryCategory", "is not one of: ev, lmt, industrial, stationary"),
        ({"manufacturingDate": "2027-02-30"}, "/manufacturingDate", "a day that does not exist"),
        ({"manufacturingDate": "2027-02-03Tnoon"}, "/manufacturingDate", "not a time stamp"),
        ({"warrentyPeriod": "P"}, "/warrentyPeriod", "write it like P96M"),
        ({"batteryStatus": " Waste"}, "/batteryStatus", "begins or ends with a blank"),
        ({"manufacturingPlace": {"postalCode": 5}}, "/manufacturingPlace", "a text in quotes is expected"),
    ],
)
def test_a_bad_value_is_refused_by_name_and_stays_declared(
    changes: dict[str, object], where: str, words: str
) -> None:
    document = foreign.GENERAL | changes
    found = {fact.pointer: fact.payload for fact in facts(document, "OTHER")}

    assert list(_refused(document)) == [where]
    assert words in _refused(document)[where]
    assert words in str(found[where]["defect"])


def test_a_missing_unit_is_told() -> None:
    weight = {"characteristics": {"physicalDimension": {"weight": {"value": 1}}}}
    lead = {"materials": {"hazardous": {"other": [{"concentration": 1, "location": "cell"}]}}}
    document = {"specVersion": foreign.CATENA_X["specVersion"]} | weight | lead

    assert _refused(document) == {
        "/characteristics/physicalDimension/weight/value": (
            "composition.mass_kg: its unit is missing; add unit"
        ),
        "/materials/hazardous/other/0/concentration": "share_pct: its unit is missing; add materialUnit",
    }
    assert _rows(document, "Substance") == [
        {"location": "cell", "defects": {"share_pct": "its unit is missing; add materialUnit"}}
    ]


def test_two_values_of_one_name_are_both_refused() -> None:
    lead = {"hazardous": {"lead": {"recycled": 12.5}}, "active": {"lead": {"recycled": 13}}}
    document = foreign.CATENA_X | {"materials": lead}

    refused = _refused(document)
    assert refused["/materials/hazardous/lead/recycled"] == (
        "recycled.lead_pct: /materials/active/lead/recycled says otherwise; correct one of them"
    )
    assert "/materials/active/lead/recycled" in refused
    assert "recycled.lead_pct" not in _values(document)


def test_values_that_cannot_be_together_are_both_refused() -> None:
    document = {
        "TechnicalPropertyAreas": {
            "CapacityEnergyVoltage": {"MinVoltage": 5, "MaxVoltage": 4, "RatedCapacity": 3}
        }
    }

    assert list(_values(document)) == ["performance.rated_capacity_ah"]
    assert [where.rpartition("/")[2] for where in _refused(document)] == ["MinVoltage", "MaxVoltage"]


def test_equal_rows_of_one_list_are_two_rows() -> None:
    [item] = foreign.IDTA_MATERIALS["BatteryMaterials"]

    assert len(_rows({"BatteryMaterials": [item, item]}, "Component")) == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_with_its_mark_is_read(encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    text = f'{mark}{{"batteryPassportIdentifier": "ä"}}'

    [kept] = facts(text.encode(encoding), "OTHER", mime=JSON)
    assert kept.payload["values"] == {"/batteryPassportIdentifier": "ä"}


def test_what_is_kept_is_kept_exactly() -> None:
    text = b"""{"labels": [{"q": 1.50}], "a/b~c": 9007199254740993,
      "x": [9007199254740991, -1, 1.0, true, null, "", {}, "t"]}"""
    [kept] = facts(text, "OTHER", mime=JSON)

    assert kept.payload["values"] == {
        "/labels/0/q": "1.50",
        "/a~1b~0c": "9007199254740993",
        "/x/0": 9007199254740991,
        "/x/1": -1,
        "/x/2": "1.0",
        "/x/3": True,
        "/x/7": "t",
    }
