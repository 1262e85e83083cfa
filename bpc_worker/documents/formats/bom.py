"""A bill of materials to facts `Component`: what each part is made of, and how heavy it is."""

from collections.abc import Collection, Iterable
from decimal import Decimal

from bpc_worker.core.base import numbers
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, pointer, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import PLAIN, Spelling, text_of
from bpc_worker.documents.reading.json_text import REFUSED
from bpc_worker.documents.reading.record import Record, json_record, present
from bpc_worker.documents.reading.table import Line, lines

_SYNONYMS = {
    "part": ("part", "part_id", "part_no", "part_number", "component", "teil", "teilenummer", "bauteil"),
    "material": ("material", "substance", "werkstoff"),
    "mass_kg": ("mass_kg", "weight_kg", "masse_kg", "gewicht_kg"),
    "mass": ("mass", "weight", "masse", "gewicht"),
    "unit": ("unit", "mass_unit", "einheit"),
    "critical": ("critical", "critical_raw_material", "crm", "kritisch"),
    "renewable": ("renewable", "renewable_content", "erneuerbar"),
}
_COLUMN = {word: name for name, words in _SYNONYMS.items() for word in words}
_KILOGRAMS = {"kg": Decimal(1), "g": Decimal("0.001"), "t": Decimal(1000)}
_SHAPE = '{"components": [{"part", "material", "mass_kg", "critical", "renewable"}, …]}'


def from_csv(text: str, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    found = lines(text, _COLUMN, _needed, limits, problems)
    return _facts(found, spelling, limits, problems)


def from_json(top: Record, limits: Limits) -> list[FoundFact]:
    components = top.values["components"]
    if not isinstance(components, list):
        if components is not REFUSED:
            top.problems.add("/components", f"an array is expected; send {_SHAPE}")
        return []
    return _facts(_items(components, top.problems), PLAIN, limits, top.problems)


def _needed(columns: Collection[str]) -> tuple[str, ...]:
    mass = ("mass", "unit") if "mass" in columns and "mass_kg" not in columns else ("mass_kg",)
    return ("part", "material", *mass, "critical", "renewable")


def without_masses(top: Record, _: Limits) -> list[FoundFact]:
    """A Catena-X SingleLevelBom: a tree of ids, from which no component can be made."""
    top.problems.add(
        "/childItems",
        "a Catena-X SingleLevelBom lists parts by their ids and says nothing of materials and masses; "
        f"send a CSV with part, material, mass_kg, critical, renewable, or JSON {_SHAPE}",
    )
    return []


def _items(components: list[object], problems: Problems) -> Iterable[Line]:
    for index, item in enumerate(components):
        here = pointer(["components", index])
        record = json_record(item, here, problems)
        if record is not None:
            yield Line(record, here)


def _facts(found: Iterable[Line], spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    facts: list[FoundFact] = []
    seen: dict[str, str] = {}
    for line in found:
        part = line.record.need("part", readings.name)
        payload = present(
            material=line.record.need("material", readings.text),
            mass_kg=_mass(line.record, spelling, limits),
            critical=line.record.need("critical", readings.flag),
            renewable=line.record.need("renewable", readings.flag),
        )
        if part is None:
            continue
        first = seen.setdefault(part, line.record.here)
        if first != line.record.here:
            message = (
                f"part {quoted(part)} stands already at {first}; add the masses, or name the parts apart"
            )
            problems.add(line.record.where("part"), message)
        facts.append(
            FoundFact(
                fact_type="Component",
                fact_key=f"component:{part}",
                schema_version=1,
                payload=payload,
                pointer=line.pointer,
            )
        )
    if not facts and not problems:
        problems.add("", "the bill of materials lists no part; add at least one")
    return facts


def _mass(record: Record, spelling: Spelling, limits: Limits) -> str | None:
    """In kilograms: `mass_kg`, or else `mass` and its `unit`, exactly."""
    reading = readings.not_negative(readings.decimals(limits, spelling))
    if "mass_kg" in record.values or "mass" not in record.values:
        kilograms = record.need("mass_kg", reading)
        return None if kilograms is None else text_of(kilograms)
    mass = record.need("mass", reading)
    unit = record.need("unit", readings.one_of(_KILOGRAMS))
    if mass is None or unit is None:
        return None
    return text_of(numbers.multiply(mass, _KILOGRAMS[unit]))
