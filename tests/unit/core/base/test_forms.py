import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.canonical_json import CanonicalJsonError
from bpc_worker.core.base.forms import (
    FormError,
    Scalar,
    date_text,
    hash_text,
    members,
    parse_constant,
    parse_count,
    parse_date,
    parse_hash,
    parse_list,
    parse_signature,
    parse_text,
    parse_timestamp,
    parse_uuid,
    raised_as,
    read,
    signature_text,
    text_of,
    texts_of,
    timestamp,
    uuid_text,
)

zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=zones)  # noqa: DTZ001 (they get a zone)


@given(moments)
def test_a_time_stamp_is_read_as_the_moment_it_was_written_from(moment: datetime) -> None:
    assert parse_timestamp(timestamp(moment)) == moment
    assert parse_timestamp(timestamp(moment)).tzinfo is UTC


@given(moments, zones)
def test_one_moment_has_one_text_in_every_zone(moment: datetime, zone: timezone) -> None:
    assert timestamp(moment.astimezone(zone)) == timestamp(moment)


def test_a_time_stamp_always_has_six_decimals_and_four_digits_of_the_year() -> None:
    assert timestamp(datetime(987, 6, 5, 4, 3, 2, tzinfo=UTC)) == "0987-06-05T04:03:02.000000Z"


def test_a_moment_without_zone_is_refused() -> None:
    with pytest.raises(
        FormError, match=r"^expected a time stamp with a time zone, found 2027-01-01T00:00:00$"
    ):
        timestamp(datetime(2027, 1, 1))  # noqa: DTZ001 (that is the point)


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-1))),
    ],
)
def test_a_moment_outside_the_years_of_the_form_is_refused(moment: datetime) -> None:
    with pytest.raises(FormError, match="of the years 1 to 9999 in UTC"):
        timestamp(moment)


@given(st.dates())
def test_a_date_is_read_as_it_was_written(day: date) -> None:
    assert parse_date(date_text(day)) == day


def test_a_moment_is_not_a_date() -> None:
    with pytest.raises(FormError, match="expected a date, found the time stamp 2027-01-01"):
        date_text(datetime(2027, 1, 1, tzinfo=UTC))


@given(st.uuids())
def test_a_uuid_is_read_as_it_was_written(uuid: UUID) -> None:
    assert parse_uuid(uuid_text(uuid)) == uuid


@given(st.binary(min_size=32, max_size=32))
def test_a_hash_is_read_as_it_was_written(digest: bytes) -> None:
    assert parse_hash(hash_text(digest)) == digest


@given(st.binary(min_size=64, max_size=64))
def test_a_signature_is_read_as_it_was_written(signature: bytes) -> None:
    assert parse_signature(signature_text(signature)) == signature


@pytest.mark.parametrize("write", [hash_text, signature_text])
def test_bytes_of_another_length_are_refused(write: Callable[[bytes], str]) -> None:
    with pytest.raises(FormError, match="bytes, found 31 bytes"):
        write(bytes(31))


OTHER_FORMS: list[tuple[Callable[[object], object], list[object]]] = [
    (
        parse_timestamp,
        [
            "2027-01-01T00:00:00Z",
            "2027-01-01T00:00:00.000Z",
            "2027-01-01T00:00:00.0000000Z",
            "2027-01-01 00:00:00.000000Z",
            "2027-01-01t00:00:00.000000z",
            "2027-01-01T00:00:00,000000Z",
            "2027-01-01T00:00:00.000000+00:00",
            "2027-01-01T00:00:00.000000",
            "2027-01-01T00:00:00.000000Z\n",
            "2027-02-29T00:00:00.000000Z",
            "2027-01-01T24:00:00.000000Z",
            "2027-01-01T23:60:00.000000Z",
            "2027-01-01T23:59:60.000000Z",
            "0000-01-01T00:00:00.000000Z",
            "٢٠٢٧-01-01T00:00:00.000000Z",
            "20270101T000000.000000Z",
            1_800_000_000,
            None,
        ],
    ),
    (
        parse_date,
        ["2027-02-29", "20270218", "2027-2-18", "2027-W07-4", "2027-02-18 ", "٢٠٢٧-02-18", "", 20270218],
    ),
    (
        parse_uuid,
        [
            "BAB0BF6B-76B4-5211-AD98-FA54DE20165B",
            "bab0bf6b76b45211ad98fa54de20165b",
            "{bab0bf6b-76b4-5211-ad98-fa54de20165b}",
            "urn:uuid:bab0bf6b-76b4-5211-ad98-fa54de20165b",
            "bab0bf6b-76b4-5211-ad98-fa54de20165b\n",
            "bab0bf6b-76b4-5211-ad98-fa54de20165",
            None,
        ],
    ),
    (
        parse_hash,
        ["", "AB" * 32, "ab" * 31, "ab" * 33, " " + "ab" * 31 + "a", "ab" * 32 + "\n", bytes(32), 0],
    ),
    (
        parse_signature,
        [
            "A" * 86,
            "A" * 88,
            "A" * 85 + "B==",
            "_" * 86 + "==",
            "A" * 86 + "==\n",
            "A" * 82 + "==",
            "A" * 90 + "==",
            None,
        ],
    ),
    (parse_text, ["", None, 1, ["a"]]),
    (parse_count, [-1, 2**53, True, "1", 1.0, None]),
    (parse_constant("BPC-X-1"), ["BPC-X-2", "bpc-x-1", "", None]),
    (parse_list(parse_text), [{}, "ab", None]),
]


@pytest.mark.parametrize(
    ("parse", "other"), [(parse, other) for parse, others in OTHER_FORMS for other in others]
)
def test_other_forms_are_refused_with_what_was_expected(
    parse: Callable[[object], object], other: object
) -> None:
    with pytest.raises(FormError, match=r"^expected .+, found .+$") as caught:
        parse(other)

    assert caught.value.path == ""


def test_each_type_is_written_in_its_form() -> None:
    moment = datetime(2027, 2, 18, tzinfo=UTC)
    values: dict[str, Scalar] = {
        "a": moment,
        "b": moment.date(),
        "c": UUID(int=1),
        "d": bytes(32),
        "e": "text",
    }

    assert texts_of(values) == {
        "a": "2027-02-18T00:00:00.000000Z",
        "b": "2027-02-18",
        "c": "00000000-0000-0000-0000-000000000001",
        "d": "00" * 32,
        "e": "text",
    }


def test_an_empty_text_is_not_written() -> None:
    with pytest.raises(FormError, match=r"^expected a text that is not empty, found ''$"):
        text_of("")


def test_an_error_names_the_member_that_could_not_be_written() -> None:
    with pytest.raises(FormError, match=r"^/second: expected a hash of 32 bytes, found 3 bytes$"):
        texts_of({"first": bytes(32), "second": b"abc"})


def test_an_error_names_the_member_and_the_position_that_could_not_be_read() -> None:
    with pytest.raises(FormError, match=r"^/names/1: expected a text that is not empty, found an integer$"):
        read({"names": ["a", 1]}, "names", parse_list(parse_text))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "expected an object, found an array"),
        (None, "expected an object, found null"),
        ({"a": 1, "b": 2}, "missing: c"),
        ({"d": 1}, "missing: a, b, c"),
        ({"a": 1, "b": 2, "c": 3, "d": 4, "\ud800\0": 5}, r"unknown: 'd', '\ud800\x00'"),
        ({"a": 1, "b": 2, "c": 3, 4: 4}, "unknown: an integer"),
    ],
)
def test_an_object_must_have_exactly_its_members(value: object, reason: str) -> None:
    with pytest.raises(FormError) as caught:
        members(value, ("a", "b", "c"))

    assert caught.value.reason == reason
    assert str(caught.value).encode()


def test_an_object_with_thousands_of_unknown_members_gives_a_short_error() -> None:
    with pytest.raises(FormError) as caught:
        members({str(number) * 50: None for number in range(10_000)}, ())

    assert len(str(caught.value)) < 1500


def test_a_long_text_is_shortened_in_the_error() -> None:
    with pytest.raises(FormError, match=r"found 'x{60}'… \(1000000 characters\)$"):
        parse_hash("x" * 1_000_000)


def test_values_that_are_not_json_are_named_by_type() -> None:
    with pytest.raises(FormError, match=r"found float$"):
        parse_text(1.5)


class OfAFormatError(FormError):
    pass


@pytest.mark.parametrize(
    "error", [FormError("/a", "bad"), CanonicalJsonError("/a", "bad"), OfAFormatError("/a", "bad")]
)
def test_errors_are_raised_again_in_the_family_of_the_format(error: Exception) -> None:
    with pytest.raises(OfAFormatError, match=r"^/a: bad$"), raised_as(OfAFormatError):
        raise error


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(OfAFormatError("/a", "bad")))  # noqa: S301

    assert (type(error), error.path, str(error)) == (OfAFormatError, "/a", "/a: bad")
