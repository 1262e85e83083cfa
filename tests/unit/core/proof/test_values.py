from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.canonical_json import MAX_INTEGER
from bpc_worker.core.base.numbers import MAX_DIGITS
from bpc_worker.core.base.units import UNITS
from bpc_worker.core.proof.values import (
    NO_ITEMS,
    StepError,
    Unseen,
    attested,
    check_shape,
    conforms,
    expect,
    read,
    read_constant,
    same,
    shown,
)
from bpc_worker.core.rules import types
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.types import (
    BOOL,
    DATE,
    EMPTY,
    FACT,
    INT,
    JSON,
    NONE,
    NUM,
    TEXT,
    DecType,
    ListType,
    MapType,
    OptType,
    QtyType,
    Type,
)
from bpc_worker.core.rules.values import Empty, JsonValue, Num, Quantity, Value, encoded

ZEROS = "0" * 64
LARGE = MAX_INTEGER + 1

decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda found: found or abs(found))
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
plain: st.SearchStrategy[Value] = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | texts
    | st.dates()
    | decimals.map(Num)
    | st.builds(Quantity, decimals, st.sampled_from(sorted(UNITS)))
)


@given(plain)
def test_every_value_is_read_from_the_form_it_is_written_in(value: Value) -> None:
    found = read(encoded(value))

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ({"json": {"a": [1, None]}}, JsonValue({"a": [1, None]})),
        ({"empty": "missing", "reason": "lost"}, Empty("missing", "lost")),
        ({"map": {"a": 1, "b": {"map": {"c": {"dec": "1.50"}}}}}, {"a": 1, "b": {"c": Num(Decimal("1.50"))}}),
        ({"fact": ["Part", "part:1", ZEROS]}, Unseen(None)),
        ({"count": 2, "list": ZEROS}, Unseen(2)),
        ({"count": 0, "list": NO_ITEMS}, ()),
        ({"int": str(LARGE)}, LARGE),
        ({"int": str(-LARGE)}, -LARGE),
        ({"dec": "0"}, Num(Decimal(0))),
        ({"dec": "-0.50"}, Num(Decimal("-0.50"))),
    ],
)
def test_what_is_not_plain_is_read_too(form: object, value: object) -> None:
    assert read(form) == value


@pytest.mark.parametrize(
    "form",
    [
        1.5, {}, [], {"dec": 1}, {"dec": "01.50"}, {"dec": "1E3"}, {"dec": "1."}, {"dec": ".5"},
        {"dec": "+1"},
        {"dec": "-0"}, {"dec": "-0.00"}, {"dec": "NaN"}, {"dec": "sNaN"}, {"dec": "Infinity"},
        {"dec": " 1"},
        {"dec": "1_0"}, {"dec": "\uff11"}, {"dec": ""}, {"dec": "1", "note": 1},
        {"dec": "9" * (MAX_DIGITS + 3)},
        {"qty": "1E3", "unit": "kWh"}, {"qty": "1", "unit": "furlong"}, {"qty": "1"},
        {"qty": 1, "unit": "kWh"},
        {"int": "5"}, {"int": f"0{LARGE}"}, {"int": f"{LARGE}.0"}, {"int": LARGE}, {"int": "1" * 1200},
        {"int": str(MAX_INTEGER)}, {"date": "20270218"}, {"date": "2027-02-30"}, {"date": "2027-2-18"},
        {"date": 5}, {"json": 1, "note": 1}, {"empty": "lost", "reason": "x"}, {"empty": "missing"},
        {"empty": "missing", "reason": 5}, {"map": []}, {"map": {"a": {"count": 1, "list": ZEROS}}},
        {"map": {"a": {"count": 0, "list": NO_ITEMS}}},
        {"map": {"a": {"empty": "missing", "reason": "x"}}},
        {"map": {"a": {"fact": ["a", "b", ZEROS]}}}, {"fact": ["a", "b"]}, {"fact": ["a", "b", "c"]},
        {"fact": ["a", 1, ZEROS]}, {"count": True, "list": ZEROS}, {"count": -1, "list": ZEROS},
        {"count": 0, "list": ZEROS}, {"count": 1, "list": NO_ITEMS}, {"count": 1, "list": "A" * 64},
        {"count": 1},
    ],
    ids=shown,
)  # fmt: skip
def test_no_value_has_a_second_form(form: object) -> None:
    with pytest.raises(StepError):
        read(form)


def test_a_number_of_too_many_digits_is_an_error_of_steps() -> None:
    with pytest.raises(StepError, match="more than 1000 digits"):
        read({"dec": "9" * (MAX_DIGITS + 1)})


def test_a_constant_is_a_literal_or_a_table_of_literals() -> None:
    assert read_constant({"map": {"a": {"map": {"b": {"date": "2027-02-18"}}}}}) == {
        "a": {"b": date(2027, 2, 18)}
    }
    with pytest.raises(StepError, match="not the form of a value"):
        read_constant({"map": {"a": {"json": 1}}})


RECORD = types.record({"a": INT, "b": OptType(TEXT)})


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, BOOL), (5, INT), ("x", TEXT), (date(2027, 2, 18), DATE), (Num(Decimal("1.5")), NUM),
        (Num(Decimal("1.50")), DecType(2)), (Quantity(Decimal(1), "kg"), QtyType("kg")), (None, NONE),
        (None, OptType(INT)), (5, OptType(INT)), (JsonValue(1), JSON), (make_fact("a", "b", {}), FACT),
        (Unseen(None), FACT), (Unseen(None), OptType(FACT)), (Unseen(3), ListType(INT)),
        ((), ListType(INT)),
        ((1, 2), ListType(INT)), ({"x": 1}, MapType(INT)), ({"a": 1, "b": None}, RECORD),
        (Empty("missing", "x"), EMPTY), (Unseen(3, DecType(2)), ListType(NUM)),
        (Unseen(3, INT), ListType(INT)),
    ],
)  # fmt: skip
def test_a_value_conforms_to_its_type(value: Any, kind: Type) -> None:
    assert conforms(value, kind)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, BOOL), (True, INT), (5, TEXT), ("2027-02-18", DATE), (5, NUM),
        (Num(Decimal("1.5")), DecType(2)),
        (Num(Decimal("1.50")), DecType(1)), (Quantity(Decimal(1), "g"), QtyType("kg")), (5, NONE),
        ("5", OptType(INT)), (1, JSON), (JsonValue(1), FACT), (Unseen(3), FACT),
        (Unseen(None), ListType(FACT)),
        (Unseen(None), INT), (("1",), ListType(INT)), (5, ListType(INT)), ({"x": "1"}, MapType(INT)),
        (5, MapType(INT)), ({"a": 1}, RECORD), ({"a": 1, "b": None, "c": 1}, RECORD),
        ({"a": "1", "b": None}, RECORD),
        (5, RECORD), (None, EMPTY), (Empty("missing", "x"), INT), (Unseen(3, TEXT), ListType(INT)),
        (Unseen(3, NUM), ListType(DecType(2))),
    ],
)  # fmt: skip
def test_another_value_does_not(value: Any, kind: Type) -> None:
    assert not conforms(value, kind)


def test_an_attested_list_is_known_to_hold_what_its_type_says() -> None:
    form = {"count": 2, "list": ZEROS}

    assert attested(form, OptType(ListType(INT))).value == Unseen(2, INT)
    with pytest.raises(StepError, match=r"is no List\(Fact\)"):
        attested({"fact": ["a", "b", ZEROS]}, ListType(FACT))


def test_forms_are_compared_by_their_bytes() -> None:
    assert same({"a": 1, "b": [True]}, {"b": [True], "a": 1})
    assert not same({"json": {"a": True}}, {"json": {"a": 1}})
    with pytest.raises(StepError, match="it: found True, expected 1"):
        expect(True, 1, "it")


def test_a_long_form_is_shown_by_its_beginning() -> None:
    assert len(shown("x" * 5000)) == 120


def test_an_operation_has_its_parameters_and_its_operands_and_no_others() -> None:
    check_shape("count", {}, set(), [], 0)
    with pytest.raises(StepError, match=r"^round with the parameters \['mode'\]$"):
        check_shape("round", {"mode": "up"}, {"mode", "scale"})
    with pytest.raises(StepError, match=r"^count of 0 values, not 1$"):
        check_shape("count", {}, set(), [], 1)
