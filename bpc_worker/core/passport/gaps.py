"""What the law's list asks of a battery, and what its passport has of it: one gap or none per point."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from enum import StrEnum

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.forms import salt_text
from bpc_worker.core.rules.declared import NOT_USABLE
from bpc_worker.core.rules.evaluated import Statement
from bpc_worker.core.rules.law import ASKED, CONDITION, STOP, Law, Point, Standing, names_in, standing
from bpc_worker.core.rules.values import Empty, Value

SYSTEM = "system"  # the gate of what is made with the passport itself

_Fields = Mapping[str, Value]


class State(StrEnum):
    """What became of a point."""

    PRESENT = "present"
    MISSING = "missing"
    UNREAD = "unread"  # declared, but not usable
    NOT_YET = "not_yet"
    NOT_APPLICABLE = "not_applicable"
    NOT_IN_THESE_RULES = "not_in_these_rules"


_OPEN = frozenset({State.MISSING, State.UNREAD})
_TEXTS = ("point", "name", "source", "basis", "gate", "standing", "state")
_UNASKED = {
    Standing.NOT_YET: State.NOT_YET,
    Standing.NOT: State.NOT_APPLICABLE,
    Standing.NOT_APPLICABLE: State.NOT_APPLICABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A point of the list; `lacking`: its fields without a value, each with the reason and its detail."""

    point: str
    name: str
    source: str
    basis: str
    gate: str
    standing: Standing
    state: State
    lacking: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()  # fields that nobody declared, where they decide whether it is asked

    @property
    def is_open(self) -> bool:
        return self.state in _OPEN

    @property
    def is_asked(self) -> bool:
        return self.gate == STOP and self.standing in ASKED

    @property
    def stops(self) -> bool:
        return self.is_asked and self.state is not State.PRESENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Of one passport version; without a law it was not checked against the law's list."""

    law: str | None = None
    battery_class: str | None = None
    gaps: tuple[Gap, ...] = ()
    findings: tuple[Statement, ...] = ()  # statements that do not hold

    @property
    def stops(self) -> tuple[str, ...]:
        """Points and findings that keep a first version from coming into force."""
        if self.law is None:
            return ()
        found = [each.code for each in self.findings if each.severity == STOP]
        return (*(each.point for each in self.gaps if each.stops), *found)

    @property
    def filled(self) -> tuple[str, ...]:
        """Required points that have a value: a later version may not lose them."""
        return tuple(each.point for each in self.gaps if each.is_asked and each.state is State.PRESENT)


def report(law: Law | None, fields: _Fields, statements: Iterable[Statement], law_date: date) -> Report:
    findings = tuple(each for each in statements if not each.holds)
    if law is None:
        return Report(findings=findings)
    battery_class = class_of(law, fields)
    return Report(
        law=law.title,
        battery_class=battery_class,
        gaps=gaps(law, fields, law_date, battery_class),
        findings=findings,
    )


def class_of(law: Law, fields: _Fields) -> str | None:
    found = fields.get(law.class_field)
    return found if isinstance(found, str) else None


def gaps(law: Law, fields: _Fields, law_date: date, battery_class: str | None) -> tuple[Gap, ...]:
    """Every point of the list, in its order, for a battery of that class on that day."""
    conditions = {name: _known(fields.get(f"{CONDITION}{name}")) for name in law.conditions}
    undeclared = frozenset(name for name, value in conditions.items() if value is None)
    found = []
    for point in law.points:
        stands = standing(point, battery_class, law_date, conditions)
        gap = _gap(point, stands, fields)
        if gap.is_open and stands is Standing.CONDITION_UNKNOWN:
            gap = replace(gap, unknown=_unknown(law, point, battery_class, undeclared))
        found.append(gap)
    return tuple(found)


def _known(value: Value) -> bool | None:
    return value if isinstance(value, bool) else None


def _gap(point: Point, stands: Standing, fields: _Fields) -> Gap:
    empty = {path: value for path in point.fields if isinstance(value := fields[path], Empty)}
    state = _state(point, stands, empty)
    is_open = state in _OPEN
    return Gap(
        point=point.id,
        name=point.name,
        source=point.source,
        basis=point.basis,
        gate=point.gate,
        standing=stands,
        state=state,
        lacking=tuple((path, _why(value)) for path, value in empty.items()) if is_open else (),
    )


def _state(point: Point, stands: Standing, empty: Mapping[str, Empty]) -> State:
    if point.gate == SYSTEM:
        return State.PRESENT
    if not point.fields:
        return State.NOT_IN_THESE_RULES
    if stands in _UNASKED:
        return _UNASKED[stands]
    if not empty:
        return State.PRESENT
    return State.UNREAD if any(each.reason == NOT_USABLE for each in empty.values()) else State.MISSING


def _why(value: Empty) -> str:
    return value.reason if value.detail is None else f"{value.reason}: {value.detail}"


def _unknown(
    law: Law, point: Point, battery_class: str | None, undeclared: frozenset[str]
) -> tuple[str, ...]:
    """The fields that would have to be declared to know whether the point is asked."""
    asked = None if battery_class is None else point.asked.get(battery_class)
    if asked is None:
        return (law.class_field,)
    condition = asked.condition
    names = undeclared if condition is None else undeclared & names_in(condition)
    return tuple(f"{CONDITION}{name}" for name in sorted(names))


def report_bytes(found: Report, salt: bytes) -> bytes:
    """Canonical JSON, as it is stored. With a salt, as its hash is told in an event that others may read."""
    return canonical_json.encode(
        {
            "salt": salt_text(salt),
            "law": found.law,
            "battery_class": found.battery_class,
            "gaps": [_members(each) for each in found.gaps],
            "findings": [asdict(each) for each in found.findings],
            "stops": [*found.stops],
            "filled": [*found.filled],
        }
    )


def _members(gap: Gap) -> dict[str, object]:
    """Without what is empty."""
    members = {name: str(getattr(gap, name)) for name in _TEXTS}
    lists = {"lacking": [[*each] for each in gap.lacking], "unknown": [*gap.unknown]}
    return members | {name: value for name, value in lists.items() if value}
