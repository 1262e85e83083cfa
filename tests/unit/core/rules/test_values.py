import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base import canonical_json, derivation, numbers
from bpc_worker.core.base.calendar import Moment, Month, month_of
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.base.units import UNITS
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.values import (
    Empty,
    Fact,
    JsonValue,
    Num,
    Quantity,
    Texts,
    Value,
    decoded,
    encoded,
    form_text,
    published,
)
from tests.unit.core.base.test_derivation import json_values, texts

FACT = make_fact("T", "k", {"a": 1})
NOON = Moment(datetime(2027, 2, 18, 12, tzinfo=UTC))

numerals = st.builds(
    lambda digits, scale: numbers.rounded(Decimal((0, tuple(map(int, str(digits))), -scale)), scale),
    st.integers(0, 10**60),
    st.integers(0, 30),
).flatmap(lambda value: st.sampled_from([value, numbers.negate(value)]))
plain_values = (
    st.none()
    | st.booleans()
    | st.integers(-(10**80), 10**80)
    | texts
    | st.dates()
    | st.builds(Num, numerals)
    | st.builds(Quantity, numerals, st.sampled_from(sorted(UNITS)))
    | st.builds(JsonValue, json_values)
    | st.builds(Empty, st.sampled_from(["withheld", "missing"]), texts, st.none() | texts)
    | st.dates().map(month_of)
    | st.datetimes(timezones=st.just(UTC)).map(Moment)
    | st.dictionaries(st.sampled_from(["en", "de", "pt-BR"]), st.just("x"), min_size=1).map(Texts)
)
decodable: st.SearchStrategy[Value] = st.recursive(
    plain_values, lambda inner: st.dictionaries(texts, inner, max_size=4), max_leaves=6
)


@given(value=decodable)
def test_a_value_comes_back_from_its_form(value: Value) -> None:
    form = encoded(value)

    assert decoded(form) == value
    assert encoded(decoded(form)) == form
    assert canonical_json.decode(derivation.data_bytes({"value": form})) == {"value": form}


lists = st.lists(decodable | st.builds(Fact, texts, texts, texts, st.just({})), max_size=4).map(tuple)


@given(value=decodable | lists)
def test_the_text_of_a_form_is_canonical(value: Value) -> None:
    assert form_text(value).encode() == canonical_json.encode(encoded(value))


@given(items=lists)
def test_a_list_is_known_by_the_hash_of_the_forms_in_it(items: tuple[Value, ...]) -> None:
    data = canonical_json.encode([encoded(each) for each in items])

    assert encoded(items) == {"count": len(items), "list": sha256_hex(data)}


@given(left=decodable, right=decodable)
def test_different_values_have_different_forms(left: Value, right: Value) -> None:
    same = canonical_json.encode(encoded(left)) == canonical_json.encode(encoded(right))

    assert not same or (left == right and type(left) is type(right))


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (True, True, True),
        (2**53 - 1, 2**53 - 1, 2**53 - 1),
        (-(2**53), {"int": "-9007199254740992"}, "-9007199254740992"),
        (Num(Decimal("1.50")), {"dec": "1.50"}, "1.50"),
        (Quantity(Decimal("-0.0"), "kg"), {"qty": "0.0", "unit": "kg"}, {"unit": "kg", "value": "0.0"}),
        (date(2027, 2, 18), {"date": "2027-02-18"}, "2027-02-18"),
        (JsonValue({"a": [1]}), {"json": {"a": [1]}}, {"a": [1]}),
        (FACT, {"fact": ["T", "k", FACT.payload_hash]}, {"a": 1}),
        (
            Empty("withheld", "why"),
            {"empty": "withheld", "reason": "why"},
            {"empty": "withheld", "reason": "why"},
        ),
        (
            Empty("missing", "not usable", "a name"),
            {"detail": "a name", "empty": "missing", "reason": "not usable"},
            {"empty": "missing", "reason": "not usable"},
        ),
        (Month(2027, 2), {"month": "2027-02"}, "2027-02"),
        (NOON, {"moment": "2027-02-18T12:00:00Z"}, "2027-02-18T12:00:00Z"),
        (Texts({"en": "x", "de": "y"}), {"texts": {"de": "y", "en": "x"}}, {"de": "y", "en": "x"}),
        ({"b": 1, "a": None}, {"map": {"a": None, "b": 1}}, {"a": None, "b": 1}),
        ((1, 2), {"count": 2, "list": sha256_hex(b"[1,2]")}, [1, 2]),
    ],
)
def test_forms_in_proofs_and_in_payloads(value: Value, form: object, shown: object) -> None:
    assert encoded(value) == form
    assert published(value) == shown


@pytest.mark.parametrize(
    "form",
    [
        1.5,
        2**53,
        [],
        {},
        {"dec": "1.50", "more": 1},
        {"dec": 1},
        {"dec": "NaN"},
        {"dec": "1e999999999"},
        {"dec": "01"},
        {"dec": "-0"},
        {"dec": "9" * 2_000},
        {"int": "5"},
        {"int": "1.5"},
        {"int": "1e999999999"},
        {"int": "99999999999999999999", "x": 1},
        {"qty": "1", "unit": "furlong"},
        {"date": "20270218"},
        {"date": "2027-02-30"},
        {"map": {"a": {"list": "…", "count": 1}}},
        {"map": []},
        {"fact": ["T", "k", "0" * 64]},
        {"count": 0, "list": "0" * 64},
        {"empty": "withheld"},
        {"empty": "withheld", "reason": "x", "detail": None},
        {"month": "2027-2"},
        {"moment": "2027-02-18"},
        {"moment": "2027-02-18T12:00:00.5Z"},
        {"texts": {}},
    ],
)
def test_what_is_not_the_one_form_of_a_value_is_refused(form: object) -> None:
    with pytest.raises(ValueError, match=r"form|number|digits|day"):
        decoded(form)


def test_every_element_and_every_byte_of_a_list_is_counted() -> None:
    spent: list[int] = []

    encoded(((1, 2), ("x" * 640,)), spent.append)

    assert sum(spent) >= 2 + 2 + 1 + 10


def test_who_counts_may_stop_it() -> None:
    class EnoughError(Exception):
        pass

    def enough(_: int) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        encoded({"a": (1,)}, enough)


@pytest.fixture
def small_integer_texts() -> Iterator[None]:
    """The environment may forbid conversions of more than 640 digits."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("small_integer_texts")
def test_large_integers_do_not_depend_on_the_environment() -> None:
    large = 10**999

    assert decoded(encoded(large)) == large
    assert len(str(published(large))) == 1_000


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ({"int": "9007199254740993"}, 9007199254740993),
        ({"qty": "1.50", "unit": "kg"}, Quantity(Decimal("1.50"), "kg")),
        ({"json": [1, {"a": None}]}, JsonValue([1, {"a": None}])),
        ({"empty": "withheld", "reason": "until 2030"}, Empty("withheld", "until 2030")),
        ({"empty": "missing", "reason": "x", "detail": "y"}, Empty("missing", "x", "y")),
        ({"month": "2027-02"}, Month(2027, 2)),
        ({"moment": "2027-02-18T12:00:00Z"}, NOON),
        ({"texts": {"en": "x"}}, Texts({"en": "x"})),
    ],
)
def test_a_form_that_is_rarely_met_is_read_too(form: object, value: Value) -> None:
    assert decoded(form) == value
