"""The run as a table for people, as JSON, and between two marks of docs/benchmarks.md."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.bench.results import Figure, Found, Goal

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def _spread(figure: Figure) -> str:
    low, high = figure.spread
    return f"{number(low)} to {number(high)}" if len(figure.values) > 1 else ""


def _figures(found: Found) -> list[Sequence[str]]:
    return [
        (figure.name, number(figure.median), _spread(figure), figure.unit, figure.settings)
        for figure in found.figures
    ]


def _goals(goals: Sequence[Goal]) -> list[Sequence[str]]:
    return [
        (goal.name, number(goal.value), goal.wanted, "met" if goal.met else "**missed**") for goal in goals
    ]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[at]) for line in [head, *rows]) for at in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in [head, *rows]
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def markdown(rows: Mapping[str, Found], facts: Mapping[str, str]) -> str:
    parts = ["".join(f"- {name}: {value}\n" for name, value in facts.items())]
    for name, found in rows.items():
        parts.append(f"### {name}: {found.title}\n\n{found.counted}\n")
        parts.append(table(("who", "median", "spread", "unit", "settings"), _figures(found)) + "\n")
        if found.goals:
            parts.append(table(("goal", "found", "wanted", ""), _goals(found.goals)) + "\n")
        parts.extend(f"Left out: {text}\n" for text in found.left_out)
    return "\n".join(parts)


def summary(rows: Mapping[str, Found]) -> str:
    lines = [(name, *line) for name, found in rows.items() for line in _goals(found.goals)]
    return table(("row", "goal", "found", "wanted", ""), lines)


def write_json(path: Path, rows: Mapping[str, Found], facts: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {
        name: asdict(found)
        | {"goals": [asdict(goal) | {"met": goal.met} for goal in found.goals]}
        | {"figures": [asdict(figure) | {"median": figure.median} for figure in found.figures]}
        for name, found in rows.items()
    }
    path.write_text(json.dumps({"facts": dict(facts), "rows": told}, indent=2) + "\n")


def write_docs(path: Path, text: str) -> None:
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path} has no {BEGIN} … {END}: put the two marks where the table should stand")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
