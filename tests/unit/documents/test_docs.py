"""Every document on the page about documents is taken."""

import re
from pathlib import Path

import pytest

from .sending import CSV, JSON, facts

_PAGE = Path(__file__).parents[3] / "docs" / "documents.md"
_BLOCKS = re.findall(r"^```(csv|json) ([A-Z_]+)\n(.*?)^```$", _PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("form", "kind", "text"), _BLOCKS)
def test_a_document_on_the_page_is_taken(form: str, kind: str, text: str) -> None:
    assert facts(text, kind, mime={"csv": CSV, "json": JSON}[form])


def test_the_page_shows_each_shape_of_ours() -> None:
    assert len(_BLOCKS) == 10
