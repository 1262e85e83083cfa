"""What the law asks of a battery, point by point, written once more by hand: nothing of bpc_worker is read.

From Annexes IV, VI, VII and XIII of Reg. (EU) 2023/1542 as the Commission's guidance v2.0 of 2026-08-15 lists
them. Where no act is adopted a point is not asked on any day.
"""

from collections.abc import Mapping
from enum import StrEnum

CLASSES = ("EV", "LMT", "industrial", "stationary")
PASSPORTS, DUE_DILIGENCE = "2027-02-18", "2027-08-18"


class Standing(StrEnum):
    REQUIRED = "required"
    UNKNOWN = "condition_unknown"
    NOT_APPLICABLE = "not_applicable"
    OPTIONAL = "optional"
    NOT_YET = "not_yet"
    NOT = "not"


def _points(prefix: str, text: str) -> tuple[str, ...]:
    """`1-3 5a` are 1, 2, 3 and 5a."""
    found: list[str] = []
    for part in text.split():
        first, _, last = part.partition("-")
        numbers = range(int(first), int(last) + 1) if last else ()
        found += [f"{number:02d}" for number in numbers] or [part.rjust(2 + part[-1].isalpha(), "0")]
    return tuple(f"{prefix}-{each}" for each in found)


_ALL = (
    *_points("EC", "1-17 17a 17b 17c 17d 17e 17f 17g 18-43 43a 43b 43c 43d 43e 43f 44-48"),
    *_points("EC", "48a 48b 48c 48d 48e 48f 49-71"),
    *_points("L", "1-18"),
    *_points("R", "1-13"),
)
POINTS = tuple(dict.fromkeys(_ALL))

_NEVER = _points("EC", "16 25")
_PENDING = (*_points("EC", "17 17a 17b 17c 17d 17e 17f 17g 18 20-23 44"), "L-16")
_VOLUNTARY = ("EC-05", *_points("L", "10 15 17 18"))
_OF_CARS = _points("EC", "33 61")
_OF_CARS_VOLUNTARY = _points("L", "11 12")
_OF_SMALL_STORES_VOLUNTARY = _points("L", "13 14")  # LMT and stationary
_STATE_OF_HEALTH = _points("EC", "62-66")
_IN_THE_BMS = _points("L", "1-9")
_CYCLES = _points("EC", "31 32 36 37 39")
_DURABILITY = _points("EC", "51-56 60")
_DURABILITY_IN_CYCLES = ("EC-59",)
_USE = _points("EC", "68-71")

_CONDITIONS = {
    "EC-19": "due_diligence_owed",
    "EC-35": "warranty_given",
    "EC-41": "contains_cd or contains_pb",
    "EC-57": "rechargeable and cycle_use",
    "EC-58": "rechargeable and cycle_use",
    **dict.fromkeys(_USE, "in_use and measured"),
    "R-03": "facility_named",
    "R-10": "backup_kept",
    "R-11": "has_predecessor",
    "R-13": "measured",
}
_INDUSTRIAL_CONDITIONS = {
    **dict.fromkeys(_CYCLES, "cycle_use and not external_storage_only"),
    **dict.fromkeys(_DURABILITY, "rechargeable"),
    **dict.fromkeys(_DURABILITY_IN_CYCLES, "rechargeable and cycle_use"),
    **dict.fromkeys(_STATE_OF_HEALTH, "stationary and bms"),
}


def standing(point: str, battery_class: str, day: str, conditions: Mapping[str, bool]) -> Standing:
    """`conditions`: those that are known."""
    word = _word(point, battery_class, day)
    if word is not Standing.REQUIRED:
        return word
    condition = _condition(point, battery_class)
    if condition is None:
        return word
    known = _holds(condition, conditions)
    return Standing.UNKNOWN if known is None else word if known else Standing.NOT_APPLICABLE


def _word(point: str, battery_class: str, day: str) -> Standing:
    small_store = battery_class in {"LMT", "stationary"}
    if point in _PENDING or (point == "EC-19" and day < DUE_DILIGENCE):
        return Standing.NOT_YET
    if point in _VOLUNTARY or (point in _OF_CARS_VOLUNTARY and battery_class == "EV"):
        return Standing.OPTIONAL
    if point in _OF_SMALL_STORES_VOLUNTARY and small_store:
        return Standing.OPTIONAL
    nowhere = point in _NEVER or point in _OF_CARS_VOLUNTARY or point in _OF_SMALL_STORES_VOLUNTARY
    elsewhere = (
        (point in _OF_CARS and battery_class != "EV")
        or (point in _STATE_OF_HEALTH and battery_class == "EV")
        or (point in _IN_THE_BMS and not small_store)
    )
    return Standing.NOT if nowhere or elsewhere else Standing.REQUIRED


def _condition(point: str, battery_class: str) -> str | None:
    if point in _IN_THE_BMS:
        return "bms"
    of_class = _INDUSTRIAL_CONDITIONS.get(point) if battery_class == "industrial" else None
    return of_class or _CONDITIONS.get(point)


def _holds(condition: str, known: Mapping[str, bool]) -> bool | None:
    """With what is not known once as true and once as false: where that decides, it is unknown."""
    names = [each for each in condition.split() if each not in {"and", "or", "not"}]
    open_names = [each for each in names if each not in known]
    found = set()
    for bits in range(2 ** len(open_names)):
        tried = {name: bool(bits >> at & 1) for at, name in enumerate(open_names)}
        found.add(bool(eval(condition, {"__builtins__": {}}, dict(known) | tried)))  # noqa: S307 - our own words
    return found.pop() if len(found) == 1 else None
