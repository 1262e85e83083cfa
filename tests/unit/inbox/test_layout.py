"""What a place means, and which names are taken."""

import pytest

from bpc_worker.inbox.layout import Meaning, Wanted, kind_of, meaning, shown

MEANINGS = [
    ("acme/", Meaning.INSIDE),
    ("acme/BOM/", Meaning.INSIDE),
    ("acme/due_diligence/", Meaning.INSIDE),
    ("acme/BOM/bom.csv", Meaning.DOCUMENT),
    ("acme/BOM/inbox.yaml", Meaning.NOTHING),
    ("acme/BOM/deeper/", Meaning.TOO_DEEP),
    ("acme/my-battery/", Meaning.FOLDER),
    ("acme/bom.csv", Meaning.STRAY),
    ("bom.csv", Meaning.STRAY),
    ("done/", Meaning.NOTHING),
    ("rejected/", Meaning.NOTHING),
    ("done", Meaning.NOTHING),
    (".taking/", Meaning.NOTHING),
    ("acme/.hidden/", Meaning.NOTHING),
    ("acme/BOM/.bom.csv.x7a", Meaning.NOTHING),
]


@pytest.mark.parametrize(("written", "expected"), MEANINGS)
def test_a_place_tells_what_lies_there(written: str, expected: Meaning) -> None:
    place = tuple(written.rstrip("/").split("/"))

    assert meaning(place, is_folder=written.endswith("/")) is expected


def test_a_kind_is_named_in_any_case() -> None:
    assert kind_of(("acme", "Due_Diligence", "x")) == "DUE_DILIGENCE"
    assert kind_of(("acme", "BOMS", "x")) is None
    assert kind_of(("BOM",)) is None


def test_patterns_without_a_slash_are_about_the_name_others_about_the_place() -> None:
    wanted = Wanted(include=("*.csv", "acme/PCF/*"), exclude=("draft*", "beta/*"))

    assert wanted.file(("acme", "BOM", "a.csv"))
    assert wanted.file(("acme", "PCF", "a.json"))
    assert not wanted.file(("acme", "BOM", "a.json"))
    assert not wanted.file(("acme", "BOM", "draft.csv"))
    assert not wanted.file(("beta", "BOM", "a.csv"))


def test_what_is_included_says_nothing_about_folders() -> None:
    wanted = Wanted(include=("*.csv",), exclude=("old-*",))

    assert wanted.folder(("acme", "my-battery"))
    assert not wanted.folder(("acme", "old-battery"))


def test_a_place_is_shown_without_what_would_spoil_a_line() -> None:
    assert shown(("acme", "BOM", "Stückliste.csv")) == "acme/BOM/Stückliste.csv"
    assert shown(("acme", "BOM", "a\nb\udcff")) == r"acme/BOM/a\nb\udcff"
