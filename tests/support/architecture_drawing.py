"""The drawing in docs/architecture.md, made from the import contracts in pyproject.toml.

`python -m tests.support.architecture_drawing` writes it anew between its marks.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "architecture.md"
PACKAGE: Final = ROOT / "bpc_worker"

_BEGIN, _END = "<!-- layers -->\n", "<!-- /layers -->"
_OURS = ("bpc_worker", "handlers")

Contract = Mapping[str, Any]


def contracts() -> Sequence[Contract]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: Sequence[Contract] = settings["tool"]["importlinter"]["contracts"]
    return found


def rooms() -> set[str]:
    """Packages and modules right below bpc_worker/."""
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def drawing(found: Sequence[Contract]) -> str:
    stacks = [_stack(each) for each in found if each["type"] == "layers"]
    walls = [wall for each in found if each["type"] == "forbidden" for wall in _walls(each)]
    return "\n".join(["```text", *"\n\n".join([*stacks, "\n".join(walls)]).splitlines(), "```", ""])


def _stack(contract: Contract) -> str:
    """The top may know all below it; nobody knows anybody above or beside."""
    layers = ["  ·  ".join(re.split(r"\s*[|:]\s*", layer)) for layer in contract["layers"]]
    wide = max(len(each) for each in layers)
    inside = [f"│ {each:{wide}} │" for each in layers]
    rule = "─" * (wide + 2)
    [container] = contract["containers"]
    return "\n".join([f"{container}", f"┌{rule}┐", *inside, f"└{rule}┘"])


def _walls(contract: Contract) -> list[str]:
    """What may not be imported although it lies below; of libraries the linter alone keeps the list."""
    forbidden = [name for name in contract["forbidden_modules"] if name.startswith(_OURS)]
    if not forbidden:
        return []
    return [f"{', '.join(contract['source_modules'])}  ✗→  {', '.join(forbidden)}"]


def with_drawing(page: str) -> str:
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError("the page has no marks for the drawing")
    return f"{before}{_BEGIN}{drawing(contracts())}{_END}{after}"


def main() -> None:
    PAGE.write_text(with_drawing(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
