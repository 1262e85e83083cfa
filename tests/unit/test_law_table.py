"""The law's table: whole, without an invented date, the same in the rule text as in the files."""

from collections import Counter, defaultdict
from datetime import date

import pytest

from tests.support import law_table

CLASSES = {"EV", "LMT", "industrial", "stationary"}
OF_THE_POINT = ("name", "audience", "basis", "gate", "source", "fields")

points = law_table.read(law_table.POINTS)
acts = law_table.read(law_table.ACTS)


def test_the_rule_text_is_the_table() -> None:
    assert law_table.TEXT.read_text(encoding="utf-8") == law_table.text(points, acts), "run make law"


def test_every_point_has_every_class_and_one_description() -> None:
    classes: dict[str, set[str]] = defaultdict(set)
    told: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in points:
        classes[row["point"]].add(row["class"])
        told[row["point"]].add(tuple(row[column] for column in OF_THE_POINT))

    assert len(classes) == 121
    assert all(each == CLASSES for each in classes.values())
    assert all(len(each) == 1 for each in told.values())


@pytest.mark.parametrize("row", points, ids=lambda row: f"{row['point']}-{row['class']}")
def test_a_row_is_data(row: law_table.Row) -> None:
    assert row["before"] in {"required", "optional", "not_yet", "not"}
    assert row["basis"] in {"law", "guidance", "registry", "standard"}
    assert row["gate"] in {"stop", "warn", "system", "no"}
    assert bool(row["fields"]) == (row["gate"] != "system")
    if row["then"]:
        assert row["then"] in {"required", "optional"}
        assert date.fromisoformat(row["from"])
        assert bool(row["act"]) == bool(row["months"])
        assert row["act"] in {"", *(act["act"] for act in acts)}
    else:
        assert row["from"] == row["act"] == row["condition"] == ""


def test_no_act_is_adopted_and_none_is_unused() -> None:
    assert {act["act"] for act in acts} == {row["act"] for row in points} - {""}
    assert not any(act["adopted"] for act in acts)


def test_what_the_guidance_asks_of_each_class_in_february_2027() -> None:
    """The counts of the Commission's guidance, points without their sub-points."""
    counts = Counter(
        (row["class"], _word(row))
        for row in points
        if row["point"].startswith("EC") and row["point"][-1].isdigit()
    )

    expected = {
        "EV": {"required": 47, "conditional": 8, "optional": 1, "not_yet": 8, "not": 7},
        "LMT": {"required": 50, "conditional": 8, "optional": 1, "not_yet": 8, "not": 4},
        "industrial": {"required": 32, "conditional": 26, "optional": 1, "not_yet": 8, "not": 4},
        "stationary": {"required": 50, "conditional": 8, "optional": 1, "not_yet": 8, "not": 4},
    }
    assert {
        name: {word: counts[name, word] for word in words} for name, words in expected.items()
    } == expected


def _word(row: law_table.Row) -> str:
    if row["from"] > "2027-02-18" or row["act"] or not row["then"]:
        return row["before"]
    return "conditional" if row["condition"] else row["then"]
