"""The page about forms of others: its tables are those of the forms, its documents are taken."""

import re

import pytest

from tests.support.forms_table import PAGE, with_tables

from .sending import JSON, facts

_TEXT = PAGE.read_text(encoding="utf-8")
_BLOCKS = re.findall(r"^```json ([A-Z_]+)\n(.*?)^```$", _TEXT, re.MULTILINE | re.DOTALL)


def test_the_tables_on_the_page_are_those_of_the_forms() -> None:
    assert with_tables(_TEXT) == _TEXT, "run python -m tests.support.forms_table"


@pytest.mark.parametrize(("kind", "text"), _BLOCKS)
def test_a_document_on_the_page_is_taken(kind: str, text: str) -> None:
    assert facts(text, kind, mime=JSON)
