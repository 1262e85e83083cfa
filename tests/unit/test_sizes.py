"""How long a module, a function and a query may be; longer ones are named here with their reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE, FUNCTION, QUERY, MOST_EXCEPTIONS = 300, 40, 120, 5
EXCEPTIONS = {  # what is longer, and why
    "bpc_worker/observability/metrics.py:__init__": "a line for each metric: a list, which is read as one",
}


def too_long() -> Iterator[str]:
    for path in sorted([*ROOT.glob("bpc_worker/**/*.py"), *ROOT.glob("handlers/*.py")]):
        name, text = str(path.relative_to(ROOT)), path.read_text()
        if len(text.splitlines()) > MODULE:
            yield name
        yield from (f"{name}:{found}" for found in long_functions(ast.parse(text)))
    for path in sorted(ROOT.glob("sql/queries/**/*.sql")):
        if len(path.read_text().splitlines()) > QUERY:
            yield str(path.relative_to(ROOT))


def long_functions(tree: ast.Module) -> Iterator[str]:
    """From `def` to the last line, without the docstring, which is for people."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = [node.body[0]] if ast.get_docstring(node) else []
            if _lines(node) - sum(map(_lines, said)) > FUNCTION:
                yield node.name


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_nothing_is_longer_than_it_may_be_but_what_is_named_here() -> None:
    assert sorted(too_long()) == sorted(EXCEPTIONS)
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS
    assert all(EXCEPTIONS.values())


def test_a_long_function_is_found_wherever_it_stands() -> None:
    def of(lines: int) -> ast.Module:
        said = '        """One.\n\n        Two."""\n'
        return ast.parse("class A:\n    def b(self):\n" + said + "        x = 1\n" * (lines - 1))

    assert [*long_functions(of(FUNCTION))] == []
    assert [*long_functions(of(FUNCTION + 1))] == ["b"]
