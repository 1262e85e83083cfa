"""A published form of a carbon footprint to the fact `ProductFootprint`, whichever form it has."""

import re
from collections.abc import Callable, Mapping

from bpc_worker.documents.formats.footprint_layouts import CATENA_X_7, CATENA_X_9, PACT_2, PACT_3, Layout
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Unfit, pointer, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import text_of
from bpc_worker.documents.reading.json_text import REFUSED
from bpc_worker.documents.reading.record import Record, json_record

_MOST_IDS = 100
_MOST_FOOTPRINTS = 10_000
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ABSENT = object()


def from_json(top: Record, limits: Limits) -> list[FoundFact]:
    """One footprint, as the whole document."""
    return _footprint(top, limits)


def from_list(top: Record, limits: Limits) -> list[FoundFact]:
    """A PACT answer: footprints in `data`."""
    listed = top.values["data"]
    if not isinstance(listed, list) or not listed:
        top.problems.add("/data", "data must be an array of footprints that is not empty")
        return []
    if len(listed) > _MOST_FOOTPRINTS:
        top.problems.too_large(
            "/data", f"more than {_MOST_FOOTPRINTS} footprints; send them in several documents"
        )
        return []
    facts: dict[str, FoundFact] = {}
    for index, item in enumerate(listed):
        record = json_record(item, pointer(["data", index]), top.problems)
        for fact in [] if record is None else _footprint(record, limits):
            if facts.setdefault(fact.fact_key, fact) is not fact:
                message = "this footprint stands already in the list; keep its newest version"
                top.problems.add(fact.pointer, message)
    return list(facts.values())


def _footprint(found: Record, limits: Limits) -> list[FoundFact]:
    layout = _layout(found.values)
    record = _flat(found, layout)
    payload = _payload(record, layout, limits)
    start, end = payload["period_start"], payload["period_end"]
    if isinstance(start, str) and isinstance(end, str) and start > end:
        record.problems.add(record.where(layout.paths["period_end"]), "the period ends before it starts")
    key = payload["id"]
    if not isinstance(key, str):
        return []
    kept = {name: value for name, value in payload.items() if value is not None}
    return [
        FoundFact(
            fact_type="ProductFootprint",
            fact_key=f"footprint:{key}",
            schema_version=1,
            payload=kept | {"form": layout.form},
            pointer=found.here,
        )
    ]


def _layout(values: Mapping[str, object]) -> Layout:
    if "pcf" not in values:
        return CATENA_X_9
    version = values.get("specVersion")
    text = version if isinstance(version, str) else ""
    return next((each for each in (PACT_2, CATENA_X_7) if each.spec_version.fullmatch(text)), PACT_3)


def _flat(found: Record, layout: Layout) -> Record:
    """The values by their paths, so that a message names the path that its reader knows."""
    every = {path: _at(found.values, path) for path in layout.paths.values()}
    values = {path: value for path, value in every.items() if value is not _ABSENT}
    return Record(values, found.here, lambda path: f"{found.here}/{path}", found.problems)


def _at(values: object, path: str) -> object:
    for step in path.split("/"):
        if values is REFUSED:
            return REFUSED
        if isinstance(values, list):
            values = values[0] if values and step == "0" else _ABSENT
        else:
            values = values.get(step, _ABSENT) if isinstance(values, Mapping) else _ABSENT
    return values


def _payload(record: Record, layout: Layout, limits: Limits) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, reading in _readings(layout, limits).items():
        take = record.may if name in layout.optional else record.need
        found[name] = take(layout.paths[name], reading)
    return found


def _readings(layout: Layout, limits: Limits) -> dict[str, Callable[[object], object]]:
    decimal = readings.decimals(limits)
    return {
        "id": _uuid,
        "spec_version": _spec_version(layout),
        "version": readings.whole,
        "created": readings.moment,
        "status": readings.one_of(("Active", "Deprecated")),
        "company_name": readings.text,
        "company_ids": _texts,
        "product_name": readings.text,
        "product_ids": _texts,
        "period_start": readings.moment,
        "period_end": readings.moment,
        "declared_unit": readings.one_of(layout.units),
        "declared_amount": lambda value: text_of(readings.positive(decimal)(value)),
        "mass_kg_per_unit": lambda value: text_of(readings.not_negative(decimal)(value)),
        "excluding_biogenic": lambda value: text_of(decimal(value)),
        "including_biogenic": lambda value: text_of(decimal(value)),
    }


def _uuid(value: object) -> str:
    found = readings.text(value)
    if not _UUID.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not a UUID; write it like 3f2b8c1e-5d47-4a90-8e63-0c9a7d514b26")
    return found.lower()


def _spec_version(layout: Layout) -> Callable[[object], str]:
    def version(value: object) -> str:
        found = readings.text(value)
        if not layout.spec_version.fullmatch(found):
            known = "PACT 2.x.y and 3.x.y, and urn:io.catenax.pcf:datamodel:version:7.x.y to 9.x.y"
            raise Unfit(f"{quoted(found)} is not a version that is read here; known are {known}")
        return found

    return version


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_IDS:
        raise Unfit(f"an array of 1 to {_MOST_IDS} texts is expected")
    if REFUSED in value:
        raise Unfit("one of its texts cannot be read")
    return [readings.text(each) for each in value]
