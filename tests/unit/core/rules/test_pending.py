from datetime import date

import pytest

from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.operations import apply
from bpc_worker.core.rules.source import RuleError
from bpc_worker.core.rules.values import Empty, Value
from tests.unit.core.rules.support import error_in, ran

TEXT = """
law "guidance v0" by class {
  act method "The act on the method" pending;
  act older "An act of last year" adopted 2027-01-15;
  point "P-1" "share" fields (share) source "Art. 1" basis law gate stop for public {
    EV: not_yet until max(2028-08-18, older + 24 months) then required;
    LMT: not_yet until max(2028-08-18, method + 24 months) then required;
    industrial: not_yet;
    stationary: not until 2027-02-18 then required;
  };
};
field class: Text = declared(Text, "class");
field share: Int = if (pending("P-1")) then notYet("not asked yet") else 16;
"""
NOT_YET = Empty("notYet", "not asked yet")


def share(battery_class: str | None, day: date) -> Value:
    facts = [] if battery_class is None else [make_fact("Value", "class", {"value": battery_class})]
    return ran(TEXT, facts, law_date=day).result.fields["share"]


@pytest.mark.parametrize(
    ("battery_class", "day", "found"),
    [
        ("EV", date(2029, 1, 14), NOT_YET),
        ("EV", date(2029, 1, 15), 16),
        ("LMT", date(2099, 1, 1), NOT_YET),
        ("industrial", date(2099, 1, 1), NOT_YET),
        ("stationary", date(2026, 1, 1), 16),
        (None, date(2099, 1, 1), NOT_YET),
    ],
)
def test_a_point_waits_for_its_day(battery_class: str | None, day: date, found: Value) -> None:
    assert share(battery_class, day) == found


def test_with_every_act_adopted_an_unknown_class_waits_for_the_last() -> None:
    text = TEXT.replace("pending;", "adopted 2028-01-15;").replace("not_yet;", "not;")
    days = date(2030, 1, 14), date(2030, 1, 15)

    assert [ran(text, [], law_date=day).result.fields["share"] for day in days] == [NOT_YET, 16]


def test_points_that_wait_alike_are_one_step() -> None:
    module = TEXT + 'field other: Int = if (pending("P-1")) then notYet("not asked yet") else 17;'

    one, two = (ran(text, [], law_date=date(2027, 2, 18)).proof.size for text in (TEXT, module))
    assert two == one + 1  # the field's own


def test_what_is_asked_has_to_be_a_point() -> None:
    assert "the law has no point 'P-2'" in error_in(TEXT.replace('pending("P-1")', 'pending("P-2")')).message


def test_it_needs_a_law() -> None:
    assert "pending needs a law" in error_in('field a: Bool = pending("P-1");').message


@pytest.mark.parametrize(
    ("until", "day", "battery_class"),
    [
        ("2027-02-18", date(2027, 1, 1), "EV"),
        ({"EV": "2027-02-18"}, "2027-01-01", "EV"),
        ({"EV": "2027-02-18"}, date(2027, 1, 1), 1),
        ({"EV": 20270218}, date(2027, 1, 1), "EV"),
        ({"EV": "2027-02-30"}, date(2027, 1, 1), "EV"),
    ],
)
def test_a_step_of_another_shape_is_refused(until: object, day: Value, battery_class: Value) -> None:
    with pytest.raises(RuleError):
        apply("pending", {"until": until}, [day, battery_class])
