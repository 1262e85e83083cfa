"""What the law asks for and a passport lacks, over a small list of its own."""

import json
from collections.abc import Mapping
from datetime import date

import pytest

from bpc_worker.core.passport.gaps import Gap, Report, gaps, report, report_bytes
from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.module import load

ON = date(2027, 2, 18)
RULES = """
field identity.class: Text for public = declared(Text, "identity.category");
field condition.cycle_use: Bool for nobody = declared(Bool, "condition.cycle_use");
field condition.bms: Bool for nobody = declared(Bool, "condition.bms");
field performance.life_cycles: Int for public = declared(Int, "performance.life_cycles");
field performance.c_rate: Qty(per_h) for public = declared(per_h, "performance.c_rate_per_h");
field conformity.id: Text for public = withheld("kept");
field label.symbol: Bool for public =
  emitCompliance("SYMBOL", false, "there is no symbol") severity stop for public;
field label.colour: Bool for public = emitCompliance("COLOUR", false, "it is grey") severity note for public;
law "A list" by identity.class {
  act carbon "Acts" pending;
  point "A" "Life" fields (performance.life_cycles) source "1(j)" basis law gate stop for public {
    EV: not until 2027-02-18 then required;
    LMT: not until 2027-02-18 then required when cycle_use && bms;
  };
  point "B" "Both" fields (performance.life_cycles, performance.c_rate) source "2" basis guidance gate warn
    for public { EV: required; LMT: optional; };
  point "C" "Papers" fields (conformity.id) source "3" basis law gate stop for public {
    EV: required; LMT: not;
  };
  point "D" "Carbon" fields (performance.c_rate) source "4" basis law gate stop for public {
    EV: not_yet until max(2025-02-18, carbon + 12 months) then required; LMT: not_yet;
  };
  point "E" "Made by us" fields () source "5" basis standard gate system for public {
    EV: required; LMT: required;
  };
  point "F" "Nobody's" fields () source "6" basis registry gate no for public {
    EV: required; LMT: required; };
};
"""
MODULE = load(RULES)
LAW = MODULE.law
assert LAW is not None


def found(declared: Mapping[str, object], on: date = ON) -> Report:
    names = {"category": "identity.category", "cycles": "performance.life_cycles",
             "c_rate": "performance.c_rate_per_h", "cycle_use": "condition.cycle_use",
             "bms": "condition.bms"}  # fmt: skip
    facts = [make_fact("Value", names[name], {"value": value}) for name, value in declared.items()]
    made = Evaluator(MODULE, FactSet(facts), on).run()
    return report(LAW, made.fields, made.statements, on)


def of(report: Report, point: str) -> Gap:
    [gap] = [each for each in report.gaps if each.point == point]
    return gap


@pytest.mark.parametrize(
    ("point", "declared", "expected"),
    [
        ("A", {"category": "EV", "cycles": 3000}, ("required", "present")),
        ("A", {"category": "EV"}, ("required", "missing")),
        ("A", {"category": "EV", "cycles": "many"}, ("required", "unread")),
        ("A", {"category": "LMT"}, ("condition_unknown", "missing")),
        ("A", {"category": "LMT", "cycles": 3000}, ("condition_unknown", "present")),
        ("A", {"category": "LMT", "bms": False}, ("not_applicable", "not_applicable")),
        ("A", {"category": "LMT", "bms": True, "cycle_use": True}, ("required", "missing")),
        ("B", {"category": "EV", "cycles": 3000}, ("required", "missing")),
        ("B", {"category": "LMT"}, ("optional", "missing")),
        ("C", {"category": "EV"}, ("required", "missing")),
        ("C", {"category": "LMT"}, ("not", "not_applicable")),
        ("D", {"category": "EV", "c_rate": "1"}, ("not_yet", "not_yet")),
        ("E", {"category": "EV"}, ("required", "present")),
        ("F", {"category": "EV"}, ("required", "not_in_these_rules")),
    ],
)
def test_where_a_point_stands_and_what_became_of_it(
    point: str, declared: dict[str, object], expected: tuple[str, str]
) -> None:
    gap = of(found(declared), point)

    assert (gap.standing, gap.state) == expected


def test_the_day_before_nothing_is_asked() -> None:
    assert of(found({"category": "EV"}, date(2027, 2, 17)), "A").state == "not_applicable"


def test_a_gap_tells_its_fields_and_why_they_are_empty() -> None:
    gap = of(found({"category": "EV", "cycles": "many"}), "B")

    assert [path for path, _ in gap.lacking] == ["performance.life_cycles", "performance.c_rate"]
    [unusable, absent] = [why for _, why in gap.lacking]
    assert unusable.startswith("declared, but not usable: ")
    assert absent == "not declared"


def test_a_condition_that_nobody_declared_is_named() -> None:
    assert of(found({"category": "LMT", "bms": True}), "A").unknown == ("condition.cycle_use",)
    assert of(found({}), "A").unknown == ("identity.class",)
    assert of(found({"category": "EV"}), "A").unknown == ()


def test_what_stops_are_stop_points_without_a_value_and_findings_of_that_severity() -> None:
    """A point of gate warn, and a note, are told and stop nothing; what is withheld fills no point."""
    assert found({"category": "EV"}).stops == ("A", "C", "SYMBOL")
    assert found({"category": "EV", "cycles": 3000}).stops == ("C", "SYMBOL")
    assert found({"category": "EV", "cycles": 3000}).filled == ("A",)
    assert [each.code for each in found({"category": "EV"}).findings] == ["COLOUR", "SYMBOL"]


def test_another_class_is_looked_at_on_request() -> None:
    made = Evaluator(MODULE, FactSet([]), ON).run()

    assert [each.state for each in gaps(LAW, made.fields, ON, "LMT")][2] == "not_applicable"  # type: ignore[arg-type]


def test_a_text_without_a_law_has_no_gate() -> None:
    made = Evaluator(MODULE, FactSet([]), ON).run()
    without = report(None, made.fields, made.statements, ON)

    assert (without.law, without.gaps, without.stops) == (None, (), ())
    assert len(without.findings) == 2


def test_it_is_stored_with_a_salt_what_stops_and_what_is_filled() -> None:
    stored = json.loads(report_bytes(found({"category": "EV", "cycles": 3000}), bytes(16)))

    assert stored["salt"] == "00" * 16
    assert (stored["law"], stored["battery_class"]) == ("A list", "EV")
    assert (stored["stops"], stored["filled"]) == (["C", "SYMBOL"], ["A"])
    assert stored["findings"][1] == {
        "code": "SYMBOL", "holds": False, "message": "there is no symbol", "severity": "stop",
    }  # fmt: skip
    assert stored["gaps"][0] == {
        "point": "A", "name": "Life", "source": "1(j)", "basis": "law", "gate": "stop",
        "standing": "required", "state": "present",
    }  # fmt: skip
    assert stored["gaps"][2]["lacking"] == [["conformity.id", "kept"]]
    assert json.loads(report_bytes(found({}), bytes(16)))["gaps"][0]["unknown"] == ["identity.class"]
