"""Every piece of Python that a page shows is Python."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```py(?:thon)?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def snippets() -> Iterator[tuple[str, str]]:
    """Where it begins, and the text with the line numbers of the page."""
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        text = page.read_text(encoding="utf-8")
        for found in FENCE.finditer(text):
            line = text.count("\n", 0, found.start(1))
            yield f"{page.relative_to(ROOT)}:{line}", "\n" * line + found[1]


SNIPPETS = dict(snippets())


@pytest.mark.parametrize("place", SNIPPETS)
def test_a_snippet_compiles(place: str) -> None:
    compile(SNIPPETS[place], place, "exec")


def test_the_pages_show_some() -> None:
    assert {"README.md", "docs/webhooks.md"} <= {place.partition(":")[0] for place in SNIPPETS}
