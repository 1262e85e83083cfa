"""How fast does one worker process empty a queue of jobs that do nothing?"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.bench import Bench, module, peer, program, settle_down
from tests.bench.bench_cpu import processor_seconds
from tests.bench.bench_worker import bench_worker
from tests.bench.procs import exact_seconds
from tests.bench.results import Figure, Found, Goal, Rounds
from tests.support.database import Database
from tests.support.worker import until

JOBS, QUICK_JOBS = 20_000, 4_000
SLOW_JOBS, QUICK_SLOW_JOBS = 2_000, 500
LONGEST = 180.0
RATE = "jobs/s"

COUNTED = (
    "Jobs that do nothing, queued beforehand, drained by one worker process. Counted by the database's"
    " own time stamps in each system's own tables: from the first claim to the last end. CPU: what /proc"
    " says of the worker's process and of all the server's, from the moment before the worker begins."
)


@dataclass(frozen=True)
class Tables:
    """How to ask a system's tables whether it is done, how many were done, and in how many seconds."""

    left: str
    span: str


OURS = Tables(
    left="SELECT EXISTS (SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING')) AS left",
    span=(
        "SELECT count(*) AS done, extract(epoch FROM max(finished_at) - min(started_at))::float AS seconds"
        " FROM jobs WHERE status = 'SUCCEEDED'"
    ),
)
PGQUEUER = Tables(
    left="SELECT EXISTS (SELECT FROM pgqueuer) AS left",
    span=(
        "SELECT count(*) FILTER (WHERE status = 'successful') AS done, extract(epoch FROM"
        " max(created) FILTER (WHERE status = 'successful')"
        " - min(created) FILTER (WHERE status = 'picked'))::float AS seconds FROM pgqueuer_log"
    ),
)
PROCRASTINATE = Tables(
    left="SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing')) AS left",
    span=(
        "SELECT count(*) FILTER (WHERE type = 'succeeded') AS done, extract(epoch FROM"
        " max(at) FILTER (WHERE type = 'succeeded')"
        " - min(at) FILTER (WHERE type = 'started'))::float AS seconds FROM procrastinate_events"
    ),
)


@dataclass(frozen=True)
class Drained:
    """Jobs per second, and microseconds of CPU per job in the worker and in the server."""

    rate: float
    worker: float
    server: float


Drain = Callable[[Bench], Drained]


@dataclass(frozen=True)
class Entrant:
    name: str
    settings: str
    drain: Drain


def fill(db: Database, count: int, job_type: str = "TEST_NOOP") -> None:
    db.run(
        "INSERT INTO jobs (tenant_id, type, payload) SELECT %s, %s, '{}' FROM generate_series(1, %s)",
        [db.tenant(), job_type, count],
    )


def watched(db: Database, tables: Tables, count: int, pid: int) -> Drained:
    """From when the worker is about to begin. Asked seldom: a question costs time that the worker needs."""
    server = db.server.postmaster_pid()
    assert server is not None
    worker_before, server_before = exact_seconds(pid), processor_seconds(server)
    until(lambda: not db.one(tables.left)["left"], within=LONGEST, what="an empty queue", every=0.25)
    worker_used, server_used = exact_seconds(pid) - worker_before, processor_seconds(server) - server_before
    row = db.one(tables.span)
    assert row["done"] == count, f"{row['done']} of {count} jobs are done"
    return Drained(count / float(str(row["seconds"])), 1e6 * worker_used / count, 1e6 * server_used / count)


def ours(concurrency: int) -> Drain:
    def drain(bench: Bench) -> Drained:
        count = bench.much(JOBS, QUICK_JOBS)
        with bench.database() as db:
            fill(db, count)
            settle_down(db)
            url = db.url_as("bpc_worker")
            with bench_worker(url, BPC_WORKER_CONCURRENCY=concurrency) as running:
                until(lambda: running.said("started"), within=30, what="started")
                return watched(db, OURS, count, running.pid)

    return drain


def raw(batch: int) -> Drain:
    def drain(bench: Bench) -> Drained:
        count = bench.much(JOBS, QUICK_JOBS)
        with bench.database() as db:
            fill(db, count)
            settle_down(db)
            with program(module("bare_drain"), do="drain", url=db.url, batch=batch) as running:
                running.hear()
                found = watched(db, OURS, count, running.pid)
                running.tell("enough")
                return found

    return drain


def of_peer(name: str, tables: Tables, counts: tuple[int, int], **asked: object) -> Drain:
    def drain(bench: Bench) -> Drained:
        count = bench.much(*counts)
        with bench.database(name) as db:
            with program(peer(name), do="fill", url=db.url, count=count) as filling:
                filling.hear()
            settle_down(db)
            with program(peer(name), do="work", url=db.url, marks=None, **asked) as running:
                running.hear()
                return watched(db, tables, count, running.pid)

    return drain


def pgqueuer(kind: str, batch: int) -> Drain:
    return of_peer("pgqueuer", PGQUEUER, (JOBS, QUICK_JOBS), kind=kind, batch=batch)


def procrastinate(concurrency: int, connections: int) -> Drain:
    asked = {"concurrency": concurrency, "connections": connections}
    return of_peer("procrastinate", PROCRASTINATE, (SLOW_JOBS, QUICK_SLOW_JOBS), **asked)


ENTRANTS = (
    Entrant("ours, concurrency 100", "defaults otherwise", ours(100)),
    Entrant("ours, concurrency 10", "defaults", ours(10)),
    Entrant("raw limit, k = 100", "psycopg, one connection, no handlers", raw(100)),
    Entrant("raw limit, k = 10", "psycopg, one connection, no handlers", raw(10)),
    Entrant(
        "pgqueuer asyncpg, batch 10",
        "uvloop, one connection; batch 10 is its default",
        pgqueuer("asyncpg", 10),
    ),
    Entrant("pgqueuer asyncpg, batch 500", "uvloop, one connection", pgqueuer("asyncpg", 500)),
    Entrant("pgqueuer psycopg, batch 10", "uvloop, one connection", pgqueuer("psycopg", 10)),
    Entrant("pgqueuer psycopg, batch 500", "uvloop, one connection", pgqueuer("psycopg", 500)),
    Entrant("procrastinate, concurrency 30", "its pool of 4", procrastinate(30, 4)),
)


def measure(bench: Bench) -> Found:
    rounds = Rounds()
    for number in range(bench.rounds):
        for entrant in ENTRANTS:
            found = entrant.drain(bench)
            cpu = f"CPU {found.worker:.0f} + {found.server:.0f} µs/job"
            bench.log(f"drain {number + 1}: {entrant.name}: {found.rate:,.0f} jobs/s, {cpu}")
            rounds.add(entrant.name, RATE, found.rate, entrant.settings)
            rounds.add(f"{entrant.name}: CPU of the worker", "µs/job", found.worker)
            rounds.add(f"{entrant.name}: CPU of the server", "µs/job", found.server)
    return Found(title="jobs that do nothing", counted=COUNTED, figures=rounds.figures(), goals=goals(rounds))


def goals(rounds: Rounds) -> list[Goal]:
    at_100, at_10 = rounds["ours, concurrency 100", RATE], rounds["ours, concurrency 10", RATE]
    peers = [
        figure
        for figure in rounds.figures()
        if figure.unit == RATE and figure.name.startswith(("pgqueuer", "procrastinate"))
    ]
    tens = [figure for figure in peers if figure.name.endswith("batch 10")]
    best, best_ten = (max(some, key=lambda figure: figure.median) for some in (peers, tens))
    return [
        _ratio(at_100, rounds["raw limit, k = 100", RATE], 0.7),
        _ratio(at_100, best, 1.0),
        _ratio(at_10, rounds["raw limit, k = 10", RATE], 0.7),
        _ratio(at_10, best_ten, 1.2),
    ]


def _ratio(mine: Figure, theirs: Figure, at_least: float) -> Goal:
    return Goal(name=f"{mine.name} : {theirs.name}", value=mine.over(theirs), at_least=at_least)
