"""A bill of materials to facts `Component`: what each part is made of, and how heavy it is."""

from collections.abc import Collection, Iterable
from decimal import Decimal

from bpc_worker.core.base import numbers
from bpc_worker.documents import values
from bpc_worker.documents.formats.lists import share
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, pointer, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import PLAIN, Spelling, text_of
from bpc_worker.documents.reading.json_text import REFUSED
from bpc_worker.documents.reading.record import Record, json_record, present
from bpc_worker.documents.reading.table import Line, Sheet, lines
from bpc_worker.documents.vocabulary import ROLES

_SYNONYMS = {
    "part": ("part", "part_id", "component", "teil", "bauteil"),
    "part_number": ("part_number", "part_no", "teilenummer"),
    "material": ("material", "substance", "werkstoff"),
    "mass_kg": ("mass_kg", "weight_kg", "masse_kg", "gewicht_kg"),
    "mass_g": ("mass_g", "weight_g", "masse_g", "gewicht_g"),
    "mass": ("mass", "weight", "masse", "gewicht"),
    "unit": ("unit", "mass_unit", "einheit"),
    "cas": ("cas", "cas_number", "cas_no", "cas_nummer"),
    "role": ("role", "rolle"),
    "critical": ("critical", "critical_raw_material", "crm", "kritisch"),
    "renewable": ("renewable", "renewable_content", "erneuerbar"),
    "recycled_pct": ("recycled_pct", "recycled_content_pct", "recycled_share"),
}
COLUMNS = {word: name for name, words in _SYNONYMS.items() for word in words}
_KILOGRAMS = {"kg": Decimal(1), "g": Decimal("0.001"), "t": Decimal(1000)}
_MASSES = ("mass_kg", "mass_g", "mass")  # the first that is there is read
_SHAPE = '{"components": [{"part", "material", "mass_kg"}, …]}'


def from_table(sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    found = lines(sheet, COLUMNS, _needed, problems)
    return _facts(found, spelling, limits, problems)


def from_json(top: Record, limits: Limits) -> list[FoundFact]:
    top.only(("components",))
    components = top.values["components"]
    if not isinstance(components, list):
        if components is not REFUSED:
            top.problems.add("/components", f"an array is expected; send {_SHAPE}")
        return []
    return _facts(_items(components, top.problems), PLAIN, limits, top.problems)


def _needed(columns: Collection[str]) -> tuple[str, ...]:
    mass = next((name for name in _MASSES if name in columns), "mass_kg")
    return (_part_column(columns), "material", mass, *(["unit"] if mass == "mass" else []))


def _part_column(columns: Collection[str]) -> str:
    """A list may name its parts by their numbers alone."""
    return "part_number" if "part_number" in columns and "part" not in columns else "part"


def _items(components: list[object], problems: Problems) -> Iterable[Line]:
    for index, item in enumerate(components):
        here = pointer(["components", index])
        record = json_record(item, here, problems)
        if record is not None:
            record.only(_SYNONYMS)
            yield Line(record, here, record.where, {})


def _facts(found: Iterable[Line], spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    facts: list[FoundFact] = []
    seen: dict[str, str] = {}
    for line in found:
        payload = _component(line, spelling, limits)
        part = payload.get("part")
        if not isinstance(part, str):
            continue
        first = seen.setdefault(part, line.record.here)
        if first != line.record.here:
            message = (
                f"part {quoted(part)} stands already at {first}; add the masses, or name the parts apart"
            )
            problems.add(line.record.where(_part_column(line.record.values)), message)
        facts.append(values.row_fact("Component", f"component:{part}", payload, line.pointer))
    if not facts and not problems:
        problems.add("", "the bill of materials lists no part; add at least one")
    return facts


def _component(line: Line, spelling: Spelling, limits: Limits) -> dict[str, object]:
    record = line.record
    return present(
        part=record.need(_part_column(record.values), readings.name),
        material=record.need("material", readings.text),
        mass_kg=_mass(record, spelling, limits),
        part_number=record.may("part_number", readings.name),
        cas=record.may("cas", readings.cas),
        role=record.may("role", readings.one_of(ROLES)),
        critical=record.may("critical", readings.flag),
        renewable=record.may("renewable", readings.flag),
        recycled_pct=record.may("recycled_pct", lambda value: share(value, limits, spelling)),
        further=_further(line) or None,
    )


def _further(line: Line) -> dict[str, object]:
    """What is not read stays beside it: other columns, and a second mass."""
    given = line.record.values
    read = next((name for name in _MASSES if name in given), None)
    second = [name for name in (*_MASSES, "unit") if name != read and (name != "unit" or read != "mass")]
    return {name: given[name] for name in second if given.get(name)} | dict(line.further)


def _mass(record: Record, spelling: Spelling, limits: Limits) -> str | None:
    """In kilograms: `mass_kg` or `mass_g`, or else `mass` and its `unit`, exactly."""
    reading = readings.not_negative(readings.decimals(limits, spelling))
    name = next((name for name in _MASSES if name in record.values), "mass_kg")
    mass = record.need(name, reading)
    unit = record.need("unit", readings.one_of(_KILOGRAMS)) if name == "mass" else name[len("mass_") :]
    if mass is None or unit is None:
        return None
    return text_of(numbers.multiply(mass, _KILOGRAMS[unit]))
