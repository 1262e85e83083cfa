"""The example in docs/testing-handlers.md, as it stands there, with the handler that stands in the README."""

import inspect
import re
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import ModuleType

import pytest

_ROOT = Path(__file__).parents[3]
_EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def module_from(name: str, document: str, *, under: str) -> ModuleType:
    """Of the first example below a heading."""
    _, _, rest = (_ROOT / document).read_text().partition(f"# {under}\n")
    text = _EXAMPLE.findall(rest)[0]
    module = ModuleType(name)
    exec(compile(text, document, "exec"), vars(module))  # noqa: S102 - our own words
    return module


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setitem(sys.modules, "your_package", ModuleType("your_package"))
    handler = module_from("your_package.weigh", "README.md", under="A handler of your own")
    monkeypatch.setitem(sys.modules, "your_package.weigh", handler)
    return module_from("example", "docs/testing-handlers.md", under="Testing a handler")


def examples_in(module: ModuleType) -> dict[str, Callable[[], Coroutine[object, object, None]]]:
    return {
        name: test
        for name, test in vars(module).items()
        if name.startswith("test_") and inspect.iscoroutinefunction(test)
    }


async def test_the_example_passes(example: ModuleType) -> None:
    found = examples_in(example)

    assert len(found) == 3
    for test in found.values():
        await test()


async def test_the_example_notices_a_handler_that_writes_something_else(example: ModuleType) -> None:
    vars(example)["MASS"] = "SELECT something ELSE"
    with pytest.raises(LookupError, match="SELECT mass FROM parts"):
        await examples_in(example)["test_the_mass_is_written_with_the_success"]()
