"""The examples that come with the worker: one coherent invented battery each."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.values import Fact
from tests.support.passports import compiled

from .sending import facts

FOLDER = Path(__file__).parents[2] / "support" / "battery"
PASSPORT: dict[str, Any] = yaml.safe_load((FOLDER / "passport.yaml").read_text())


def example_facts() -> list[Fact]:
    found = []
    for each in PASSPORT["documents"]:
        content = (FOLDER / each["file"]).read_bytes()
        answer = facts(content, each["kind"], mime=each["mime_type"], number_format=each.get("number_format"))
        found += [make_fact(fact.fact_type, fact.fact_key, fact.payload) for fact in answer]
    return found


def test_the_parts_of_the_car_battery_weigh_what_it_weighs() -> None:
    found = example_facts()
    parts = sum(Decimal(str(fact.payload["mass_kg"])) for fact in found if fact.fact_type == "Component")
    [whole] = [
        Decimal(str(fact.payload["value"])) for fact in found if fact.fact_key == "composition.mass_kg"
    ]

    assert abs(parts - whole) <= whole / 100


def test_the_car_battery_gives_the_worked_figures() -> None:
    made = compiled(example_facts(), law_date=PASSPORT["law_date"])
    payload = json.loads(made.payload)

    kept = payload["fields"]["kept"]["carbon"]
    assert kept["per_kwh"] == {"unit": "kgCO2e_per_kWh", "value": "0.1500"}
    assert kept["total_energy"] == {"unit": "kWh", "value": "36000.0"}
    assert all(statement["holds"] for statement in payload["compliance"])
