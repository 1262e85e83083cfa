"""Two CPU-bound job types keep the machine busy; how soon does a webhook-like job start meanwhile?

`python -m tests.bench.bench_cpu [seconds]`

One worker with its default settings, told by NOTIFY; a real PostgreSQL with fsync; more CPU-bound
jobs due than can be done in the time. Busy: processor time of the worker and its children over wall time and
cores. Of what was left: the same without what others used, PostgreSQL and this program among them. Start:
from the moment before the INSERT of a job that only awaits until its handler's first line.
"""

import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg

from tests.support import database as databases
from tests.support.database import Database
from tests.support.worker import Worker, until, worker

SECONDS = 20.0
JOB_SECONDS = 0.1
PAUSE_SECONDS = (0.05, 0.25)
GOAL_BUSY = 0.9
GOAL_START_MS = 50.0

_TICKS = os.sysconf("SC_CLK_TCK")
_CORES = len(os.sched_getaffinity(0))


def rounds_of(seconds: float) -> int:
    """How much hashing takes so much processor time on this machine."""
    rounds = 100_000
    before = time.thread_time()
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", rounds)
    return round(rounds * seconds / (time.thread_time() - before))


def processor_seconds(root: int) -> float:
    """Used so far by a process and all below it."""
    family, spent = {root}, 0
    # A child's number is higher than its parent's, but for a wrap.
    for pid, path in sorted((int(path.parent.name), path) for path in Path("/proc").glob("[0-9]*/stat")):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if pid == root or int(words[1]) in family:
            family.add(pid)
            spent += sum(int(word) for word in words[11:15])  # its own, and its dead children's
    return spent / _TICKS


def idle_seconds() -> float:
    """Of the whole machine: what is neither idle nor ours is somebody else's."""
    words = Path("/proc/stat").read_text().split()
    return (int(words[4]) + int(words[5])) / _TICKS


def feed(db: Database, seconds: float) -> None:
    count = 50 + round(2 * _CORES * seconds / JOB_SECONDS)
    db.run(
        "INSERT INTO jobs (tenant_id, type, payload)"
        " SELECT %s, CASE n %% 2 WHEN 0 THEN 'TEST_CPU_A' ELSE 'TEST_CPU_B' END,"
        " jsonb_build_object('rounds', %s::integer) FROM generate_series(1, %s) AS n",
        [db.tenant(), rounds_of(JOB_SECONDS), count],
    )
    db.run("VACUUM ANALYZE jobs")


def done(db: Database) -> int:
    row = db.one(
        "SELECT count(*) AS n FROM jobs WHERE starts_with(type, 'TEST_CPU') AND status = 'SUCCEEDED'"
    )
    return int(str(row["n"]))


def due(db: Database) -> bool:
    return bool(db.run("SELECT FROM jobs WHERE starts_with(type, 'TEST_CPU') AND status = 'QUEUED' LIMIT 1"))


def insert_now_and_then(db: Database, seconds: float) -> dict[str, int]:
    """Webhook-like jobs at odd moments; when each was about to be inserted."""
    dice = random.Random(7)
    tenant, sent = db.tenant(), {}
    ends_at = time.monotonic() + seconds
    with psycopg.connect(db.url, autocommit=True) as connection:
        while time.monotonic() < ends_at:
            before = time.monotonic_ns()
            row = connection.execute(
                "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'TEST_NOOP', '{}') RETURNING job_id",
                [tenant],
            ).fetchone()
            sent[str(row[0] if row else None)] = before
            time.sleep(dice.uniform(*PAUSE_SECONDS))
    return sent


def start_delays(db: Database, sent: Mapping[str, int]) -> list[float]:
    """Milliseconds, the shortest first; however late they start, they all count."""
    until(lambda: not unstarted(db), within=300, what="the last of them", every=0.5)
    rows = db.run("SELECT job_id, (result ->> 'started_ns')::bigint AS ns FROM jobs WHERE type = 'TEST_NOOP'")
    return sorted((int(str(row["ns"])) - sent[str(row["job_id"])]) / 1e6 for row in rows)


def unstarted(db: Database) -> bool:
    return bool(db.run("SELECT FROM jobs WHERE type = 'TEST_NOOP' AND status <> 'SUCCEEDED' LIMIT 1"))


def share(ordered: Sequence[float], part: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * part))], 1)


def measure(db: Database, running: Worker, seconds: float) -> dict[str, object]:
    until(lambda: done(db) >= 2 * _CORES, within=60, what="children at work")
    jobs, spent, idle, start = done(db), processor_seconds(running.pid), idle_seconds(), time.monotonic()
    sent = insert_now_and_then(db, seconds)
    wall = time.monotonic() - start
    spent, idle = processor_seconds(running.pid) - spent, idle_seconds() - idle
    jobs = done(db) - jobs
    assert due(db), "it ran dry: what was measured is a worker with nothing to do"
    busy = spent / (wall * _CORES)
    others = 1 - idle / (wall * _CORES) - busy
    delays = start_delays(db, sent)
    return {
        "cores": _CORES,
        "seconds": round(wall, 1),
        "cpu_jobs_per_second": round(jobs / wall, 1),
        "busy": round(busy, 3),
        "busy_of_what_was_left": round(busy / (1 - others), 3),
        "others_busy": round(others, 3),
        "started": len(delays),
        "start_p50_ms": share(delays, 0.5),
        "start_p95_ms": share(delays, 0.95),
        "start_max_ms": round(delays[-1], 1),
        "goal_busy": busy / (1 - others) >= GOAL_BUSY,
        "goal_start": share(delays, 0.95) <= GOAL_START_MS,
    }


def main(seconds: float = SECONDS) -> dict[str, object]:
    with databases.postgres() as server:
        databases.make_template(server)
        with (
            databases.database(server) as db,
            worker(db.url_as("bpc_worker"), BPC_LOG_LEVEL="info") as running,
        ):
            running.wait_ready()
            feed(db, seconds)
            return measure(db, running, seconds)


if __name__ == "__main__":
    print(json.dumps(main(*map(float, sys.argv[1:2]))))
