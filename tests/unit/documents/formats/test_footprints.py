"""Footprints in the published forms: alone, as an answer, as a list and in an event."""

import pytest

from bpc_worker.documents.model import PAYLOAD_TOO_LARGE, Accepted
from tests.unit.documents.foreign import EVENT, ID, OTHER_ID, PACT_2, PACT_3, PCF_3, PCF_7, PCF_8, PCF_9, TOP
from tests.unit.documents.sending import changed, facts, one_fact, places, problem, rejected, send


def test_a_pact_3_footprint_is_one_fact_with_exact_decimals() -> None:
    fact = one_fact(PACT_3, "PCF")

    assert (fact.fact_type, fact.fact_key, fact.pointer) == ("Footprint", f"footprint:{ID.lower()}", "")
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
        "kg_co2e": "1.2340",
        "including_biogenic": "-0.5",
        "further": {"/productDescription": "A cell"},
    }


@pytest.mark.parametrize(
    ("document", "form", "unit", "amount", "kilograms"),
    [
        (PACT_2, "PACT ProductFootprint 2", "kilogram", "12.0", "1.2340"),
        (PCF_7, "Catena-X Pcf 7", "piece", "1000.0", "1.234"),
        (PCF_8, "Catena-X Pcf 8", "piece", "1", "1.2340"),
        (PCF_9, "Catena-X Pcf 9", "piece", "1.0", "1.234"),
    ],
)
def test_other_forms_give_the_same_members(
    document: object, form: str, unit: str, amount: str, kilograms: str
) -> None:
    payload = one_fact(document, "PCF").payload

    assert (payload["form"], payload["declared_unit"]) == (form, unit)
    assert (payload["declared_amount"], payload["kg_co2e"]) == (amount, kilograms)


def test_an_answer_for_one_is_read() -> None:
    assert one_fact({"data": PACT_3}, "PCF").pointer == "/data"


def test_a_list_holds_several_footprints_of_any_version() -> None:
    first, second = sorted(facts({"data": [PACT_3, PACT_2]}, "PCF"), key=lambda fact: fact.pointer)

    assert (first.pointer, second.pointer) == ("/data/0", "/data/1")
    assert second.fact_key == f"footprint:{OTHER_ID}"


def test_an_event_holds_several_footprints_and_is_kept() -> None:
    *found, kept = facts(EVENT, "PCF")

    assert {fact.pointer for fact in found} == {"/data/pfs/0", "/data/pfs/1"}
    assert kept.payload["values"] == {"/type": "example.published.3", "/specversion": "1.0"}


def test_a_footprint_that_cannot_be_taken_costs_no_other() -> None:
    broken = changed(PCF_3, declaredUnitAmount="0")
    answer = send(
        {"data": [PACT_3, 5, PACT_3 | {"status": "Deprecated"}, TOP, PACT_2 | {"id": "17"},
                  PACT_2 | {"pcf": {}}, PACT_3 | {"id": OTHER_ID, "pcf": broken}]},
        "PCF",
    )  # fmt: skip

    assert isinstance(answer, Accepted)
    assert [fact.pointer for fact in answer.facts] == ["/data/0"]
    versions = "PACT 2.x.y and 3.x.y, and urn:io.catenax.pcf:datamodel:version:7.x.y to 9.x.y"
    assert [(each.where, each.message) for each in answer.refused] == [
        ("/data/1", f"is not of a version that is read here; known are {versions}"),
        ("/data/2", f'"{ID.lower()}" stands already at /data/0; keep its newest version'),
        ("/data/3", f"is not of a version that is read here; known are {versions}"),
        ("/data/4", "is of no use without id"),
        ("/data/4/id", 'id: "17" is not a UUID; write it like 3f2b8c1e-5d47-4a90-8e63-0c9a7d514b26'),
        ("/data/5", "pcf/declaredUnit is missing; add it"),
        ("/data/6", "is of no use without pcf/declaredUnitAmount"),
        ("/data/6/pcf/declaredUnitAmount", "declared_amount: is not above 0; give the real value"),
    ]


@pytest.mark.parametrize("data", [[], {}, None])
def test_an_answer_without_footprints_is_told_what_is_known(data: object) -> None:
    assert "begins with the members" in problem({"data": data}, "PCF")[1]


def test_a_list_of_too_many_footprints_is_too_large() -> None:
    assert rejected({"data": [{"id": 1}] * 10_001}, "PCF").code == PAYLOAD_TOO_LARGE


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("created", "yesterday"),
        ("created", "0001-01-01T00:00:00+23:00"),
        ("status", "active"),
        ("companyIds", "urn:x"),
        ("productIds", [5]),
        ("productIds", ["x"] * 101),
        ("version", -1),
    ],
)
def test_a_member_that_is_not_needed_is_refused_alone(member: str, value: object) -> None:
    answer = send(PACT_3 | {member: value}, "PCF")

    assert isinstance(answer, Accepted)
    assert [each.where for each in answer.refused] == [f"/{member}"]


@pytest.mark.parametrize(
    ("member", "value"),
    [("declaredUnitOfMeasurement", "kg"), ("declaredUnitAmount", "0"), ("pcfExcludingBiogenicUptake", "1,5")],
)
def test_a_footprint_without_what_it_needs_is_rejected(member: str, value: object) -> None:
    assert places(PACT_3 | {"pcf": PCF_3 | {member: value}}, "PCF") == ["", f"/pcf/{member}"]


def test_a_period_that_ends_before_it_starts_is_rejected() -> None:
    late = PCF_3 | {"referencePeriodStart": "2029-01-01T00:00:00Z"}

    assert problem(PACT_3 | {"pcf": late}, "PCF") == ("", "the period ends before it starts; correct it")


def test_a_version_that_is_not_known_is_rejected() -> None:
    assert problem(PACT_3 | {"specVersion": "4.0.0"}, "PCF")[1].startswith("is not of a version")


def test_an_empty_array_on_the_way_is_a_missing_member() -> None:
    broken = PCF_9 | {"productLifeCycleStagesAndEmissions": []}

    assert problem(broken, "PCF")[1].startswith(
        "productLifeCycleStagesAndEmissions/0/productionStage/0/pcfExclu"
    )


def test_what_is_no_json_is_named_once() -> None:
    assert places(b'{"pcf": NaN, "specVersion": "3.0.0"}', "PCF", mime="application/json") == ["/pcf"]
