"""The pages for people: links that lead somewhere, files that exist, lines that fit, rooms as they are."""

import csv
import re
from pathlib import Path

import pytest

from tests.support import architecture_drawing as architecture
from tests.support import markdown

PAGES = markdown.pages()
JOURNEY = markdown.ROOT / "docs" / "journey.md"

_NAMED = re.compile(r"`((?:bpc_worker|handlers|sql|tests|docs|deploy)/[\w./-]+)`")
_HISTORY = "CHANGELOG.md"  # which may name what is gone


def _name(path: Path) -> str:
    return path.relative_to(markdown.ROOT).as_posix()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _dead(path: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return False
    where, _, anchor = link.partition("#")
    target = path.parent / where if where else path
    if not target.exists():
        return True
    return bool(anchor) and anchor not in markdown.anchors(_text(target))


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_links_and_anchors_lead_somewhere(path: Path) -> None:
    assert [link for link in markdown.links(_text(path)) if _dead(path, link)] == []


def test_a_link_to_nowhere_is_seen() -> None:
    page = "# A title\n\n[there](#a-title) [gone](#another) [away](gone.md) [out](https://example.org/x)\n"
    path = markdown.ROOT / "docs" / "journey.md"

    assert markdown.anchors(page) == {"a-title"}
    assert [link for link in markdown.links(page) if _dead(path, link)] == ["#a-title", "#another", "gone.md"]


@pytest.mark.parametrize("path", [path for path in PAGES if path.name != _HISTORY], ids=_name)
def test_files_that_are_named_exist(path: Path) -> None:
    named = set(_NAMED.findall(_text(path)))

    assert {name for name in named if not (markdown.ROOT / name).exists()} == set()


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_prose_fits_into_its_columns(path: Path) -> None:
    """If not: `python -m tests.support.markdown`."""
    page = _text(path)
    too_long = [
        line.text for line in markdown.lines(page) if line.is_prose and len(line.text) > markdown.WIDTH
    ]

    assert markdown.wrapped(page) == page, too_long


def test_wrapping_leaves_lists_tables_and_code_alone() -> None:
    long = ("word " * 30).strip()
    untouched = f"# {long}\n\n| {long} |\n\n    {long}\n\n```\n{long}\n```\n\n"
    page = f"{untouched}- {long} `a  b`\n  more - less\n- next\n\n{long}\n"

    wrapped = markdown.wrapped(page)

    assert wrapped.split() == page.split()
    assert wrapped.startswith(untouched)
    assert f"\n  {'word ' * 9}`a  b` more - less\n- next\n\nword" in wrapped
    assert max(len(line) for line in wrapped.removeprefix(untouched).splitlines()) <= markdown.WIDTH


def test_the_drawing_is_that_of_the_contracts() -> None:
    """If not: `python -m tests.support.architecture_drawing`."""
    page = _text(architecture.PAGE)

    assert architecture.with_drawing(page) == page


def test_every_room_has_its_line() -> None:
    page = _text(architecture.PAGE)
    described = set(re.findall(r"^\| `(\w+)` \|", page.partition("## Who may call whom")[0], re.MULTILINE))

    assert described == architecture.rooms()


def test_where_everything_is_caught_is_written_down() -> None:
    table = (
        _text(markdown.ROOT / "CONTRIBUTING.md")
        .partition("## Where everything is caught")[2]
        .partition("\n## ")[0]
    )
    code = [*markdown.ROOT.glob("bpc_worker/**/*.py"), *markdown.ROOT.glob("handlers/*.py")]

    assert set(_NAMED.findall(table)) == {_name(path) for path in code if "noqa: BLE001" in _text(path)}


def test_what_has_moved_is_where_the_list_says() -> None:
    with (markdown.ROOT / "docs" / "moved.csv").open(encoding="utf-8") as file:
        new = [markdown.ROOT / row["new"].replace(".", "/") for row in csv.DictReader(file)]

    assert [_name(path) for path in new if not (path.with_suffix(".py").exists() or path.is_dir())] == []
