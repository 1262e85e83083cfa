"""Do the tests of a rule module notice when it is wrong? Change it in every small way and see.

    python -m tests.mutation.mutate_rules [FILE] [--sample N]

Every mutant that is still a rule module must fail one of its own tests. Exit code 1 when a mutant survives.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, place
from bpc_worker.core.rules.testing import run_tests
from bpc_worker.core.rules.typed import Example, Property, TypedModule
from tests.mutation.mutants import Mutant, mutants

SHIPPED = Path(__file__).parents[2] / "bpc_worker" / "files" / "rule_packages" / "battery_core.rules"

# (field or table, change) -> why no test can tell the mutant from the original
EQUIVALENT: Mapping[tuple[str, str], str] = {}


@dataclass(frozen=True, slots=True)
class Outcome:
    killed: int
    refused: int  # no longer a rule module: the check finds it
    excluded: tuple[Mutant, ...]
    survivors: tuple[Mutant, ...]

    @property
    def mutants(self) -> int:
        return self.killed + len(self.excluded) + len(self.survivors)


class Bench:
    """A module, and which of its tests have killed most so far: those are tried first."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._kills: Counter[str] = Counter()
        if not run_tests(load(source)).passed:
            raise ValueError("the module fails its own tests as it is")

    def refuses(self, mutant: Mutant) -> bool | None:
        """True: a test fails. False: all pass. None: the mutant is no rule module."""
        try:
            module = load(mutant.applied(self._source))
        except RuleError:
            return None
        return any(self._fails(test, module) for test in sorted(module.tests, key=self._rank))

    def _rank(self, test: Example | Property) -> tuple[bool, int]:
        return isinstance(test, Property), -self._kills[test.name]

    def _fails(self, test: Example | Property, module: TypedModule) -> bool:
        passed = run_tests(replace(module, tests=(test,))).passed
        self._kills[test.name] += not passed
        return not passed


def run(source: str, *, sample: int | None = None) -> Outcome:
    """All mutants, or about `sample` of them, evenly spread."""
    found = mutants(source)
    every = 1 if sample is None else max(1, -(-len(found) // sample))
    bench = Bench(source)
    killed = refused = 0
    excluded, survivors = [], []
    for mutant in found[::every]:
        if (mutant.owner, mutant.change) in EQUIVALENT:
            excluded.append(mutant)
            continue
        verdict = bench.refuses(mutant)
        if verdict is None:
            refused += 1
        elif verdict:
            killed += 1
        else:
            survivors.append(mutant)
    return Outcome(killed, refused, tuple(excluded), tuple(survivors))


def shown(source: str, mutant: Mutant) -> str:
    at = place(source, mutant.span)
    return f"line {at.line}, column {at.column}, {mutant.owner}: {mutant.change}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("file", nargs="?", type=Path, default=SHIPPED)
    arguments.add_argument("--sample", type=int, help="about so many mutants, evenly spread")
    given = arguments.parse_args()
    source = given.file.read_text(encoding="utf-8")
    started = time.monotonic()
    outcome = run(source, sample=given.sample)
    for mutant in outcome.survivors:
        print(f"survived: {shown(source, mutant)}")
    for mutant in outcome.excluded:
        print(f"excluded: {shown(source, mutant)}: {EQUIVALENT[mutant.owner, mutant.change]}")
    print(
        f"{outcome.mutants} mutants: {outcome.killed} killed, {len(outcome.survivors)} survived, "
        f"{len(outcome.excluded)} excluded; {outcome.refused} more were refused by the check; "
        f"{time.monotonic() - started:.1f} s"
    )
    return 1 if outcome.survivors else 0


if __name__ == "__main__":
    sys.exit(main())
