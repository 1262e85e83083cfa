"""The battery whose passport was attacked when payloads had no salt: its facts, and rules for its fields."""

from pathlib import Path

from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.values import Fact

RULES = (Path(__file__).parent / "attacked.rules").read_text()

_BATTERY = {
    "battery_id": "urn:example:helios:ev78:HLS-EV78-2028-000417", "manufacturer": "Helios Speicherwerke GmbH",
    "manufacturing_place": "Wetzlar, DE", "manufacturing_date": "2028-07-01", "category": "EV",
    "status": "original", "chemistry": "NMC 622 / graphite", "mass_kg": "400.0", "rated_capacity_ah": "213",
    "v_min": "288.0", "v_nom": "366.0", "v_max": "420.0", "usable_kwh": "75.0", "t_idle_min": "-30",
    "t_idle_max": "60", "life_years": "8", "life_cycles": 1500, "vehicle_category": "M1",
}  # fmt: skip
_CRITICAL = {
    "anode-graphite": ("graphite, battery grade", "68.700"), "cathode-cobalt": ("cobalt", "6.150"),
    "cathode-lithium": ("lithium", "8.350"), "cathode-manganese": ("manganese", "16.400"),
    "cathode-nickel": ("nickel", "49.250"), "cooling-plates": ("aluminium, brazed", "17.350"),
    "foil-aluminium": ("aluminium", "19.800"), "foil-copper": ("copper", "38.450"),
    "housing": ("aluminium, cast", "78.600"),
}  # fmt: skip
_OTHER = {"other": ("other", "88.350"), "insulation": ("cellulose fleece", "8.200")}
_STAGES = {"raw_material": "3120.5", "production": "1949.5", "distribution": "610.0", "end_of_life": "-280.0"}


def facts() -> list[Fact]:
    parts = {
        name: {
            "material": material,
            "mass_kg": mass,
            "critical": name in _CRITICAL,
            "renewable": name == "insulation",
        }
        for name, (material, mass) in {**_CRITICAL, **_OTHER}.items()
    }
    return [
        make_fact("Battery", "battery", _BATTERY),
        *(make_fact("Component", f"component:{name}", part) for name, part in parts.items()),
        *(make_fact("PcfStage", f"stage:{name}", {"kg_co2e": kg}) for name, kg in _STAGES.items()),
    ]
