"""This tree beside another checkout of the project, row by row, in turns: `make bench AGAINST=<checkout>`.

One PostgreSQL; each tree has its own environment, its own databases, and logs in as a member of bpc_worker.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.against_rows import MEASURES, Match
from tests.bench.bench import DEFAULTS, ROOT
from tests.bench.report import number, table
from tests.bench.trees import Tree
from tests.support.database import postgres

AT_LEAST: Final = {"drain, 10 slots": 0.95, "drain, 100 slots": 0.95, "passports": 0.95}
AT_MOST: Final = {"wake, NOTIFY, p50": 1.2, "wake, AMQP, p50": 1.2}
HEAD: Final = ("row", "ours", "theirs", "ratio", "ratios by round", "rounds", "wanted", "")


@dataclass(frozen=True)
class Row:
    """One figure of both trees, in as many rounds."""

    name: str
    ours: Sequence[float]
    theirs: Sequence[float]

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return median(self.ours) / median(self.theirs)

    @property
    def ratios(self) -> list[float]:
        return [mine / other for mine, other in zip(self.ours, self.theirs, strict=True)]

    @property
    def wanted(self) -> str:
        if self.name in AT_LEAST:
            return f">= {AT_LEAST[self.name]:g}"
        return f"<= {AT_MOST[self.name]:g}" if self.name in AT_MOST else ""

    @property
    def met(self) -> bool:
        return AT_LEAST.get(self.name, 0) <= self.ratio <= AT_MOST.get(self.name, float("inf"))

    def cells(self) -> Sequence[str]:
        spread = f"{min(self.ratios):.2f} to {max(self.ratios):.2f}"
        verdict = ("met" if self.met else "**missed**") if self.wanted else ""
        medians = number(median(self.ours)), number(median(self.theirs))
        return self.name, *medians, f"{self.ratio:.2f}", spread, str(len(self.ours)), self.wanted, verdict


def compare(match: Match, ours: Tree, theirs: Tree, only: Sequence[str], rounds: int) -> Iterator[Row]:
    for measure in only:
        found: dict[str, list[Mapping[str, float]]] = {ours.name: [], theirs.name: []}
        for turn in range(rounds):
            for tree in (ours, theirs):
                found[tree.name].append(MEASURES[measure](match, tree))
                told = ", ".join(f"{name}: {number(value)}" for name, value in found[tree.name][-1].items())
                print(
                    f"{time.strftime('%H:%M:%S')}  {turn + 1} {tree.name}: {told}",
                    file=sys.stderr,
                    flush=True,
                )
        for name in found[ours.name][0]:
            mine, other = ([values[name] for values in found[tree.name]] for tree in (ours, theirs))
            yield Row(name, mine, other)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="the other tree")
    parser.add_argument("--only", default=",".join(MEASURES), help=f"rows, of {', '.join(MEASURES)}")
    parser.add_argument("--rounds", type=int, help="default 5, with --quick 2")
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument(
        "--json", type=Path, default=ROOT / "out" / "against.json", help="where the figures go"
    )
    given = parser.parse_args()
    given.only = given.only.split(",")
    unknown = [name for name in given.only if name not in MEASURES]
    if unknown:
        parser.error(f"there is no row {', '.join(unknown)}; there are {', '.join(MEASURES)}")
    given.rounds = given.rounds or (2 if given.quick else 5)
    return given


def main() -> int:
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # servers and workers end with us
    print(
        f"load before the start: {os.getloadavg()[0]:.2f}; floors hold where nobody else works",
        file=sys.stderr,
    )
    ours, theirs = Tree("ours", ROOT), Tree("theirs", given.checkout.resolve())
    theirs.prepare()
    with ExitStack() as opened:
        match = Match(opened.enter_context(postgres(DEFAULTS)), opened, quick=given.quick)
        rows = list(compare(match, ours, theirs, given.only, given.rounds))
    print("jobs/s, passports/s: more is better; wake in ms: less is better\n")
    print(table(HEAD, [row.cells() for row in rows]))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    kept = {row.name: {"ours": row.ours, "theirs": row.theirs, "ratio": row.ratio} for row in rows}
    given.json.write_text(json.dumps(kept, indent=2) + "\n")
    return 0 if rows and all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
