"""Aspects of the Battery Pass and of Catena-X, as they are."""

import pytest

from tests.unit.documents.sending import JSON, one_fact, places, problem

GENERAL = {
    "batteryPassportIdentifier": "urn:example:1",
    "batteryMass": 412,
    "manufacturingDate": "2028-08-01T00:00:00Z",
}


def test_an_aspect_is_one_fact_with_the_document_as_it_is() -> None:
    text = b"""{"carbonFootprintPerLifecycleStage": [
        {"lifecycleStage": "Production", "carbonFootprint": 1.50e1}],
      "batteryCarbonFootprint": 9007199254740993, "x": [9007199254740991, -1, 1.0, true, null, "t"]}"""

    fact = one_fact(text, "OTHER", mime=JSON)

    assert (fact.fact_type, fact.fact_key, fact.pointer) == ("Aspect", "aspect:CarbonFootprint", "")
    assert fact.payload == {
        "carbonFootprintPerLifecycleStage": [{"lifecycleStage": "Production", "carbonFootprint": "15.0"}],
        "batteryCarbonFootprint": "9007199254740993",
        "x": [9007199254740991, -1, "1.0", True, None, "t"],
    }


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (GENERAL, "GeneralProductInformation"),
        ({"batteryChemistry": {"shortName": "LFP"}, "batteryMaterials": []}, "MaterialComposition"),
        (
            {"specVersion": "urn:io.catenax.battery.battery_pass:6.1.0", "identification": {}},
            "CatenaXBatteryPass",
        ),
    ],
)
def test_an_aspect_is_recognised_by_its_members(document: object, name: str) -> None:
    assert one_fact(document, "OTHER").fact_key == f"aspect:{name}"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_with_its_mark_is_read(encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    text = f'{mark}{{"batteryPassportIdentifier": "ä"}}'

    assert one_fact(text.encode(encoding), "OTHER", mime=JSON).payload == {"batteryPassportIdentifier": "ä"}


def test_each_number_beyond_the_limits_is_named() -> None:
    text = b'{"batteryCarbonFootprint": -1.8E308, "absoluteCarbonFootprint": 1, "y": [{"z": 1.8E308}]}'

    assert places(text, "OTHER", mime=JSON) == ["/batteryCarbonFootprint", "/y/0/z"]


def test_a_date_that_does_not_exist_is_named() -> None:
    document = GENERAL | {
        "a": [{"intoServiceDate": "7172-75-08"}], "putDate": "2028-02-30T10:00:00Z",
        "partNumber": "7172-75-08",
        "dateless": "soon",
    }  # fmt: skip

    assert places(document, "OTHER") == ["/a/0/intoServiceDate", "/putDate"]


def test_a_passport_of_another_model_is_refused() -> None:
    where, message = problem({"specVersion": "urn:example:dpp:1.0.0", "characteristics": {}}, "OTHER")

    assert where == "/specVersion"
    assert "urn:io.catenax.battery.battery_pass" in message
