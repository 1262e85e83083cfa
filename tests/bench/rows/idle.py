"""What does a worker cost that has nothing to do?"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from tests.bench.bench import DEFAULTS, Bench, fresh_database, make_template, peer, program
from tests.bench.procs import exact_seconds, rss_mb
from tests.bench.results import Found, Goal, Rounds
from tests.support.database import Database, postgres
from tests.support.worker import worker

SECONDS, QUICK_SECONDS = 30, 10
SETTLED: Final = 3.0  # seconds until everybody has started and connected
SEPARATOR: Final = "~"
LOGGING: Final = {"log_statement": "all", "log_line_prefix": f"{SEPARATOR}%d{SEPARATOR}"}
OURS: Final = "ours"
COUNTED: Final = (
    "Workers with an empty queue at their default intervals, all at once, on a server that logs every"
    " statement. Statements: lines of that log, BEGIN and COMMIT included. CPU: all threads of the"
    " process, as a share of one core. RSS: of the process itself."
)


def statements(db: Database) -> int:
    """How many this database has been sent so far."""
    name = db.url.rpartition("/")[2]
    kinds = tuple(f"{SEPARATOR}{name}{SEPARATOR}LOG:  {kind}" for kind in ("statement:", "execute "))
    with db.server.log_file.open(errors="replace") as log:
        return sum(line.startswith(kinds) for line in log)


@contextmanager
def everybody(bench: Bench) -> Iterator[dict[str, tuple[Database, int]]]:
    """All workers, each with its database and process."""
    peers: dict[str, tuple[str, dict[str, object]]] = {
        "pgqueuer asyncpg": ("pgqueuer", {"kind": "asyncpg", "batch": 10}),
        "pgqueuer psycopg": ("pgqueuer", {"kind": "psycopg", "batch": 10}),
        "procrastinate": ("procrastinate", {"concurrency": 10, "connections": 4}),
    }
    with ExitStack() as stack:
        server = stack.enter_context(postgres(DEFAULTS | LOGGING))
        for template in (OURS, "pgqueuer", "procrastinate"):
            make_template(server, template)
        found: dict[str, tuple[Database, int]] = {}
        for at, (name, (which, settings)) in enumerate(peers.items()):
            db = stack.enter_context(fresh_database(server, f"idle_{at}", which))
            running = stack.enter_context(program(peer(which), do="work", url=db.url, marks=None, **settings))
            running.hear()
            found[name] = (db, running.pid)
        db = stack.enter_context(fresh_database(server, "idle_ours", OURS))
        ours = stack.enter_context(worker(db.url_as("bpc_worker"), BPC_LOG_LEVEL="info"))
        ours.wait_ready()
        found[OURS] = (db, ours.pid)
        bench.log("idle: everybody has started")
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
