"""What the law asks, by class, date and condition."""

from datetime import date

import pytest

from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.law import AllOf, AnyOf, Conditions, Holds, Law, Not, Standing, holds, standing
from bpc_worker.core.rules.module import load
from tests.unit.core.rules.support import raised, ran

HEAD = "basis law gate stop for public"
RULES = f"""
law "List 1" by class {{
  act pending "an act" pending;
  act adopted "another" adopted 2027-01-15;
  point "DATED" "Dated" fields (a) source "Art. 1" {HEAD} {{
    EV: not until 2027-02-18 then required; LMT: optional; OTHER: not;
  }}
  point "PENDING" "Pending" fields (a, b) source "Art. 2" {HEAD} {{
    EV: not_yet until max(2028-08-18, pending + 24 months) then required;
    LMT: not_yet; OTHER: not;
  }};
  point "ADOPTED" "Adopted" fields (b) source "Art. 3" {HEAD} {{
    EV: not_yet until max(2028-08-18, adopted + 24 months) then required;
    LMT: not_yet until max(2030-01-01, adopted + 24 months) then required; OTHER: not;
  }};
  point "WHEN" "When" fields (b) source "Art. 4" {HEAD} {{
    EV: required when x && !y; LMT: optional when x || y;
    OTHER: not until 2027-02-18 then required when (x || y) && x;
  }};
  point "NO_FIELD" "None of ours" fields () source "Art. 5" {HEAD} {{
    EV: required; LMT: required; OTHER: required;
  }};
  point "WARN" "Warn" fields (b) source "Art. 6" basis guidance gate warn for public {{
    EV: required; LMT: required; OTHER: required;
  }};
}};
field class: Text = declared(Text, "class");
field condition.x: Bool = declared(Bool, "x");
field condition.y: Bool = declared(Bool, "y");
field a: Int = declared(Int, "a");
field b: Int = declared(Int, "b");
field missing: Int = missingRequired();
"""


def law() -> Law:
    found = load(RULES).law
    assert found is not None
    return found


def stands(point: str, battery_class: str | None, day: str, **conditions: bool | None) -> str:
    [found] = [each for each in law().points if each.id == point]
    return standing(found, battery_class, date.fromisoformat(day), conditions).value


def test_the_block_is_data() -> None:
    found = law()

    assert (found.title, found.class_field) == ("List 1", "class")
    assert found.classes == ("EV", "LMT", "OTHER")
    assert found.conditions == ("x", "y")
    assert {act.name: act.adopted for act in found.acts.values()} == {
        "pending": None,
        "adopted": date(2027, 1, 15),
    }
    [point] = [each for each in found.points if each.id == "PENDING"]
    assert (point.name, point.fields, point.source) == ("Pending", ("a", "b"), "Art. 2")
    assert (point.basis, point.gate, point.audiences) == ("law", "stop", ("public",))
    assert Law("empty", "class", {}, ()).classes == ()


@pytest.mark.parametrize(
    ("point", "battery_class", "day", "expected"),
    [
        ("DATED", "EV", "2027-02-17", "not"),
        ("DATED", "EV", "2027-02-18", "required"),
        ("DATED", "LMT", "2027-02-18", "optional"),
        ("DATED", "OTHER", "2027-02-18", "not"),
        ("PENDING", "EV", "2999-01-01", "not_yet"),
        ("ADOPTED", "EV", "2029-01-14", "not_yet"),
        ("ADOPTED", "EV", "2029-01-15", "required"),
        ("ADOPTED", "LMT", "2029-12-31", "not_yet"),
        ("ADOPTED", "LMT", "2030-01-01", "required"),
    ],
)
def test_a_point_stands_by_class_and_date(point: str, battery_class: str, day: str, expected: str) -> None:
    assert stands(point, battery_class, day) == expected


@pytest.mark.parametrize(
    ("battery_class", "conditions", "expected"),
    [
        ("EV", {"x": True, "y": False}, "required"),
        ("EV", {"x": True, "y": True}, "not_applicable"),
        ("EV", {"x": False}, "not_applicable"),
        ("EV", {"x": True}, "condition_unknown"),
        ("EV", {"x": True, "y": None}, "condition_unknown"),
        ("LMT", {}, "optional"),
        ("LMT", {"y": True}, "optional"),
        ("LMT", {"x": False, "y": False}, "not_applicable"),
        ("OTHER", {"x": True}, "required"),
        ("OTHER", {"y": True}, "condition_unknown"),
    ],
)
def test_a_condition_is_three_valued(battery_class: str, conditions: Conditions, expected: str) -> None:
    assert stands("WHEN", battery_class, "2027-02-18", **conditions) == expected


def test_before_its_day_a_condition_does_not_count() -> None:
    assert stands("WHEN", "OTHER", "2027-02-17") == "not"


@pytest.mark.parametrize(
    ("point", "day", "expected"),
    [
        ("DATED", "2027-02-18", "condition_unknown"),
        ("DATED", "2027-02-17", "optional"),
        ("NO_FIELD", "2027-02-17", "required"),
        ("PENDING", "2027-02-18", "not_yet"),
    ],
)
@pytest.mark.parametrize("battery_class", [None, "BUS"])
def test_of_an_unknown_class_what_any_class_is_asked_may_be_asked(
    battery_class: str | None, point: str, day: str, expected: str
) -> None:
    assert stands(point, battery_class, day) == expected


def test_of_an_unknown_class_a_condition_can_exclude_all() -> None:
    assert stands("WHEN", None, "2027-02-18", x=False, y=False) == Standing.NOT_APPLICABLE


@pytest.mark.parametrize("unknown", [None, "absent"])
def test_what_is_unknown_decides_nothing(unknown: str | None) -> None:
    given: Conditions = {"t": True, "f": False} | ({"u": None} if unknown is None else {})
    t, f, u = Holds("t"), Holds("f"), Holds("u")

    assert [holds(each, given) for each in (t, f, u, Not(t), Not(f), Not(u))] == [
        True, False, None, False, True, None,
    ]  # fmt: skip
    assert [holds(AllOf(each), given) for each in ((t, t), (t, f), (t, u), (f, u))] == [
        True, False, None, False,
    ]  # fmt: skip
    assert [holds(AnyOf(each), given) for each in ((f, f), (t, f), (f, u), (t, u))] == [
        False, True, None, True,
    ]  # fmt: skip


def missing(day: str, **given: object) -> object:
    facts = [make_fact("Value", name, {"value": value}) for name, value in given.items()]
    return ran(RULES, facts, date.fromisoformat(day)).result.fields["missing"]


def test_points_that_are_asked_and_have_no_value_are_counted() -> None:
    assert missing("2027-02-17", **{"class": "LMT"}) == 0
    assert missing("2027-02-17", **{"class": "EV", "x": False}) == 0
    assert missing("2027-02-18", **{"class": "EV", "x": False}) == 1
    assert missing("2027-02-18", **{"class": "EV", "x": False, "a": 1}) == 0
    assert missing("2027-02-18", **{"class": "EV", "x": False, "a": "one"}) == 1, "not usable is not there"
    assert missing("2027-02-18", **{"class": "EV"}) == 2, "what is unknown may be asked"
    assert missing("2029-01-15", **{"class": "EV", "x": True, "y": False}) == 3
    assert missing("2029-01-15", **{"class": "EV", "x": True, "y": False, "a": 1, "b": 2}) == 0
    assert missing("2027-02-18") == 2, "of no class: DATED and WHEN"


def test_without_a_law_date_nothing_can_be_counted() -> None:
    error = raised(lambda: ran(RULES, (), None))

    assert error is not None
    assert (error.code, error.message) == ("CONFIG_MISSING", "no law date was given")


def test_a_text_without_a_law_has_none() -> None:
    assert load("field a: Int = 1;").law is None
