"""A document's job, its key, and what a refusal says."""

import pytest

from bpc_worker.documents.model import Declared
from bpc_worker.inbox.jobs import (
    FolderSays,
    Priorities,
    check_place,
    declared,
    ingest,
    key_of,
    refusal,
)
from bpc_worker.inbox.layout import Meaning
from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import Priority


def said(kind: str, mime_type: str, number_format: str | None) -> Declared:
    return Declared(kind=kind, mime_type=mime_type, number_format=number_format)


BOM = said("BOM", "text/csv", None)
PLACE = ("acme", "BOM", "bom.csv")


def test_the_folder_tells_the_kind_and_the_ending_the_type() -> None:
    assert declared(PLACE, FolderSays()) == BOM
    assert declared(("acme", "pcf", "X.JSON"), FolderSays()) == said("PCF", "application/json", None)


def test_what_the_folder_says_about_its_files_counts() -> None:
    says = FolderSays(mime_type="application/csv", number_format="1.234,56")

    assert declared(("acme", "BOM", "bom.txt"), says) == said("BOM", "application/csv", "1.234,56")


@pytest.mark.parametrize("name", ["bom.pdf", "bom"])
def test_an_ending_that_tells_nothing_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(Permanent, match="does not tell what it is") as caught:
        declared(("acme", "BOM", name), FolderSays())

    assert "acme/BOM/inbox.yaml" in str(refusal(PLACE, caught.value)["do"])


def test_the_key_is_made_of_bytes_and_declaration_and_not_of_the_name() -> None:
    key = key_of(BOM, b"x")

    assert key == ingest(BOM, PLACE, b"x", priority=Priority.LOW).idempotency_key
    assert key == ingest(BOM, ("acme", "BOM", "y.csv"), b"x", priority=Priority.HIGH).idempotency_key
    others = [key_of(BOM, b"y"), key_of(said("PCF", "text/csv", None), b"x")]
    others += [
        key_of(said("BOM", "a/b", None), b"x"),
        key_of(said("BOM", "text/csv", "1.234,56"), b"x"),
    ]
    assert len({key, *others}) == 5


def test_priority_goes_by_the_ending() -> None:
    priorities = Priorities(default=Priority.LOW, high_endings=frozenset({".json"}))

    assert priorities.of(("acme", "PCF", "x.JSON")) is Priority.HIGH
    assert priorities.of(PLACE) is Priority.LOW


@pytest.mark.parametrize("name", ["a\nb.csv", "a\udcff.csv", "a\x7f.csv"])
def test_a_name_that_is_no_text_is_refused(name: str) -> None:
    with pytest.raises(Permanent, match="characters that are no text"):
        check_place(("acme", "BOM", name), Meaning.DOCUMENT)


def test_a_refusal_says_what_why_and_what_to_do() -> None:
    with pytest.raises(Permanent) as caught:
        check_place(("acme", "bom.csv"), Meaning.STRAY)

    said = refusal(("acme", "bom.csv"), caught.value)
    assert said["file"] == "acme/bom.csv"
    assert said["code"] == "VALIDATION_ERROR"
    assert "TENANT/KIND" in str(said["message"])
    assert "TENANT/BOM" in str(said["do"])
