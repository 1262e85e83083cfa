"""Times, numbers and stored values as people read them; what may not be seen does not show."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.svg import HEIGHT, WIDTH, bars

NOON = datetime(2028, 8, 18, 12, 3, 5, 999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0 s"), (0.4, "0 s"), (59, "59 s"), (61, "1 min"), (3600, "1 h 0 min"), (7380, "2 h 3 min"),
     (86_400 * 2, "2 d 0 h"), (86_400 * 9 + 3600, "9 d 1 h")],
)  # fmt: skip
def test_a_span_has_two_units_at_most(seconds: float, text: str) -> None:
    assert shown.span(timedelta(seconds=seconds)) == text


def test_times_are_in_utc_wherever_they_come_from() -> None:
    assert shown.stamp(NOON) == "2028-08-18 12:03:05"
    assert shown.stamp(None) == ""
    assert shown.since(NOON, NOON - timedelta(minutes=3)) == "3 min"


def test_a_count_that_was_not_finished_says_so() -> None:
    assert [shown.bounded(n, 20_001) for n in (0, 4312, 20_000, 20_001)] == [
        "0", "4,312", "20,000", "20,000+",
    ]  # fmt: skip


def test_a_masked_payload_keeps_names_and_ids_and_no_value() -> None:
    payload = (
        '{"passport_id": "0192F0C1-7a5e-7c3b-9c1d-2f4b6a8c0e13", "customer": "Example Motors",'
        ' "amounts": [1.20, {"iban": "DE00"}], "again": true, "none": null}'
    )
    text = shown.masked(payload)

    assert msgspec.json.decode(text) == {
        "passport_id": "0192F0C1-7a5e-7c3b-9c1d-2f4b6a8c0e13",
        "customer": shown.HIDDEN,
        "amounts": [shown.HIDDEN, {"iban": shown.HIDDEN}],
        "again": True,
        "none": None,
    }
    assert shown.masked("no JSON: secret") == shown.HIDDEN
    assert shown.masked(None) == ""


def test_a_sentence_about_a_document_can_be_told_without_its_words() -> None:
    said = "mass_kg: \"forty-nine\" isn't a number, 'fifty' neither: write it like 1.234,56"

    assert shown.unquoted(said) == (
        f"mass_kg: \"{shown.HIDDEN}\" isn't a number, '{shown.HIDDEN}' neither: write it like 1.234,56"
    )


def test_bars_are_as_high_as_what_they_stand_for() -> None:
    drawn = bars([("12:00", 0), ("12:01", 1), ("12:02", 5000), ("12:03", 2500)])

    assert [bar.height for bar in drawn.bars] == [0, 1, HEIGHT, HEIGHT // 2]
    assert all(bar.y + bar.height == HEIGHT for bar in drawn.bars)
    assert drawn.bars[-1].x + drawn.bars[-1].width < WIDTH
    assert drawn.bars[2].title == "12:02: 5,000"
    assert bars([]).bars == ()
    assert [bar.height for bar in bars([("a", 0)]).bars] == [0]
