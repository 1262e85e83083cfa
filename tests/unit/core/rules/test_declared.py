"""given, declared, measured, lastMeasured, usable: values of the vocabulary, and true reasons."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from bpc_worker.core.base.calendar import Moment, Month
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.values import Empty, Quantity, Texts, Value
from tests.unit.core.rules.support import ran

NOT_DECLARED = Empty("missing", "not declared")
MEASURED = {"value": "1.5", "measured_at": "2028-01-01T00:00:00Z", "source": "BMS"}


def read(expression: str, kind: str, payload: Mapping[str, object] | None, fact_type: str = "Value") -> Value:
    facts = [] if payload is None else [make_fact(fact_type, "x", payload)]
    return ran(f"field a: {kind} = {expression};", facts).result.fields["a"]


def unusable(what: str, fact_type: str = "Value") -> Empty:
    return Empty("missing", "declared, but not usable", f"{fact_type} x: {what}")


@pytest.mark.parametrize(
    ("word", "value", "found"),
    [
        ("Text", "a", "a"),
        ("Int", 5, 5),
        ("Bool", False, False),
        ("Date", "2027-02-18", date(2027, 2, 18)),
        ("Month", "2027-02", Month(2027, 2)),
        ("Moment", "2027-02-18T12:00:00Z", Moment(datetime(2027, 2, 18, 12, tzinfo=UTC))),
        ("Texts", {"en": "water"}, Texts({"en": "water"})),
        ("Texts", "https://example.org", Texts({"und": "https://example.org"})),
        ("kg", "400.5", Quantity(Decimal("400.5"), "kg")),
        ("kg", 400, Quantity(Decimal(400), "kg")),
        ("month", 12, Quantity(Decimal(12), "month")),
    ],
)
def test_a_value_is_read_as_what_the_rule_says(word: str, value: object, found: Value) -> None:
    kind = word if word[0].isupper() else f"Qty({word})"

    assert read(f'declared({word}, "x")', kind, {"value": value}) == found
    assert read(f'given({word}, "x")', f"Opt({kind})", {"value": value}) == found
    assert read(f'declared({word}, "x")', kind, None) == NOT_DECLARED
    assert read(f'given({word}, "x")', f"Opt({kind})", None) is None


@pytest.mark.parametrize(
    ("word", "value", "defect"),
    [
        ("Text", 5, "toText wants a text, not a whole number"),
        ("Int", "5", "toInt wants a whole number, not a text"),
        ("Bool", "true", "toBool wants true or false, not a text"),
        ("Month", "February", "toMonth: the text is no month"),
        ("Month", 2, "toMonth wants a month in a text, not a whole number"),
        ("Moment", "2027-02-18", "toMoment: the text is no moment in UTC"),
        ("Moment", True, "toMoment wants a moment in a text, not true or false"),
        ("Texts", ["x"], "toTexts wants texts by language, not a list"),
        ("Texts", {}, "toTexts: these are no texts by language"),
        ("Texts", {"en": 5}, "toTexts: these are no texts by language"),
        ("Texts", {"English": "water"}, "toTexts: these are no texts by language"),
        ("Texts", " ", "toTexts: these are no texts by language"),
        ("kg", "heavy", "toQty: the text is not a number"),
        ("kg", None, "it has no value"),
    ],
)
def test_what_cannot_be_read_ends_the_field_with_a_true_reason(word: str, value: object, defect: str) -> None:
    kind = word if word[0].isupper() else f"Qty({word})"

    assert read(f'declared({word}, "x")', kind, {"value": value}) == unusable(defect)
    assert read(f'given({word}, "x")', f"Opt({kind})", {"value": value}) == unusable(defect)


def test_a_value_that_a_document_lost_says_why() -> None:
    assert read('declared(kg, "x")', "Qty(kg)", {"defect": "-5 is below 0"}) == unusable("-5 is below 0")


def test_a_measured_value_has_its_time_and_source() -> None:
    kind = "Record(value: Qty(pct), measured_at: Moment, source: Text)"
    found = {
        "value": Quantity(Decimal("1.5"), "pct"),
        "measured_at": Moment(datetime(2028, 1, 1, tzinfo=UTC)),
        "source": "BMS",
    }

    assert read('measured(pct, "x")', kind, MEASURED, "Measured") == found
    assert read('lastMeasured(pct, "x")', f"Opt({kind})", MEASURED, "Measured") == found
    assert read('measured(pct, "x")', kind, None) == NOT_DECLARED
    assert read('lastMeasured(pct, "x")', f"Opt({kind})", None) is None
    assert read('measured(pct, "x")', kind, {**MEASURED, "source": None}, "Measured") == unusable(
        "it has no source", "Measured"
    )


def test_a_value_that_is_not_usable_ends_the_field_and_its_detail_is_not_published() -> None:
    body = 'let m = declared(kg, "x"); usable(m > qty(0, kg), "not above zero"); m'

    assert read(body, "Qty(kg)", {"value": "1"}) == Quantity(Decimal(1), "kg")
    assert read(body, "Qty(kg)", {"value": "0"}) == Empty(
        "missing", "declared, but not usable", "not above zero"
    )


@pytest.mark.parametrize(
    "body",
    [
        'declared(Int, "x")',
        'let _y = given(Int, "x"); 1',
        'assert(given(Int, "x") == none, "A", "b"); 1',
        'usable(true, "x"); 1',
        'cite("a"); declared(Int, "x")',
        'if (given(Int, "x") == none) then 1 else 2',
        'if (true) then declared(Int, "x") else 2',
        'if (true) then 1 else declared(Int, "x")',
        '-declared(Int, "x")',
        'declared(Int, "x") + 1',
        '1 + declared(Int, "x")',
        'recordGet(record(a: declared(Int, "x")), "a")',
        'count(getFactsByPrefix(declared(Text, "x"), "y"))',
    ],
)
def test_a_field_that_can_end_is_an_opt_to_others(body: str) -> None:
    assert load(f'field a: Int = {body}; field b: Bool = isSome(field("a"));').fields["a"].may_be_empty


@pytest.mark.parametrize("body", ["1", 'cite("a"); 1', 'count(map(getFactsByPrefix("a", "b"), _x => 1))'])
def test_a_field_that_cannot_end_is_always_there(body: str) -> None:
    assert not load(f"field a: Int = {body};").fields["a"].may_be_empty


def test_what_ends_a_field_in_a_block_leaves_nothing_behind() -> None:
    found = ran(
        'field a: Int = let x = 1; (let x = declared(Int, "x"); x) + x; field b: Int = let x = 5; x;', ()
    ).result.fields

    assert found == {"a": NOT_DECLARED, "b": 5}
