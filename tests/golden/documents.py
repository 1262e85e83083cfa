"""What the documents of a golden battery say, by name: read once more, without anything of bpc_worker."""

import csv
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import yaml

EXAMPLES = Path(__file__).parents[2] / "bpc_worker" / "demo" / "examples"
BATTERIES = ("ev", "lmt", "stationary", "industrial")

_STAGES = ("raw_material", "production", "distribution", "end_of_life")
_CELLS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_GERMAN = {
    "Teil": "part",
    "Teilenummer": "part_number",
    "Werkstoff": "material",
    "CAS": "cas",
    "Rolle": "role",
    "mass [kg]": "mass_kg",
    "Masse": "mass",
    "Einheit": "unit",
    "erneuerbar": "renewable",
}
_WORDS = {"yes": True, "ja": True, "true": True, "no": False, "nein": False, "false": False}
# What the data sheet of the car battery calls its rows.
_TITLES = {
    "rated capacity": "performance.rated_capacity_ah",
    "minimal voltage": "performance.voltage_min_v",
    "nominal voltage": "performance.voltage_nominal_v",
    "maximum voltage": "performance.voltage_max_v",
    "lowest temperature for which the voltages hold": "performance.voltage_temperature_min_c",
    "highest temperature for which the voltages hold": "performance.voltage_temperature_max_c",
    "original power capability at 80 % state of charge": "performance.power_at_80_w",
    "original power capability at 20 % state of charge": "performance.power_at_20_w",
    "power limit": "performance.power_limit_w",
    "lowest temperature for which the power limit holds": "performance.power_limit_temperature_min_c",
    "highest temperature for which the power limit holds": "performance.power_limit_temperature_max_c",
    "expected lifetime in cycles": "performance.life_cycles",
    "reference test for the lifetime in cycles": "performance.life_cycles_test",
    "C-rate of the cycle-life test": "performance.c_rate_per_h",
    "capacity threshold for exhaustion": "performance.exhaustion_threshold_pct",
    "lowest temperature when not in use": "performance.idle_temperature_min_c",
    "highest temperature when not in use": "performance.idle_temperature_max_c",
    "reference test for the temperatures when not in use": "performance.idle_temperature_test",
    "commercial warranty for the calendar life": "performance.warranty_months",
    "expected calendar life": "performance.life_years",
    "initial round trip energy efficiency": "performance.efficiency_initial_pct",
    "round trip energy efficiency at half of the cycle life": "performance.efficiency_half_life_pct",
    "internal resistance of a cell": "performance.resistance_cell_mohm",
    "internal resistance of the pack": "performance.resistance_pack_mohm",
    "energy that one full discharge delivers": "performance.usable_kwh",
}


@dataclass(frozen=True)
class Said:
    """Numbers as texts with a point, as they were written otherwise."""

    values: dict[str, object] = field(default_factory=dict)
    measured: dict[str, dict[str, str]] = field(default_factory=dict)
    components: list[dict[str, object]] = field(default_factory=list)
    substances: list[dict[str, object]] = field(default_factory=list)
    spare_sources: list[dict[str, object]] = field(default_factory=list)


def said(battery: str) -> Said:
    folder = EXAMPLES / battery
    recipe = yaml.safe_load((folder / "passport.yaml").read_text(encoding="utf-8"))
    found = Said()
    for entry in recipe["documents"]:
        file, german = folder / entry["file"], entry.get("number_format") == "1.234,56"
        titles = _TITLES | _mapped(folder, entry.get("mapping"))
        if file.suffix == ".json":
            _read_json(json.loads(file.read_text(encoding="utf-8")), found)
        else:
            _read_table(entry["kind"], list(_rows(file)), titles, found, german=german)
    return found


def _read_json(document: dict[str, object], found: Said) -> None:
    for group, members in document.get("battery", {}).items():  # type: ignore[attr-defined]
        found.values.update({f"{group}.{name}": value for name, value in members.items()})
    for stage, told in document.get("stages", {}).items():  # type: ignore[attr-defined]
        found.values[f"carbon.{stage}_kg"] = told["kg_co2e"]
    if "report_url" in document:
        renamed = {name.removeprefix("third_party_"): value for name, value in document.items()}
        found.values.update({f"due_diligence.{name}": value for name, value in renamed.items()})
    found.components.extend(document.get("components", []))  # type: ignore[arg-type]
    found.substances.extend(document.get("substances", []))  # type: ignore[arg-type]
    found.spare_sources.extend(document.get("spare_sources", []))  # type: ignore[arg-type]


def _rows(file: Path) -> Iterator[dict[str, str]]:
    if file.suffix == ".xlsx":
        header, *rows = _sheet(file)
        return (dict(zip(header, row, strict=True)) for row in rows)
    text = file.read_text(encoding="utf-8")
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    return csv.DictReader(StringIO(text), delimiter=delimiter)


def _sheet(file: Path) -> list[list[str]]:
    with zipfile.ZipFile(file) as archive:
        shared = ET.fromstring(archive.read("xl/sharedStrings.xml"))  # noqa: S314 - our own
        texts = ["".join(part.text or "" for part in each.iter(f"{_CELLS}t")) for each in shared]
        sheet = ET.fromstring(archive.read("xl/worksheets/sheet1.xml"))  # noqa: S314 - our own
    return [[_cell(cell, texts) for cell in row] for row in sheet.iter(f"{_CELLS}row")]


def _cell(cell: ET.Element, texts: list[str]) -> str:
    text = cell.findtext(f"{_CELLS}v") or ""
    return texts[int(text)] if cell.get("t") == "s" else text


def _mapped(folder: Path, name: str | None) -> dict[str, str]:
    if name is None:
        return {}
    names: dict[str, str] = yaml.safe_load((folder / name).read_text(encoding="utf-8"))["names"]
    return names


def _read_table(
    kind: str, rows: list[dict[str, str]], titles: dict[str, str], found: Said, *, german: bool
) -> None:
    def plain(cell: str) -> str:
        return cell.replace(".", "").replace(",", ".") if german and _is_number(cell) else cell

    for row in rows:
        if kind == "BOM":
            found.components.append(_component({_GERMAN.get(k, k): plain(v) for k, v in row.items() if v}))
        elif kind == "PCF":
            assert row["stage"] in _STAGES
            found.values[f"carbon.{row['stage']}_kg"] = plain(row["kg_co2e"])
        elif kind == "MEASUREMENTS":
            found.measured[row["name"]] = {
                "value": plain(row["value"]),
                "measured_at": row["measured_at"],
                "source": row["source"],
            }
        else:
            title, cell, _ = row.values()
            found.values[titles.get(title, title)] = _WORDS.get(cell, plain(cell))


def _is_number(cell: str) -> bool:
    return bool(cell) and set(cell) <= set("-0123456789.,") and not cell.endswith((".", ","))


def _component(row: dict[str, str]) -> dict[str, object]:
    made: dict[str, object] = dict(row)
    if row.get("unit") == "g":
        grams = Decimal(row["mass"])
        made = {name: value for name, value in made.items() if name not in {"mass", "unit"}}
        made["mass_kg"] = str(grams / 1000)
    for name in ("renewable", "critical"):
        if name in row:
            made[name] = _WORDS[row[name]]
    return made
