"""Which files does a plain job cross, from the call of the claim to the answer of the settle?

`python -m tests.bench.trace_job [--tree DIR] [--jobs N] [--brief]`

The second and later jobs of a warm, idle worker that hears NOTIFY; jobs that do nothing, one at a time. Where
claims take turns between several statements, some journeys are longer than others: there is a line for each,
and the plainest is shown. Counted are all files below
bpc_worker/ (neither handlers nor libraries), from the call of the job store's `claim` that brought the job to
the answer of the call that wrote its end: `settle`, `settle_group`, or a `claim` that carried it.

Per thread there is a current file: at a call that of the function called, at a return that of the nearest
caller that is ours; a coroutine that goes on is called, and one that waits returns. A hop is a change of the
current file. Between two callbacks of an event loop there is none of ours: what was current stays so.
"""

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.bench.trees import Tree, environment
from tests.support import database as databases
from tests.support.database import Database
from tests.support.worker import until

ROOT: Final = Path(__file__).parents[2]
# Connected, and silent for a while: between two polls.
_IDLE: Final = (
    "SELECT coalesce(bool_and(state = 'idle' AND state_change < clock_timestamp() - interval '0.3 s'), false)"
    " AS idle FROM pg_stat_activity WHERE usename = 'bpc_worker_login'"
)
PROGRAM: Final = Path(__file__).with_name("traced_worker.py")


@dataclass
class Trace:
    """Hops in their order: thread, file entered, function."""

    hops: list[tuple[str, str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, steps: Sequence[tuple[str, str, str]]) -> "Trace":
        trace, current = cls(), dict[str, str]()
        for thread, file, function in steps:
            if current.get(thread) != file:
                trace.hops.append((thread, file, function))
            current[thread] = file
        return trace

    @property
    def entered(self) -> Counter[str]:
        return Counter(file for _, file, _ in self.hops)


def traced(tree: Tree, jobs: int) -> list[Trace]:
    """The journeys of so many jobs, one after the other, each in an idle worker."""
    with databases.postgres() as server, tree.database(server) as db, _worker(tree, db) as answers:
        return [_one(db, answers) for _ in range(jobs)]


def _one(db: Database, answers: Iterator[str]) -> Trace:
    until(lambda: db.one(_IDLE)["idle"], within=30, what="an idle worker")
    job_id = db.enqueue("TEST_NOOP")
    trace = Trace.of(json.loads(next(answers)))
    until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=10, what="the end of the job")
    return trace


@contextmanager
def _worker(tree: Tree, db: Database) -> Iterator[Iterator[str]]:
    settings = {"BPC_LOG_LEVEL": "warning", "BPC_NOTIFY_ENABLED": "on"}
    running = subprocess.Popen(
        [str(tree.python), str(PROGRAM)],
        cwd=tree.path,
        env=environment(db.url_as("bpc_worker"), settings),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        yield iter(running.stdout)
    finally:
        running.kill()
        running.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout of the project")
    parser.add_argument("--jobs", type=int, default=10, help="how many, the first included")
    parser.add_argument(
        "--brief", action="store_true", help="the counts alone, without every hop in its order"
    )
    given = parser.parse_args()
    tree = Tree("traced", given.tree.resolve())
    tree.prepare()
    found = dict(enumerate(traced(tree, given.jobs), start=1))
    del found[1]  # the first is not warm
    for number, trace in found.items():
        runner = sum(times for file, times in trace.entered.items() if Path(file).name == "runner.py")
        print(f"job {number}: {len(trace.entered)} files, {len(trace.hops)} hops, runner.py {runner} times")
    show(min(found.values(), key=lambda trace: len(trace.hops)), brief=given.brief)


def show(trace: Trace, *, brief: bool) -> None:
    print(f"\nthe plainest: {len(trace.entered)} files, {len(trace.hops)} hops")
    for file, times in trace.entered.most_common():
        print(f"{times:6}  {file}")
    if not brief:
        print()
        for thread, file, function in trace.hops:
            print(f"{thread:20}  {file:40}  {function}")


if __name__ == "__main__":
    main()
