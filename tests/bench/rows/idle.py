"""What does a worker cost that has nothing to do?"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from tests.bench.bench import LOG_PREFIX, Bench, peer, program
from tests.bench.bench_worker import bench_worker
from tests.bench.procs import exact_seconds, rss_mb
from tests.bench.results import Found, Goal, Rounds
from tests.support.database import Database

SECONDS, QUICK_SECONDS = 30, 10
SETTLED: Final = 2.0  # seconds until everybody has started and connected
OURS: Final = "ours"
PEERS: Final[dict[str, tuple[str, dict[str, object]]]] = {
    "pgqueuer asyncpg": ("pgqueuer", {"kind": "asyncpg", "batch": 10}),
    "pgqueuer psycopg": ("pgqueuer", {"kind": "psycopg", "batch": 10}),
    "procrastinate": ("procrastinate", {"concurrency": 10, "connections": 4}),
}
COUNTED: Final = (
    "Workers with an empty queue at their default intervals, all at once, each on a database that logs every"
    " statement. Statements: lines of that log, BEGIN and COMMIT included. CPU: all threads of the"
    " process, as a share of one core. RSS: of the process itself."
)


def statements(db: Database) -> int:
    """How many this database has been sent since it began to log them."""
    name = db.url.rpartition("/")[2]
    kinds = tuple(f"{LOG_PREFIX.replace('%d', name)}LOG:  {kind}" for kind in ("statement:", "execute "))
    with db.server.log_file.open(errors="replace") as log:
        return sum(line.startswith(kinds) for line in log)


def logging(db: Database) -> Database:
    db.run(f"ALTER DATABASE {db.url.rpartition('/')[2]} SET log_statement = 'all'")
    return db


@contextmanager
def everybody(bench: Bench) -> Iterator[dict[str, tuple[Database, int]]]:
    """All workers, each with its database and process."""
    found: dict[str, tuple[Database, int]] = {}
    with ExitStack() as stack:
        for name, (which, settings) in PEERS.items():
            db = logging(stack.enter_context(bench.database(which)))
            asked = {"url": db.url, "marks": None, **settings}
            running = stack.enter_context(program(peer(which), do="work", **asked))
            running.hear()
            found[name] = (db, running.pid)
        db = logging(stack.enter_context(bench.database()))
        ours = stack.enter_context(bench_worker(db.url_as("bpc_worker")))
        ours.wait_ready()
        found[OURS] = (db, ours.pid)
        yield found


def measure(bench: Bench) -> Found:
    seconds = bench.much(SECONDS, QUICK_SECONDS)
    rounds = Rounds()
    with everybody(bench) as found:
        time.sleep(SETTLED)
        before = {name: (statements(db), exact_seconds(pid)) for name, (db, pid) in found.items()}
        began = time.monotonic()
        time.sleep(seconds)
        wall = time.monotonic() - began
        for name, (db, pid) in found.items():
            sent, used = before[name]
            rounds.add(f"{name}, statements", "1/s", (statements(db) - sent) / wall)
            rounds.add(f"{name}, CPU", "%", 100 * (exact_seconds(pid) - used) / wall)
            rounds.add(f"{name}, RSS", "MB", rss_mb(pid))
    goals = [
        Goal(name=f"ours, {what}", value=rounds[f"ours, {what}", unit].median, at_most=limit, unit=unit)
        for what, unit, limit in (("statements", "1/s", 2.0), ("CPU", "%", 0.5), ("RSS", "MB", 100.0))
    ]
    counted = f"{COUNTED} Watched for {seconds} s."
    return Found(title="nothing to do", counted=counted, figures=rounds.figures(), goals=goals)
