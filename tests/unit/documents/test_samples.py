"""Published samples, which real software made: what is taken, and what is refused."""

from pathlib import Path

import pytest

from tests.support.published import published

from .sending import JSON, one_fact, places, problem


@pytest.fixture
def samples() -> Path:
    return published("samples")


def test_general_product_information_is_taken(samples: Path) -> None:
    content = (samples / "batterypass-general-product-information-1.2.0.json").read_bytes()
    fact = one_fact(content, "OTHER", mime=JSON)

    assert fact.fact_key == "aspect:GeneralProductInformation"
    assert fact.payload["batteryMass"] == 699


def test_a_footprint_of_catena_x_is_taken(samples: Path) -> None:
    fact = one_fact((samples / "catenax-pcf-9.0.0.json").read_bytes(), "PCF", mime=JSON)

    assert fact.fact_key == "footprint:3893bb5d-da16-4dc1-9185-11d97476c254"
    assert fact.payload["excluding_biogenic"] == "2.9"


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        (
            "batterypass-carbon-footprint-1.2.0.json",
            [
                "/carbonFootprintPerLifecycleStage/0/carbonFootprint",
                "/absoluteCarbonFootprint",
                "/batteryCarbonFootprint",
            ],
        ),
        (
            "batterypass-material-composition-1.2.0.json",
            ["/hazardousSubstances/0/hazardousSubstanceConcentration"],
        ),
        ("catenax-battery-pass-6.1.0.json", ["/operation/intoServiceDate"]),
    ],
)
def test_impossible_values_are_named_one_by_one(samples: Path, name: str, bad: list[str]) -> None:
    assert places((samples / name).read_bytes(), "OTHER", mime=JSON) == bad


def test_a_tree_of_ids_is_refused_with_advice(samples: Path) -> None:
    content = (samples / "catenax-single-level-bom-as-built-4.0.0.json").read_bytes()

    assert "send a CSV with part, material, mass_kg" in problem(content, "BOM", mime=JSON)[1]
