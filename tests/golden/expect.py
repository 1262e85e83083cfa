"""What the passport of each golden battery must say, computed from its documents without bpc_worker.

`python -m tests.golden.expect` writes it to `expected/`; with --check it says whether that is the same.
"""

import json
import sys
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from pathlib import Path

import yaml

from tests.golden.documents import BATTERIES, EXAMPLES, Said, said
from tests.golden.law import DUE_DILIGENCE

DATES = ("2027-02-18", "2028-08-18", "2031-08-18")
FOLDER = Path(__file__).parent / "expected"

# The ending of a name, and the unit that it stands for.
_ENDINGS = {
    "_pct_per_month": "pct_per_month",
    "_per_h": "per_h",
    "_months": "month",
    "_years": "year",
    "_mohm": "mOhm",
    "_kwh": "kWh",
    "_pct": "pct",
    "_ah": "Ah",
    "_kg": "kg",
    "_v": "V",
    "_w": "W",
    "_c": "degC",
}
_PATHS = {
    "performance.usable_kwh": "performance.usable_energy",
    "conformity.declaration_url": "conformity.declaration",
}
_WITH_ITS_UNIT = {"performance.life_years", "measured.life_years"}  # "life" alone would say too little
_WHOLE = {"life_cycles", "cycles", "deep_discharges", "overcharges"}
_MINUTES = {"minutes_hot", "minutes_cold", "minutes_charging_hot", "minutes_charging_cold"}
_NOT_FIELDS = {"instructions.use_url"}  # kept, and not published yet

# Reg. (EU) 2024/1252, Annex II: entries by the materials in these bills, and the elements of the salt.
_ENTRIES = {
    "aluminium": "bauxite/alumina/aluminium",
    "aluminium, cast": "bauxite/alumina/aluminium",
    "aluminium, brazed": "bauxite/alumina/aluminium",
    "antimony": "antimony",
    "cobalt": "cobalt",
    "copper": "copper",
    "graphite": "graphite",
    "graphite, battery grade": "graphite",
    "lithium": "lithium",
    "manganese": "manganese",
    "nickel": "nickel - battery grade",
    "phosphorus": "phosphorus",
    "silicon": "silicon metal",
}
_SALT = "lithium hexafluorophosphate"
_WEIGHTS = {"lithium": Fraction("6.94"), "phosphorus": Fraction("30.974"), "fluorine": Fraction("18.998")}

STAGES = ("raw_material", "production", "distribution", "end_of_life")
_LEAST = {"cobalt": 16, "lithium": 6, "nickel": 6, "lead": 85}
_CYCLES_A_YEAR = {"M1": 60, "N1": 60, "M2": 250}  # draft act Ares(2024)3131389


def expected(battery: str) -> dict[str, dict[str, object]]:
    """By law date: what is published under each path, and under `kept` what nobody sees."""
    documents = said(battery)
    return {day: dict(sorted(_on(battery, documents, day).items())) for day in DATES}


def _on(battery: str, documents: Said, day: str) -> dict[str, object]:
    fields = _declared(documents) | _measured(documents) | _company(battery) | _computed(documents)
    fields |= _lists(documents) | _findings(documents, day) | _kept(documents)
    if day < DUE_DILIGENCE:
        for path in ("due_diligence.report_url", "due_diligence.summary", "due_diligence.period"):
            fields.pop(path, None)
    return fields


def class_of(documents: Said) -> str:
    category = str(documents.values["identity.category"])
    stationary = documents.values["condition.stationary"] is True
    return category if category != "INDUSTRIAL" else "stationary" if stationary else "industrial"


def quantity(value: object, unit: str) -> dict[str, str]:
    return {"unit": unit, "value": str(value)}


def _declared(documents: Said) -> dict[str, object]:
    """A value under its name without the unit."""
    found: dict[str, object] = {}
    for name, value in documents.values.items():
        if name in _NOT_FIELDS or name.startswith(("carbon.", "recycled.")):
            continue
        ending = next((each for each in _ENDINGS if name.endswith(each)), "")
        path = name if name in _WITH_ITS_UNIT else name.removesuffix(ending)
        path = _PATHS.get(name, path)
        found[path] = quantity(value, _ENDINGS[ending]) if ending else value
        if name == "performance.life_cycles":
            found[path] = int(str(value))
    return found


def _measured(documents: Said) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, told in documents.measured.items():
        ending = next((each for each in _ENDINGS if name.endswith(each)), "")
        path = f"measured.{name}"
        value: object = quantity(told["value"], _ENDINGS[ending]) if ending else told["value"]
        if name in _WHOLE:
            value = int(told["value"])
        elif name in _MINUTES:
            value = quantity(told["value"], "min")
        elif name == "full_cycles":
            value = quantity(told["value"], "cycles")
        path = path if path in _WITH_ITS_UNIT else path.removesuffix(ending)
        found[path] = told | {"value": value}
    found["measured.last_measured_at"] = max(told["measured_at"] for told in documents.measured.values())
    return found


def company(battery: str) -> Mapping[str, Mapping[str, object]]:
    """Who makes it and where, and what the product is called: of `companies.yaml`."""
    told = yaml.safe_load((EXAMPLES / "companies.yaml").read_text(encoding="utf-8"))
    found: Mapping[str, Mapping[str, object]] = told[battery]
    return found


def _company(battery: str) -> dict[str, object]:
    told = company(battery)
    operator, facility = told["operator"], told["facility"]
    recipe = yaml.safe_load((EXAMPLES / battery / "passport.yaml").read_text(encoding="utf-8"))
    return {
        "identity.serial": recipe["passport"],
        "identity.model": told["product"]["model_identifier"],
        "registry.commodity_code": told["product"]["commodity_code"],
        "operator.name": operator["name"],
        "operator.identifiers": _identifiers(operator["identifiers"]),
        "facility.identifiers": _identifiers(facility["identifiers"]),
    }


def _identifiers(by_scheme: object) -> list[dict[str, str]]:
    assert isinstance(by_scheme, dict)
    order = ("GLN", "LEI", "EORI", "VAT", "DUNS")
    return [{"scheme": each, "value": by_scheme[each]} for each in order if each in by_scheme]


def _number(documents: Said, name: str) -> Fraction:
    return Fraction(str(documents.values[name]))


def rounded(value: Fraction, digits: int) -> str:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return str(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN))


def _computed(documents: Said) -> dict[str, object]:
    energy = _number(documents, "performance.rated_capacity_ah") * _number(
        documents, "performance.voltage_nominal_v"
    )
    mass = _number(documents, "composition.mass_kg")
    parts = [(each, Fraction(str(each["mass_kg"]))) for each in documents.components]
    found: dict[str, object] = {
        "identity.class": class_of(documents),
        "performance.energy": quantity(rounded(energy / 1000, 3), "kWh"),
        "performance.power_energy_ratio": quantity(
            rounded(_number(documents, "performance.power_at_80_w") / energy, 2), "W_per_Wh"
        ),
        "composition.critical_raw_materials": _critical(documents, mass),
    }
    if "composition.renewable_pct" not in documents.values:
        renewable = sum((kg for each, kg in parts if each["renewable"]), Fraction(0))
        found["composition.renewable"] = quantity(rounded(100 * renewable / mass, 2), "pct")
    return found


def _lists(documents: Said) -> dict[str, object]:
    """In the order of their keys; what is not said of a row is null."""
    parts = sorted(documents.components, key=lambda each: str(each["part"]))
    substances = sorted(documents.substances, key=lambda each: f"{each['name']} {each['location']}")
    sources = sorted(documents.spare_sources, key=lambda each: str(each["name"]))
    return {
        "composition.components": [
            {
                "part": each["part"],
                "material": each["material"],
                "mass": quantity(each["mass_kg"], "kg"),
                "cas": each.get("cas"),
                "role": each["role"],
            }
            for each in parts
        ],
        "composition.part_numbers": [
            {"part": each["part"], "part_number": each["part_number"]} for each in parts
        ],
        "composition.hazardous_substances": [
            {
                **{name: each.get(name) for name in ("name", "class", "cas", "ec", "location")},
                "share": quantity(each["share_pct"], "pct"),
            }
            for each in substances
        ],
        "spares.sources": [
            {name: each.get(name) for name in ("name", "address", "contact", "web")} for each in sources
        ],
    }


def _findings(documents: Said, day: str) -> dict[str, object]:
    """What the rules check, and what conditions say that nobody declared. All holds of these batteries."""
    cadmium, lead = (_number(documents, f"composition.{metal}_pct") for metal in ("cadmium", "lead"))
    found: dict[str, object] = {
        "completeness.missing_required": 0,
        "composition.critical_names_known": True,
        "composition.mass_balanced": True,
        "composition.roles_named": True,
        "identity.category_fits": True,
        "identity.passport_required": True,
        "identity.predecessor_linked": True,
        "condition.backup_kept": False,
        "condition.facility_named": True,
        "condition.has_predecessor": False,
        "condition.in_use": False,
        "condition.measured": True,
        "label.cd_pb_symbols": {
            "cadmium": cadmium > Fraction("0.002"),
            "lead": lead > Fraction("0.004"),
        },
    }
    if "performance.usable_kwh" in documents.values:
        found["performance.usable_plausible"] = True
    return found | _minimums(documents, day)


def _minimums(documents: Said, day: str) -> dict[str, object]:
    """Art. 8(2): from 2031-08-18 on, for LMT from 2036 on; checked where a share is declared."""
    if day < "2031-08-18" or class_of(documents) == "LMT":
        return {}
    declared = {
        metal: _number(documents, f"recycled.{metal}_pct")
        for metal in _LEAST
        if f"recycled.{metal}_pct" in documents.values
    }
    found: dict[str, object] = {
        f"recycled.{metal}_suffices": share >= _LEAST[metal] for metal, share in declared.items()
    }
    found["recycled.minimum"] = {metal: quantity(least, "pct") for metal, least in _LEAST.items()}
    return found


def _critical(documents: Said, mass: Fraction) -> list[str]:
    """Of more than 0.1 % in all parts together."""
    sums: dict[str, Fraction] = {}
    for part in documents.components:
        kg = Fraction(str(part["mass_kg"]))
        if part["material"] == _SALT:
            whole = _WEIGHTS["lithium"] + _WEIGHTS["phosphorus"] + 6 * _WEIGHTS["fluorine"]
            for element in ("lithium", "phosphorus"):
                sums[element] = sums.get(element, Fraction(0)) + kg * _WEIGHTS[element] / whole
        elif entry := _ENTRIES.get(str(part["material"])):
            sums[entry] = sums.get(entry, Fraction(0)) + kg
    return sorted(entry for entry, kg in sums.items() if 100 * kg / mass > Fraction("0.1"))


def _kept(documents: Said) -> dict[str, object]:
    """What was declared of points that are not asked yet: for nobody, and not lost."""
    values = documents.values
    found: dict[str, object] = {
        f"kept.{name}": values[name]
        for name in (
            "carbon.plant",
            "carbon.declaration_id",
            "carbon.study_url",
            "carbon.performance_class",
            "due_diligence.report_url",
            "due_diligence.summary",
        )
        if name in values
    }
    found["kept.carbon.manufacturer"] = values["manufacturer.name"]
    found["kept.instructions.use"] = values["instructions.use_url"]
    for metal in ("cobalt", "lithium", "nickel", "lead"):
        if f"recycled.{metal}_pct" in values:
            found[f"kept.recycled.{metal}"] = quantity(values[f"recycled.{metal}_pct"], "pct")
    return found | _footprint(documents)


def _footprint(documents: Said) -> dict[str, object]:
    """Annex II, with the energy over the service life by the draft act (EV) and by the JRC (industrial)."""
    total = sum((_number(documents, f"carbon.{stage}_kg") for stage in STAGES), Fraction(0))
    found: dict[str, object] = {
        **{
            f"kept.carbon.{stage}": quantity(documents.values[f"carbon.{stage}_kg"], "kgCO2e")
            for stage in STAGES
        },
        "kept.carbon.total": quantity(_plain(total), "kgCO2e"),
        "kept.carbon.absolute": quantity(rounded(total / 1000, 3), "tCO2e"),
    }
    energy = _energy_over_life(documents)
    if energy is not None:
        found["kept.carbon.total_energy"] = quantity(_plain(energy), "kWh")
        found["kept.carbon.per_kwh"] = quantity(rounded(total / energy, 4), "kgCO2e_per_kWh")
    return found


def _energy_over_life(documents: Said) -> Fraction | None:
    """There is no method for LMT, and none without the energy of one discharge."""
    battery_class = class_of(documents)
    if battery_class == "LMT" or "performance.usable_kwh" not in documents.values:
        return None
    usable = _number(documents, "performance.usable_kwh")
    if battery_class == "EV":
        yearly = _CYCLES_A_YEAR[str(documents.values["identity.vehicle_category"])]
        return usable * yearly * _number(documents, "performance.warranty_months") / 12
    return usable * _number(documents, "performance.life_cycles")


def _plain(value: Fraction) -> str:
    return format(Decimal(value.numerator) / Decimal(value.denominator), "f")


def text(battery: str) -> str:
    return json.dumps(expected(battery), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def main() -> int:
    wrong = []
    for battery in BATTERIES:
        file = FOLDER / f"{battery}.json"
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            file.write_text(text(battery), encoding="utf-8")
        elif file.read_text(encoding="utf-8") != text(battery):
            wrong.append(battery)
    print(f"not what the documents give: {', '.join(wrong)}" if wrong else "as the documents give it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
