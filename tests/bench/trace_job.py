"""Which files does a plain job cross, from the call of the claim to the answer of the settle?

`python -m tests.bench.trace_job [--tree DIR] [--brief]`

The second job of a warm, idle worker that hears NOTIFY; a job that does nothing. Counted are all files below
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
    parser.add_argument(
        "--brief", action="store_true", help="the counts alone, without every hop in its order"
    )
    given = parser.parse_args()
    tree = Tree("traced", given.tree.resolve())
    tree.prepare()
    [_, second] = traced(tree, 2)
    print(f"{len(second.entered)} files, {len(second.hops)} hops")
    for file, times in second.entered.most_common():
        print(f"{times:6}  {file}")
    if not given.brief:
        print()
        for thread, file, function in second.hops:
            print(f"{thread:20}  {file:40}  {function}")


if __name__ == "__main__":
    main()
