"""Published samples, which real software made: what is used, what is kept, and what is refused."""

import json
from pathlib import Path

import pytest

from bpc_worker.documents.model import Accepted
from tests.support.published import published

from .foreign import lost
from .sending import JSON, send

NAMES = {
    "batterypass-carbon-footprint-1.2.0.json": "OTHER",
    "batterypass-general-product-information-1.2.0.json": "OTHER",
    "batterypass-labels-1.2.0.json": "OTHER",
    "batterypass-material-composition-1.2.0.json": "OTHER",
    "batterypass-ready-ev.json": "OTHER",
    "catenax-battery-pass-6.1.0.json": "OTHER",
    "catenax-pcf-8.0.0.json": "PCF",
    "catenax-pcf-9.0.0.json": "PCF",
    "catenax-single-level-bom-as-built-4.0.0.json": "BOM",
    "idta-02035-carbon-footprint-1.0.0.json": "OTHER",
    "idta-02035-material-composition-1.0.1.json": "OTHER",
    "idta-02035-product-condition-1.0.1.json": "OTHER",
    "idta-02035-technical-data-1.0.1.json": "OTHER",
}


@pytest.fixture
def samples() -> Path:
    return published("samples")


def test_every_sample_is_one_of_these(samples: Path) -> None:
    assert {each.name for each in samples.iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_value_of_a_sample_is_lost(samples: Path, name: str) -> None:
    assert lost(json.loads(_text(samples / name)), NAMES[name]) == []


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        (
            "batterypass-carbon-footprint-1.2.0.json",
            (
                "/carbonFootprintPerLifecycleStage/0/carbonFootprint /carbonFootprintStudy "
                "/absoluteCarbonFootprint /batteryCarbonFootprint"
            ),
        ),
        (
            "batterypass-general-product-information-1.2.0.json",
            "/warrentyPeriod /manufacturerInformation/emailAddress /manufacturerInformation/webAddress",
        ),
        ("batterypass-labels-1.2.0.json", "/resultOfTestReport /declarationOfConformity"),
        (
            "batterypass-material-composition-1.2.0.json",
            (
                "/hazardousSubstances/0/hazardousSubstanceConcentration "
                "/hazardousSubstances/0/hazardousSubstanceIdentifier "
                "/batteryMaterials/0/batteryMaterialIdentifier /batteryMaterials/0/batteryMaterialMass"
            ),
        ),
        (
            "batterypass-ready-ev.json",
            (
                "/Battery_Passport/IdentifiersAndProductData/WarrantyPeriodOfTheBattery "
                "/Battery_Passport/PerformanceAndDurability/"
                "InitialInternalResistanceOfBatteryCellAndPackModuleRecommended/ohmValue"
            ),
        ),
        (
            "catenax-battery-pass-6.1.0.json",
            (
                "/characteristics/warranty/lifeValue /identification/category "
                "/performance/dynamic/selfDischargingRate "
                "/materials/hazardous/other/0/materialIdentification/0/id "
                "/materials/composition/0/id/0/id /operation/intoServiceDate"
            ),
        ),
        ("catenax-pcf-8.0.0.json", ""),
        ("catenax-pcf-9.0.0.json", ""),
        ("catenax-single-level-bom-as-built-4.0.0.json", ""),
        (
            "idta-02035-carbon-footprint-1.0.0.json",
            "/ProductCarbonFootprints/0/WebLinkToPublicCarbonFootprintStudy/0",
        ),
        ("idta-02035-material-composition-1.0.1.json", ""),
        ("idta-02035-product-condition-1.0.1.json", ""),
        (
            "idta-02035-technical-data-1.0.1.json",
            (
                "/TechnicalPropertyAreas/CapacityEnergyVoltage/CapacityFade "
                "/TechnicalPropertyAreas/RoundTripEnergyEfficiency/EnergyRoundTripEfficiencyFade "
                "/TechnicalPropertyAreas/Resistance/InternalResistanceIncreaseAtBatteryPackLevel "
                "/TechnicalPropertyAreas/PowerCapability/MaximumPermittedBatteryPower "
                "/TechnicalPropertyAreas/PowerCapability/PowerFade "
                "/TechnicalPropertyAreas/Temperature/TemperatureRangeIdleState_LowerBoundary "
                "/TechnicalPropertyAreas/Temperature/TemperatureRangeIdleState_UpperBoundary "
                "/TechnicalPropertyAreas/Lifetime/CrateOfRelevantCycleLifeTest"
            ),
        ),
    ],
)
def test_impossible_values_are_refused_one_by_one_and_cost_no_others(
    samples: Path, name: str, refused: str
) -> None:
    answer = send((samples / name).read_bytes(), NAMES[name], mime=JSON)

    assert isinstance(answer, Accepted)
    assert [each.where for each in answer.refused] == refused.split()
    assert [fact for fact in answer.facts if fact.fact_type != "Kept" and "defect" not in fact.payload]


def _text(path: Path) -> str:
    content = path.read_bytes()
    return content.decode("utf-16" if content[:1] == b"\xff" else "utf-8")
