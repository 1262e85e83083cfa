"""`make points`: every point of the law's list, for every class and on three days, as tests exercise it.

Each row, a point of a class on a day, is met with all values there, with none, and where conditions spare it;
its standing is that of `law.py`, which was written by hand, and what it must come to follows from that. With
--docs the counts go into docs/law.md.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bpc_worker.core.passport.gaps import State
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.law import Point
from bpc_worker.core.rules.values import Fact
from tests.golden.batteries import Made, facts_of, make, rules
from tests.golden.expect import DATES
from tests.golden.law import CLASSES, POINTS, Standing, standing

DOCS = Path(__file__).parents[2] / "docs" / "law.md"
BATTERY_OF = {"EV": "ev", "LMT": "lmt", "industrial": "industrial", "stationary": "stationary"}
_HEAD = "| class | law date | rows | present | missing | not applicable | not yet | without |"
_BEGIN, _END = "<!-- points -->", "<!-- /points -->"

_SHOWN = (State.PRESENT, State.MISSING, State.NOT_APPLICABLE, State.NOT_YET)
_SYSTEM = frozenset({"R-01", "R-06", "R-07", "R-08", "R-09"})  # made with the passport, so always there
# What is there in a case although nothing is declared beside what the battery is, and what it rests on.
_THERE = {
    "nothing": {"EC-06": "category", "EC-41": "conditions", "L-10": "measured", "R-13": "measured"},
    "spared": {"EC-06": "category"},
    "unsaid": {"EC-06": "category"},
}
_NEVER_MISSING = frozenset(
    {"EC-06", "R-10", "R-13"}
)  # asked only where it is there; without a category no class
_DECLARED = (
    "bms", "cycle_use", "rechargeable", "warranty_given", "due_diligence_owed", "contains_cd", "contains_pb",
    "in_use", "has_predecessor",
)  # fmt: skip
_AT = {"measured_at": "2027-02-01T08:00:00Z", "source": "test"}
_MORE_MEASURED = {
    "cycles": 3, "temperature_c": "21.5", "charge_pct": "40", "energy_throughput_kwh": "20.4",
    "capacity_throughput_ah": "398", "minutes_hot": "1", "minutes_cold": "2", "minutes_charging_hot": "3",
    "minutes_charging_cold": "4", "deep_discharges": 0, "full_cycles": "2.0", "overcharges": 0,
    "remaining_energy_kwh": "9.5", "soce_pct": "100", "remaining_capacity_ah": "17",
    "remaining_power_w": "900", "remaining_efficiency_pct": "94", "self_discharge_pct_per_month": "2.0",
    "ohmic_resistance_mohm": "4",
}  # fmt: skip
_MORE_VALUES: Mapping[str, object] = {
    "manufacturer.web": "https://maker.example",
    "manufacturer.email": "mail@maker.example",
    "identity.put_into_service_month": "2027-02",
    "performance.warranty_months": "24",
    "performance.usable_kwh": "0.5",
    "performance.self_discharge_pct_per_month": "2.0",
    "due_diligence.report_url": "https://maker.example/due-diligence",
    "due_diligence.summary": {"en": "no risks were found"},
    "due_diligence.assurance": "by nobody",
    "due_diligence.supply_chain_index": "80",
    "registry.backup_url": "https://backup.example/1",
    "registry.registration_id": "REG-1",
    "composition.cadmium_pct": "0.01",
    "composition.lead_pct": "0.01",
}


def value(name: str, told: object) -> Fact:
    return make_fact("Value", name, {"value": told})


def everything(battery_class: str) -> list[Fact]:
    """All values there, and every condition holds."""
    more = [value(f"condition.{name}", True) for name in _DECLARED]
    more += [value(name, told) for name, told in _MORE_VALUES.items()]
    more += [make_fact("Measured", name, {"value": told, **_AT}) for name, told in _MORE_MEASURED.items()]
    more.append(make_fact("NegativeEvent", "event:1", {"at": "2027-02-01T08:00:00Z", "what": "fell"}))
    more.append(make_fact("Predecessor", "predecessor:1", {"unique_identifier": "https://id.example.eu/p/1"}))
    found = {(each.fact_type, each.fact_key): each for each in more}
    found |= {(each.fact_type, each.fact_key): each for each in facts_of(BATTERY_OF[battery_class])}
    told = {
        (each.fact_type, each.fact_key): each for each in more if each.fact_key.startswith(("cond", "comp"))
    }
    return list((found | told).values())


def nothing(battery_class: str) -> list[Fact]:
    """What the battery is, with every condition holding, and no more than conditions need."""
    said = [value(f"condition.{name}", True) for name in _DECLARED]
    measured = make_fact("Measured", "overcharges", {"value": 0, **_AT})
    return [
        *_what_it_is(battery_class),
        *said,
        measured,
        make_fact("Facility", "facility", {"name": "Works"}),
    ]


def spared(battery_class: str) -> list[Fact]:
    """Nothing but what the battery is, with every condition not holding."""
    return [*_what_it_is(battery_class), *(value(f"condition.{name}", False) for name in _DECLARED)]


def unsaid(battery_class: str) -> list[Fact]:
    """Nothing but what the battery is."""
    return _what_it_is(battery_class)


def _what_it_is(battery_class: str) -> list[Fact]:
    category = battery_class if battery_class in {"EV", "LMT"} else "INDUSTRIAL"
    stationary = battery_class == "stationary"
    return [value("identity.category", category), value("condition.stationary", stationary)]


CASES = {"everything": everything, "nothing": nothing, "spared": spared, "unsaid": unsaid}


def conditions(case: str, battery_class: str) -> dict[str, bool]:
    """What is known of each; who says nothing of use and of a former battery says no."""
    known = {"stationary": battery_class == "stationary", "in_use": False, "has_predecessor": False}
    if case == "everything":
        known["external_storage_only"] = False
    if case != "unsaid":
        known |= dict.fromkeys(_DECLARED, case != "spared")
    known |= dict.fromkeys(("facility_named", "measured"), case in {"everything", "nothing"})
    return known | {"backup_kept": case == "everything"}


def wanted(point: str, stands: Standing, case: str) -> State:
    if point in _SYSTEM:
        return State.PRESENT
    match stands:
        case Standing.NOT_YET:
            return State.NOT_YET
        case Standing.NOT | Standing.NOT_APPLICABLE:
            return State.NOT_APPLICABLE
        case _ if case == "everything" or point in _THERE[case]:
            return State.PRESENT
        case _:
            return State.MISSING


def needed(point: str, battery_class: str, day: str) -> set[State]:
    """The states in which a row has to be met."""
    stands = standing(point, battery_class, day, {"stationary": battery_class == "stationary"})
    if point in _SYSTEM:
        return {State.PRESENT}
    if stands in {Standing.NOT, Standing.NOT_YET, Standing.NOT_APPLICABLE}:
        return {wanted(point, stands, "everything")}
    both = {State.PRESENT} if point in _NEVER_MISSING else {State.PRESENT, State.MISSING}
    return both | ({State.NOT_APPLICABLE} if stands is Standing.UNKNOWN else set())


def rows() -> Iterator[tuple[str, str, str, str, Standing, State]]:
    """Case, class, day, point, standing and state, each as it must be; AssertionError where it is not."""
    assert sorted(_listed()) == sorted(POINTS), _listed().keys() ^ set(POINTS)
    for battery_class in CLASSES:
        for day in DATES:
            for case, facts in CASES.items():
                made = make(facts(battery_class), day)
                for point in POINTS:
                    stands = standing(point, battery_class, day, conditions(case, battery_class))
                    yield case, battery_class, day, point, stands, _state(made, case, point, stands, day)


def _listed() -> dict[str, Point]:
    law = rules().law
    return {} if law is None else {each.id: each for each in law.points}


def _state(made: Made, case: str, point: str, stands: Standing, day: str) -> State:
    gap = made.gaps[point]
    where = f"{case} {made.report.battery_class} {day} {point}"
    assert gap.standing.value == stands.value, f"{where}: {gap.standing}, and should be {stands}"
    state = wanted(point, stands, case)
    assert gap.state == state, f"{where}: {gap.state} {gap.lacking}, and should be {state}"
    return state


def left_out(battery_class: str, day: str = DATES[0]) -> Iterator[str]:
    """Each fact taken away alone: the points whose fields lose their value are told, and no others.

    Not the category and the conditions: without them other points are asked.
    """
    facts = facts_of(BATTERY_OF[battery_class])
    whole = make(facts, day)
    points = _listed()
    for fact in facts:
        if fact.fact_key.startswith(("identity.category", "condition.")) or fact.fact_type == "Facility":
            continue
        made = make([each for each in facts if each is not fact], day)
        lost = made.empty.keys() - whole.empty.keys()
        for point, gap in made.gaps.items():
            if whole.gaps[point].is_open:
                continue
            told = f"without {fact.fact_type} {fact.fact_key}: {point} is {gap.state}, and lost {lost}"
            asked = gap.standing.value in {Standing.REQUIRED.value, Standing.OPTIONAL.value}
            assert gap.is_open == (asked and not lost.isdisjoint(points[point].fields)), told
        yield f"{fact.fact_type} {fact.fact_key}"


def table(found: Sequence[tuple[str, str, str, str, Standing, State]]) -> str:
    """How many rows were met in each state, by class and day."""
    met: dict[tuple[str, str, str], set[State]] = {}
    for _, battery_class, day, point, _, state in found:
        met.setdefault((battery_class, day, point), set()).add(state)
    lines = [
        "| class | law date | rows | present | missing | not applicable | not yet | without |",
        "|" + "---|" * 8,
    ]
    for battery_class in CLASSES:
        for day in DATES:
            states = [met[battery_class, day, point] for point in POINTS]
            counts = Counter(state for each in states for state in each)
            shown = (counts[state] for state in _SHOWN)
            needs = [needed(point, battery_class, day) for point in POINTS]
            without = sum(not need <= each for need, each in zip(needs, states, strict=True))
            cells = [battery_class, day, len(states), *shown, without]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> int:
    found = list(rows())
    told = table(found)
    if "--docs" in sys.argv:
        before, _, rest = DOCS.read_text(encoding="utf-8").partition(_BEGIN)
        _, _, after = rest.partition(_END)
        DOCS.write_text(f"{before}{_BEGIN}\n{told}\n{_END}{after}", encoding="utf-8")
    print(told)
    if any(not line.endswith("| 0 |") for line in told.splitlines()[2:]):
        return 1
    for battery_class in CLASSES:
        print(f"{battery_class}: {len(list(left_out(battery_class)))} facts, each left out alone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
