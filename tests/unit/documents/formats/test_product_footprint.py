"""Footprints in the published forms, written anew for an invented product."""

import pytest

from bpc_worker.documents.model import PAYLOAD_TOO_LARGE
from tests.unit.documents.sending import changed, facts, one_fact, places, problem, rejected

ID = "3F2B8C1E-5D47-4A90-8E63-0C9A7D514B26"
OTHER_ID = "7c1d0b52-94a3-4f0e-b1c8-2e6a5d3f9b40"
PERIOD = {"referencePeriodStart": "2027-01-01T00:00:00Z", "referencePeriodEnd": "2028-01-01T01:00:00.5+01:00"}
TOP: dict[str, object] = {
    "id": ID, "created": "2028-02-03T04:05:06Z", "status": "Active", "companyName": "Helios Zellen",
    "companyIds": ["urn:example:company:helios"], "productDescription": "A cell",
    "productIds": ["urn:example:cell:21700", "urn:example:cell:alt"], "productNameCompany": "Cell 21700",
}  # fmt: skip
PCF_3: dict[str, object] = {
    "declaredUnitOfMeasurement": "piece", "declaredUnitAmount": "1", "productMassPerDeclaredUnit": "0.0700",
    "pcfExcludingBiogenicUptake": "1.2340", "pcfIncludingBiogenicUptake": "-0.5", **PERIOD,
}  # fmt: skip
PACT_3 = TOP | {"specVersion": "3.0.3", "pcf": PCF_3}
PACT_2 = TOP | {
    "specVersion": "2.2.0",
    "version": 4,
    "pcf": {
        "declaredUnit": "kilogram",
        "unitaryProductAmount": "12.0",
        "pCfExcludingBiogenic": "1.2340",
        **PERIOD,
    },
}
CATENA_X_7 = {
    "id": ID, "specVersion": "urn:io.catenax.pcf:datamodel:version:7.0.0", "version": 0,
    "created": "2028-02-03T04:05:06Z", "companyName": "Helios Zellen", "productName": "Cell 21700",
    "productIds": ["urn:example:cell:21700"],
    "pcf": {"declaredUnit": "piece", "unitaryProductAmount": 1000.0, "pcfExcludingBiogenic": 2.0, **PERIOD},
}  # fmt: skip
CATENA_X_9 = {
    "scopeOfPcfForm": [{"specVersion": "urn:io.catenax.pcf:datamodel:version:9.0.0"}],
    "companyAndProductInformation": [
        {
            "companyInformation": [{"companyName": "Helios Zellen"}],
            "productInformation": [
                {
                    "declaredUnitOfMeasurement": "piece",
                    "declaredUnitAmount": 1.0,
                    "productNameCompany": "Cell 21700",
                    "productIds": ["urn:example:cell:21700"],
                }
            ],
        }
    ],
    "pcfAssessmentAndMethodology": [
        {
            "pcfAssessmentInformation": [
                {"idAndVersion": [{"id": ID}], "time": [{"created": "2028-02-03T04:05:06Z", **PERIOD}]}
            ]
        }
    ],
    "productLifeCycleStagesAndEmissions": [
        {"productionStage": [{"pcfExcludingBiogenicUptake": 2.90, "pcfIncludingBiogenicUptake": 1.9}]}
    ],
}


def test_a_pact_3_footprint_is_one_fact_with_exact_decimals() -> None:
    fact = one_fact(PACT_3, "PCF")

    assert (fact.fact_type, fact.fact_key, fact.pointer) == (
        "ProductFootprint",
        f"footprint:{ID.lower()}",
        "",
    )
    assert fact.payload == {
        "form": "PACT ProductFootprint 3",
        "id": ID.lower(),
        "spec_version": "3.0.3",
        "created": "2028-02-03T04:05:06.000000Z",
        "status": "Active",
        "company_name": "Helios Zellen",
        "company_ids": ["urn:example:company:helios"],
        "product_name": "Cell 21700",
        "product_ids": ["urn:example:cell:21700", "urn:example:cell:alt"],
        "period_start": "2027-01-01T00:00:00.000000Z",
        "period_end": "2028-01-01T00:00:00.500000Z",
        "declared_unit": "piece",
        "declared_amount": "1",
        "mass_kg_per_unit": "0.0700",
        "excluding_biogenic": "1.2340",
        "including_biogenic": "-0.5",
    }


@pytest.mark.parametrize(
    ("document", "form", "unit", "amount"),
    [
        (PACT_2, "PACT ProductFootprint 2", "kilogram", "12.0"),
        (CATENA_X_7, "Catena-X Pcf 7", "piece", "1000.0"),
        (CATENA_X_9, "Catena-X Pcf 9", "piece", "1.0"),
    ],
)
def test_other_forms_give_the_same_members(document: object, form: str, unit: str, amount: str) -> None:
    payload = one_fact(document, "PCF").payload

    assert (payload["form"], payload["declared_unit"], payload["declared_amount"]) == (form, unit, amount)
    assert payload["id"] == ID.lower()


def test_an_answer_holds_several_footprints() -> None:
    first, second = facts({"data": [PACT_3, PACT_2 | {"id": OTHER_ID}]}, "PCF")

    assert (first.pointer, second.pointer) == ("/data/0", "/data/1")
    assert second.fact_key == f"footprint:{OTHER_ID}"


def test_a_footprint_stands_once_in_an_answer() -> None:
    assert places({"data": [PACT_3, 5, PACT_2]}, "PCF") == ["/data/1", "/data/2"]


@pytest.mark.parametrize("data", [[], {}, None])
def test_an_answer_is_a_list_that_is_not_empty(data: object) -> None:
    assert problem({"data": data}, "PCF")[0] == "/data"


def test_an_answer_of_too_many_footprints_is_too_large() -> None:
    assert rejected({"data": [{}] * 10_001}, "PCF").code == PAYLOAD_TOO_LARGE


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("id", "17"),
        ("specVersion", "4.0.0"),
        ("specVersion", 3),
        ("created", "yesterday"),
        ("created", "2028-02-30T00:00:00Z"),
        ("created", "0001-01-01T00:00:00+23:00"),
        ("status", "active"),
        ("companyName", ""),
        ("companyIds", []),
        ("companyIds", "urn:x"),
        ("productIds", [5]),
        ("productIds", ["x"] * 101),
    ],
)
def test_a_wrong_member_is_named(member: str, value: object) -> None:
    assert problem(PACT_3 | {member: value}, "PCF")[0] == f"/{member}"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("declaredUnitOfMeasurement", "kg"),
        ("declaredUnitAmount", "0"),
        ("productMassPerDeclaredUnit", "-1"),
        ("pcfExcludingBiogenicUptake", "1,5"),
        ("referencePeriodStart", "2029-01-01T00:00:00Z"),
    ],
)
def test_a_wrong_member_of_the_pcf_is_named(member: str, value: object) -> None:
    where = "/pcf/referencePeriodEnd" if member == "referencePeriodStart" else f"/pcf/{member}"

    assert problem(PACT_3 | {"pcf": PCF_3 | {member: value}}, "PCF")[0] == where


def test_a_missing_member_is_named_by_its_path() -> None:
    shorter = changed(PCF_3, declaredUnitOfMeasurement=None)

    assert problem(PACT_3 | {"pcf": shorter}, "PCF") == (
        "",
        "pcf/declaredUnitOfMeasurement is missing; add it",
    )
    assert len(places({"data": [TOP | {"specVersion": "2.0.0", "pcf": "x"}]}, "PCF")) == 6


def test_a_version_2_says_which_version_it_is() -> None:
    assert problem(changed(PACT_2, version=None), "PCF")[1] == "version is missing; add it"


def test_an_empty_array_on_the_way_is_a_missing_member() -> None:
    broken = CATENA_X_9 | {"productLifeCycleStagesAndEmissions": []}

    assert [each.message[:63] for each in rejected(broken, "PCF").problems] == [
        "productLifeCycleStagesAndEmissions/0/productionStage/0/pcfExclu",
        "productLifeCycleStagesAndEmissions/0/productionStage/0/pcfInclu",
    ]


def test_what_json_refused_is_named_once() -> None:
    text = b'{"pcf": NaN, "specVersion": "3.0.0"}'
    assert places(text, "PCF", mime="application/json")[0] == "/pcf"
    assert not [each for each in places(text, "PCF", mime="application/json")[1:] if each]
    assert places(b'{"data": [{"pcf": {}, "productIds": [NaN]}]}', "PCF", mime="application/json")[:1] == [
        "/data/0/productIds/0"
    ]
