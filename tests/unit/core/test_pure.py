"""The core reads nothing, writes nothing, and asks neither a clock nor dice."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parents[3] / "bpc_worker" / "core"
FILES = sorted(CORE.rglob("*.py"))

# All that the core may import besides itself: None is the whole module, else the names that do no harm.
ALLOWED: dict[str, set[str] | None] = {
    "base64": None,
    "bisect": None,
    "calendar": {"monthrange"},
    "collections": None,
    "collections.abc": None,
    "contextlib": {"contextmanager", "suppress"},
    "cryptography.exceptions": None,
    "cryptography.hazmat.primitives.asymmetric.ed25519": None,
    "csv": None,
    "dataclasses": None,
    "datetime": {"UTC", "date", "datetime", "timedelta"},
    "decimal": None,
    "difflib": {"get_close_matches"},
    "email.utils": {"parsedate_to_datetime"},
    "enum": None,
    "fractions": None,
    "functools": None,
    "hashlib": None,
    "heapq": None,
    "hmac": None,
    "io": {"StringIO"},
    "ipaddress": None,
    "itertools": None,
    "json": None,
    "operator": None,
    "re": None,
    "types": None,
    "typing": None,
    "urllib.parse": {"quote", "unquote"},
    "uuid": {"UUID", "uuid5"},
    "zlib": None,
}
BUILTINS = {"open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint", "hash", "id"}
CLOCKS_AND_DICE = {
    "now",
    "today",
    "utcnow",
    "fromtimestamp",
    "uuid1",
    "uuid4",
    "getLogger",
    "environ",
}


def impure(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if ALLOWED.get(each.name, set()) is not None)
            case ast.ImportFrom(level=0, module=str(module), names=names):
                if module.startswith("bpc_worker.core"):
                    continue
                allowed = ALLOWED.get(module, set())
                yield from (
                    f"{module}.{each.name}"
                    for each in names
                    if allowed is not None and each.name not in allowed
                )
            case ast.ImportFrom():
                yield "a relative import"
            case ast.Call(func=ast.Name(id=name)) if name in BUILTINS:
                yield name
            case ast.Attribute(attr=name) if name in CLOCKS_AND_DICE:
                yield name
            case _:
                pass


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CORE)))
def test_a_module_of_the_core_imports_and_calls_nothing_impure(file: Path) -> None:
    assert list(impure(ast.parse(file.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os", ["os"]),
        ("import uuid", ["uuid"]),
        ("from uuid import uuid4", ["uuid.uuid4"]),
        ("from pathlib import Path", ["pathlib.Path"]),
        ("from bpc_worker.observability import log", ["bpc_worker.observability.log"]),
        ("from . import log", ["a relative import"]),
        ("open('x')", ["open"]),
        ("date.today()", ["today"]),
        ("import json\nfrom uuid import UUID", []),
    ],
)
def test_what_counts_as_impure(text: str, found: list[str]) -> None:
    assert list(impure(ast.parse(text))) == found
