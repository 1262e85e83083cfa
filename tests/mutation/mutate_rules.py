"""Do the tests of a rule module notice when it is wrong? Change it in every small way and see.

    python -m tests.mutation.mutate_rules [RULES] [--sample N] [--seed N]

RULES is a file, a folder or the name of a shipped package; without it, all of those are taken. Every mutant
that is still a rule module must fail one of its own tests. Exit code 1 when a mutant survives.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, place
from bpc_worker.core.rules.testing import run_tests
from bpc_worker.core.rules.typed import Example, Property, TypedModule
from bpc_worker.files.rules import read_rules, shipped
from tests.mutation.mutants import Mutant, mutants

# (field or table, change) -> why no test can tell the mutant from the original
_NO_ACT = "it has no value before an act is adopted, so its unit is never seen"
_WAITS = "never seen while no act is adopted; tests/unit/files/test_eu_battery.py adopts one"
_WAITING = (
    "carbon.absolute", "carbon.model", "carbon.per_kwh", "recycled.cobalt", "recycled.lead",
    "recycled.lithium", "recycled.nickel",
)  # fmt: skip
EQUIVALENT: Mapping[tuple[str, str], str] = {
    ("carbon.absolute", "tCO2e -> gCO2e"): _NO_ACT,
    ("carbon.absolute", "tCO2e -> kgCO2e"): _NO_ACT,
    ("carbon.per_kwh", "kgCO2e_per_kWh -> gCO2e_per_kWh"): _NO_ACT,
    **{(path, "missing -> withheld"): _WAITS for path in _WAITING},
}


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
        text = mutant.applied(self._source)
        try:
            module = load(text)
        except RuleError:
            return None

        def rank(test: Example | Property) -> tuple[bool, bool, int]:
            speaks_of_it = mutant.owner in text[test.span.start : test.span.end]
            return isinstance(test, Property), not speaks_of_it, -self._kills[test.name]

        return any(self._fails(test, module) for test in sorted(module.tests, key=rank))

    def _fails(self, test: Example | Property, module: TypedModule) -> bool:
        passed = run_tests(replace(module, tests=(test,))).passed
        self._kills[test.name] += not passed
        return not passed


def run(source: str, *, sample: int | None = None, seed: int = 0) -> Outcome:
    """All mutants, or `sample` of them, drawn by the seed."""
    found = mutants(source)
    if sample is not None and sample < len(found):
        found = sorted(Random(seed).sample(found, sample), key=lambda mutant: mutant.span)
    bench = Bench(source)
    killed = refused = 0
    excluded, survivors = [], []
    for mutant in found:
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
    arguments.add_argument("rules", nargs="?", help="a file, a folder or the name of a shipped package")
    arguments.add_argument("--sample", type=int, help="so many mutants of each, drawn by the seed")
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    names = [given.rules] if given.rules else sorted(shipped())
    outcomes = [report(name, read_rules(name), given.sample, given.seed) for name in names]
    return 1 if any(outcome.survivors for outcome in outcomes) else 0


def report(name: str, source: str, sample: int | None, seed: int) -> Outcome:
    started = time.monotonic()
    outcome = run(source, sample=sample, seed=seed)
    for mutant in outcome.survivors:
        print(f"survived: {shown(source, mutant)}")
    for mutant in outcome.excluded:
        print(f"excluded: {shown(source, mutant)}: {EQUIVALENT[mutant.owner, mutant.change]}")
    print(
        f"{Path(name).stem}: {outcome.mutants} mutants: {outcome.killed} killed, "
        f"{len(outcome.survivors)} survived, {len(outcome.excluded)} excluded; "
        f"{outcome.refused} more were refused by the check; {time.monotonic() - started:.1f} s",
        flush=True,
    )
    return outcome


if __name__ == "__main__":
    sys.exit(main())
