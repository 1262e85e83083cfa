"""How many jobs a second can be queued: one at a time, ten at a time, a thousand at a time?"""

from dataclasses import dataclass
from typing import Final

from tests.bench.bench import Bench, module, peer, program
from tests.bench.results import Found, Goal, Rounds
from tests.support.database import Database

RATE: Final = "jobs/s"
COUNTS: Final = {"single": (2_000, 500), "concurrent": (4_000, 1_000), "bulk": (30_000, 5_000)}
WHAT: Final = {"single": "one at a time", "concurrent": "10 concurrent", "bulk": "by the 1,000"}
COUNTED: Final = (
    "Durable jobs per second of one producer process, every call answered before the next of the same"
    " task. Where a system wakes its workers when it queues, that is part of it."
)


@dataclass(frozen=True)
class Entrant:
    name: str
    words: tuple[str, ...]
    how: str
    mode: str
    settings: str = ""
    peer: str | None = None
    kind: str | None = None

    def rate(self, bench: Bench) -> float:
        count = bench.much(*COUNTS[self.mode])
        if self.peer is None:
            with bench.database() as db:
                return self._rate(db, count, tenant=db.tenant())
        with bench.database(self.peer) as db:
            return self._rate(db, count, **({"kind": self.kind} if self.kind else {}))

    def _rate(self, db: Database, count: int, **more: object) -> float:
        db.run("CHECKPOINT")
        with program(
            list(self.words), do="enqueue", url=db.url, how=self.how, count=count, **more
        ) as running:
            return count / float(running.hear()["seconds"])


def entrants(mode: str) -> list[Entrant]:
    ours, bare = tuple(module("ours")), tuple(module("bare_enqueue"))
    pgqueuer, procrastinate = tuple(peer("pgqueuer")), tuple(peer("procrastinate"))
    limit = "bare COPY" if mode == "bulk" else "bare INSERT"
    found = [
        Entrant(
            "ours",
            ours,
            mode,
            mode,
            "PostgresJobs.enqueue_many" if mode == "bulk" else "PostgresJobs.enqueue",
        ),
        Entrant(
            limit, bare, mode, mode, "psycopg, all columns made beforehand" if mode == "bulk" else "psycopg"
        ),
        Entrant("pgqueuer asyncpg", pgqueuer, mode, mode, "uvloop", "pgqueuer", "asyncpg"),
        Entrant("pgqueuer psycopg", pgqueuer, mode, mode, "uvloop", "pgqueuer", "psycopg"),
        Entrant("procrastinate", procrastinate, mode, mode, "its pool", "procrastinate"),
    ]
    if mode == "concurrent":
        found.insert(1, Entrant("ours, ten stores", ours, "ten stores", mode, "a connection for every task"))
    return found


def measure(bench: Bench) -> Found:
    rounds = Rounds()
    for number in range(bench.rounds):
        for mode, what in WHAT.items():
            for entrant in entrants(mode):
                found = entrant.rate(bench)
                bench.log(f"enqueue {number + 1}: {entrant.name}, {what}: {found:,.0f} jobs/s")
                rounds.add(f"{entrant.name}, {what}", RATE, found, entrant.settings)
    ours, copy = rounds[f"ours, {WHAT['bulk']}", RATE], rounds[f"bare COPY, {WHAT['bulk']}", RATE]
    goal = Goal(name="ours, by the 1,000 : bare COPY", value=ours.over(copy), at_least=0.4)
    return Found(title="queueing jobs", counted=COUNTED, figures=rounds.figures(), goals=[goal])
