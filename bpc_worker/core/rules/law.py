"""What the law asks of a battery: points, by class and date, as the rule text's `law` block has them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

STOP = "stop"
BASES = ("law", "guidance", "registry", "standard")
GATES = (STOP, "warn", "system", "no")
CONDITION = "condition."  # where the fields stand that conditions speak of


class Word(StrEnum):
    """What a row of a point says."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NOT_YET = "not_yet"
    NOT = "not"


class Standing(StrEnum):
    """Where a point stands for one battery, on one day."""

    REQUIRED = "required"
    CONDITION_UNKNOWN = "condition_unknown"
    NOT_APPLICABLE = "not_applicable"
    OPTIONAL = "optional"
    NOT_YET = "not_yet"
    NOT = "not"


ASKED = frozenset({Standing.REQUIRED, Standing.CONDITION_UNKNOWN})
_LESS = (Standing.OPTIONAL, Standing.NOT_YET, Standing.NOT_APPLICABLE)  # where classes differ, and none asks


@dataclass(frozen=True, slots=True)
class Holds:
    name: str  # of the field condition.<name>


@dataclass(frozen=True, slots=True)
class Not:
    of: "Condition"


@dataclass(frozen=True, slots=True)
class AllOf:
    of: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    of: tuple["Condition", ...]


Condition = Holds | Not | AllOf | AnyOf
Conditions = Mapping[str, bool | None]  # by name; None and absent: unknown


@dataclass(frozen=True, slots=True)
class Act:
    """An act that dates hang on; pending as long as it has no date."""

    name: str
    title: str
    adopted: date | None


@dataclass(frozen=True, slots=True)
class Since:
    """From a day on; or from that day or so many months after an act, whichever is later."""

    day: date
    act: str | None = None
    months: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A row: what is asked of a class before a day, and from that day on."""

    before: Word
    then: Word
    since: Since | None  # None: `then` has always been so
    begins: date | None  # the day of `since`; None as long as its act is pending
    condition: Condition | None  # of `then`


@dataclass(frozen=True, slots=True)
class Point:
    id: str
    name: str
    fields: tuple[str, ...]
    source: str
    basis: str
    gate: str
    audiences: tuple[str, ...]
    asked: Mapping[str, Asked]  # by class


@dataclass(frozen=True, slots=True)
class Law:
    title: str
    class_field: str
    acts: Mapping[str, Act]
    points: tuple[Point, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.points[0].asked) if self.points else ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names that conditions speak of, sorted."""
        rows = [asked.condition for point in self.points for asked in point.asked.values()]
        return tuple(sorted({name for each in rows if each is not None for name in names_in(each)}))


def standing(point: Point, battery_class: str | None, law_date: date, conditions: Conditions) -> Standing:
    """Of a battery of that class; where the class is unknown, what some class is asked for may be asked."""
    if battery_class is not None and battery_class in point.asked:
        return _standing(point.asked[battery_class], law_date, conditions)
    found = {_standing(asked, law_date, conditions) for asked in point.asked.values()}
    if len(found) == 1:
        return found.pop()
    if not ASKED.isdisjoint(found):
        return Standing.CONDITION_UNKNOWN
    return next(each for each in _LESS if each in found)


def _standing(asked: Asked, law_date: date, conditions: Conditions) -> Standing:
    if asked.begins is None or law_date < asked.begins:
        return Standing(asked.before)
    if asked.condition is None:
        return Standing(asked.then)
    met = holds(asked.condition, conditions)
    if met is None:
        return Standing.CONDITION_UNKNOWN if asked.then is Word.REQUIRED else Standing(asked.then)
    return Standing(asked.then) if met else Standing.NOT_APPLICABLE


def holds(condition: Condition, conditions: Conditions) -> bool | None:
    """Three-valued: None where what is unknown could decide it."""
    match condition:
        case Holds(name):
            return conditions.get(name)
        case Not(of):
            inner = holds(of, conditions)
            return None if inner is None else not inner
        case AllOf(of):
            return _joined([holds(each, conditions) for each in of], decides=False)
        case AnyOf(of):
            return _joined([holds(each, conditions) for each in of], decides=True)


def _joined(parts: Iterable[bool | None], *, decides: bool) -> bool | None:
    found = set(parts)
    if decides in found:
        return decides
    return None if None in found else not decides


def names_in(condition: Condition) -> frozenset[str]:
    match condition:
        case Holds(name):
            return frozenset({name})
        case Not(of):
            return names_in(of)
        case AllOf(of) | AnyOf(of):
            return frozenset().union(*map(names_in, of))


def needed_fields(law: Law) -> tuple[str, ...]:
    """What `missingRequired()` looks at, sorted: the class, the conditions, the fields of the stop points."""
    conditions = {f"{CONDITION}{name}" for name in law.conditions}
    fields = {path for point in law.points if point.gate == STOP for path in point.fields}
    return tuple(sorted({law.class_field, *conditions, *fields}))


def asked_points(law: Law, values: Mapping[str, object], law_date: date) -> dict[str, tuple[str, ...]]:
    """The fields of each point, by its id, that must have a value before a battery is placed on the market.

    Of the points that these rules have a field for. `values` are those of fields, None where one is empty.
    """
    found = values[law.class_field]
    battery_class = found if isinstance(found, str) else None
    conditions = {name: _bool(values[f"{CONDITION}{name}"]) for name in law.conditions}
    return {
        point.id: point.fields
        for point in law.points
        if point.gate == STOP
        and point.fields
        and standing(point, battery_class, law_date, conditions) in ASKED
    }


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def paths_of(asked: Mapping[str, Iterable[str]]) -> list[str]:
    return sorted({path for fields in asked.values() for path in fields})


def count_missing(asked: Mapping[str, Iterable[str]], values: Mapping[str, object]) -> int:
    """How many of the points have a field without a value."""
    return sum(any(values[path] is None for path in fields) for fields in asked.values())
