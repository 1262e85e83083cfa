"""What handlers may import: an allow-list, so that something new is a decision and not an accident."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HANDLERS = Path(__file__).parents[2] / "handlers"
ALLOWED = (
    "bpc_worker.handler_api", "bpc_worker.core", "bpc_worker.documents", "bpc_worker.domain",
    "bpc_worker.carrier", "bpc_worker.processes.program", "bpc_worker.rows", "msgspec",
    *sys.stdlib_module_names,
)  # fmt: skip


def imported(source: str) -> Iterator[str]:
    """Every module and every name that is taken from one, wherever the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{each.name}" for each in node.names)


def strangers(source: str) -> list[str]:
    return [each for each in imported(source) if not f"{each}.".startswith(tuple(f"{a}." for a in ALLOWED))]


@pytest.mark.parametrize("handler", sorted(HANDLERS.glob("*.py")), ids=lambda path: path.stem)
def test_a_handler_imports_only_what_is_meant_for_handlers(handler: Path) -> None:
    assert strangers(handler.read_text()) == []


@pytest.mark.parametrize(
    ("line", "stranger"),
    [
        ("import psycopg", "psycopg"),
        ("from bpc_worker import wiring", "bpc_worker.wiring"),
        ("from bpc_worker.processes import pool", "bpc_worker.processes.pool"),
        ("from bpc_worker.corelike import x", "bpc_worker.corelike.x"),
        ("from handlers.parse_facts import PARSE", "handlers.parse_facts.PARSE"),
        ("from . import parse_facts", "..parse_facts"),
        ("def run():\n    import bpc_worker.postgres.again", "bpc_worker.postgres.again"),
    ],
)
def test_anything_else_is_found(line: str, stranger: str) -> None:
    assert strangers(f"import os\nfrom bpc_worker.core.base import hashing\n{line}\n") == [stranger]
