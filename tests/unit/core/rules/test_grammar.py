"""The page about the language is true: its grammar, its functions, its examples."""

import ast
import re
from pathlib import Path

import pytest

from bpc_worker.core.rules import (
    parse_expressions,
    parse_fixtures,
    parse_law,
    parse_literals,
    parse_tests,
    parse_types,
    parser,
    tokens,
)
from bpc_worker.core.rules.builtins import FUNCTIONS
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.parse_types import KEYWORDS
from bpc_worker.core.rules.source import Limits, render
from bpc_worker.core.rules.testing import run_tests
from tests.unit.core.rules.support import error_in

PAGE = (Path(__file__).parents[4] / "docs" / "rules.md").read_text()
PARSERS = (
    parser, parse_types, parse_literals, parse_expressions, parse_law, parse_fixtures, parse_tests, tokens,
)  # fmt: skip
RULE = re.compile(r"^(\w+) = (.*?) ;$", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def rules_in(text: str) -> list[tuple[str, str]]:
    return [(name, " ".join(body.split())) for name, body in RULE.findall(text)]


def rules_of_the_parser() -> list[tuple[str, str]]:
    found = []
    for module in PARSERS:
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            if isinstance(node, ast.FunctionDef):
                found += rules_in((ast.get_docstring(node) or "").split("\n\n")[0])
    return found


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_grammar_on_the_page_is_that_of_the_parser() -> None:
    [grammar] = blocks("ebnf")

    assert sorted(rules_in(grammar)) == sorted(rules_of_the_parser())


def test_every_rule_is_defined_once_and_every_name_in_it_is_defined() -> None:
    rules = dict(rules_of_the_parser())
    assert len(rules) == len(rules_of_the_parser())

    used = {name for body in rules.values() for name in re.findall(r"\w+", QUOTED.sub("", body))}

    assert used - set(rules) == {"letter", "digit", "character"}
    assert set(rules) - used == {"module", "comment"}


def test_the_page_lists_every_function_and_no_other() -> None:
    section = PAGE.split("## Functions")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)\(", row)}

    assert listed == set(FUNCTIONS)


def test_the_page_lists_the_reserved_words() -> None:
    [listed] = re.findall(r"Not\s+names:\s+`([^`]*)`", PAGE)

    assert set(listed.split()) == KEYWORDS


@pytest.mark.parametrize("source", blocks("rules"))
def test_the_examples_on_the_page_load_without_warnings_and_pass_their_own_tests(source: str) -> None:
    module = load(source)

    assert module.warnings == ()
    assert module.tests
    assert [result.failure for result in run_tests(module).results] == [None] * len(module.tests)


def test_the_error_on_the_page_is_what_is_printed() -> None:
    [printed] = [block for block in blocks("") if block.startswith("UNIT_MISMATCH")]
    source = printed.split("\n")[1].strip()

    assert render(source, error_in(source)) == printed.strip()


def test_the_limits_on_the_page_are_the_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", PAGE, re.MULTILINE)
    defaults = Limits()

    assert {name: int(value.replace(",", "")) for name, value in rows} == {
        name: getattr(defaults, name) for name in Limits.__dataclass_fields__
    }
