"""What a battery is and can do, to the fact `Battery` that the rules read."""

from collections.abc import Callable

from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import text_of
from bpc_worker.documents.reading.record import Record

_CATEGORIES = ("EV", "LMT", "INDUSTRIAL", "INDUSTRIAL_EXTERNAL_STORAGE")
_STATUSES = ("original", "repurposed", "re-used", "remanufactured", "waste")
_VEHICLES = ("L", "M1", "M2", "M3", "N1", "N2", "N3")


def from_json(top: Record, limits: Limits) -> list[FoundFact]:
    top.only(("battery",))
    battery = top.inner("battery")
    if battery is None:
        return []
    needed, optional = _needed(limits), _optional(limits)
    battery.only((*needed, *optional))
    payload = {name: battery.need(name, reading) for name, reading in needed.items()}
    payload |= {name: battery.may(name, reading) for name, reading in optional.items()}
    return [
        FoundFact(
            fact_type="Battery",
            fact_key="battery",
            schema_version=1,
            payload={name: found for name, found in payload.items() if found is not None},
            pointer="/battery",
        )
    ]


def _needed(limits: Limits) -> dict[str, Callable[[object], object]]:
    decimal = _decimal_text(limits)
    return {
        "battery_id": readings.name,
        "manufacturer": readings.text,
        "manufacturing_place": readings.text,
        "manufacturing_date": readings.day,
        "category": readings.one_of(_CATEGORIES),
        "status": readings.one_of(_STATUSES),
        "chemistry": readings.text,
        "mass_kg": decimal,
        "rated_capacity_ah": decimal,
        "v_min": decimal,
        "v_nom": decimal,
        "v_max": decimal,
        "t_idle_min": decimal,
        "t_idle_max": decimal,
    }


def _optional(limits: Limits) -> dict[str, Callable[[object], object]]:
    decimal = _decimal_text(limits)
    return {
        "usable_kwh": decimal,
        "life_years": decimal,
        "life_cycles": readings.whole,
        "vehicle_category": readings.one_of(_VEHICLES),
    }


def _decimal_text(limits: Limits) -> Callable[[object], str]:
    number = readings.decimals(limits)
    return lambda value: text_of(number(value))
