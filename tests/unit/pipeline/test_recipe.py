"""A folder with a passport.yaml: what it says, and everything that is wrong with it in one answer."""

from datetime import date
from pathlib import Path

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.builds.folder import read_folder, read_mapping

GOOD = """
product: {name: Pack, identifier: P-1}
passport: "000417"
rules: eu_battery
law_date: 2028-08-18
documents:
  - {file: bom.csv, kind: BOM, number_format: "1.234,56", mapping: mapping.yaml}
  - {file: data.txt, kind: DATA_SHEET, mime_type: text/csv}
"""
MAPPING = "names: {Pos.: part}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"bom.csv": "x", "data.txt": "y", "mapping.yaml": MAPPING}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def read(folder: Path, recipe: str) -> str:
    """What is wrong with it."""
    (folder / "passport.yaml").write_text(recipe)
    with pytest.raises(Permanent) as caught:
        read_folder(folder, document_bytes=100)
    return caught.value.message


def test_a_folder_says_which_battery_which_rules_and_which_file_is_what(folder: Path) -> None:
    (folder / "passport.yaml").write_text(GOOD)
    found = read_folder(folder, document_bytes=100)
    bom, data = found.documents

    assert (found.recipe.product.identifier, found.recipe.passport) == ("P-1", "000417")
    assert found.recipe.law_date == date(2028, 8, 18)
    assert (bom.entry.mime_type, bom.entry.number_format) == ("text/csv", "1.234,56")
    assert bom.entry.mapping_text == '{"names":{"Pos.":"part"}}'
    assert (data.entry.mime_type, data.content, data.entry.mapping_text) == ("text/csv", b"y", None)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("law_date: 2028-08-18\n", "", "add a line like `law_date: 2028-08-18`"),
        ("2028-08-18", "2028-02-30", '/law_date: law_date: "2028-02-30" is a day that does not exist'),
        ("2028-08-18", "18.08.2028", "is not a date; write it like 2027-02-18"),
        ("2028-08-18", "2028-08-18T00:00:00Z", "a text in quotes is expected"),
        ('"000417"', "000417", "YAML takes 271 for a number; put it in quotes"),
        ('"000417"', "yes", "YAML takes True for a yes or no; put it in quotes"),
        ("rules: eu", "ruels: eu", '/ruels: "ruels" is not known here; did you mean rules?'),
        ("name: Pack, ", "", "/product: name is missing; add it"),
        ("{name: Pack, identifier: P-1}", "Pack", "/product: an object in braces is expected"),
        ("kind: BOM", "kind: BON", '/documents/0/kind: kind: "BON" is not one of: BOM, PCF'),
        ("kind: BOM", "knd: BOM", "did you mean kind?"),
        ('"1.234,56"', "1 234", '"1 234" is not one of: 1.234,56, 1,234.56'),
        (", mime_type: text/csv", "", '/documents/1: mime_type is missing: the ending of "data.txt"'),
        ("data.txt", "bom.csv", "bom.csv is listed twice"),
        ("data.txt", "../x.csv", "a document lies beside passport.yaml"),
        ("data.txt", "gone.csv", "gone.csv: No such file"),
        ("mapping: mapping.yaml", "mapping: gone.yaml", '"gone.yaml": No such file'),
        ("mapping: mapping.yaml", "mapping: ../m.yaml", "lies beside passport.yaml"),
        ("mapping: mapping.yaml", "mapping: bom.csv", '"bom.csv": it is empty; say under names'),
    ],
)
def test_a_mistake_is_named_with_its_place_and_what_to_do(
    folder: Path, old: str, new: str, words: str
) -> None:
    assert old in GOOD
    assert words in read(folder, GOOD.replace(old, new))


def test_all_mistakes_come_in_one_answer(folder: Path) -> None:
    message = read(folder, GOOD.replace("BOM", "BON").replace("eu_battery", "").replace("P-1", "1"))

    for place in ("/rules: ", "/product/identifier: ", "/documents/0/kind: "):
        assert place in message


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ("[]", "no documents are listed"),
        ("{file: x}", "a list is expected"),
        ("[x]", "/documents/0: an object in braces is expected"),
        (
            str([{"file": f"{n}.csv", "kind": "BOM"} for n in range(101)]),
            "101 documents are listed, 100 at most",
        ),
    ],
)
def test_documents_are_a_list(folder: Path, documents: str, words: str) -> None:
    assert words in read(folder, GOOD.partition("documents:")[0] + f"documents: {documents}")


@pytest.mark.parametrize("text", ["[", "a: 1\na: 2", "- x"])
def test_what_is_no_recipe_is_refused(folder: Path, text: str) -> None:
    assert "passport.yaml: " in read(folder, text)


def test_a_folder_without_a_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="it says which file is what"):
        read_folder(tmp_path, document_bytes=100)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ("names: {Kap: performance.rated_capacity}", "did you mean performance.rated_capacity_ah?"),
        ("a: [", "expected"),
    ],
)
def test_a_mapping_that_is_none_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "mapping.yaml").write_text(text)

    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        read_mapping(tmp_path / "mapping.yaml")
