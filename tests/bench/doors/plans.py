"""What statements of pages read: whole tables, or what an index points at."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import cast

_TITLE = 90


def nodes(plan: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield plan
    for below in cast("Sequence[Mapping[str, object]]", plan.get("Plans", ())):
        yield from nodes(below)


def whole_tables(told: Iterable[Mapping[str, object]], large: Container[str]) -> dict[str, set[str]]:
    """By the beginning of a statement: those of these tables that it reads from one end to the other."""
    found: dict[str, set[str]] = {}
    for each in told:
        tables = {str(node["Relation Name"]) for node in nodes(_plan(each)) if _reads_all(node, large)}
        if tables:
            found.setdefault(title(each), set()).update(tables)
    return found


def _plan(told: Mapping[str, object]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", told["Plan"])


def _reads_all(node: Mapping[str, object], large: Container[str]) -> bool:
    return node["Node Type"] == "Seq Scan" and node.get("Relation Name") in large


def title(told: Mapping[str, object]) -> str:
    """What the file of a statement begins with, which says what it is for."""
    return " ".join(str(told["Query Text"]).split())[:_TITLE]
