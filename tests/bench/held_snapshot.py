"""What does a held snapshot cost? `python -m tests.bench.held_snapshot [ended jobs]`.

One worker with the defaults and 100 slots, before and while somebody holds a snapshot over a million jobs
that were queued, claimed and ended meanwhile: jobs a second of a drain, p50 and p99 of a wake-up, and how
long after the end of its lease a dead worker's job comes back.
"""

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.bench.bench import opened
from tests.bench.bench_worker import bench_worker
from tests.bench.marks import Heard, marks
from tests.bench.results import p50, p99
from tests.support.database import Database
from tests.support.worker import Worker, until

ENDED = 1_000_000
CHUNK = 50_000
DRAINED = 40_000
WAKE_UPS = 200
SUCCEEDED = "bpc_jobs_completed_total"
MOST_AFTER_LEASE = 20.0  # seconds
# As producers, claims and settles leave it, in one transaction, so that no worker takes part.
# Over twenty minutes, in the order of time.
QUEUED = """
INSERT INTO jobs (tenant_id, type, scheduled_at)
SELECT tenant_id, 'TEST_NOOP', now() - interval '20 minutes' * (1 - n / %(count)s::float8)
FROM tenants, generate_series(%(done)s + 1, %(done)s + %(chunk)s) AS n
RETURNING job_id
"""
CLAIMED = """
UPDATE jobs SET status = 'RUNNING', attempts = 1, lease_owner = 'w', started_at = scheduled_at,
                lease_expires_at = scheduled_at + interval '1 minute', lease_token = gen_random_uuid()
WHERE job_id = ANY (%s)
"""
SETTLED = """
UPDATE jobs SET status = 'SUCCEEDED', lease_owner = NULL, lease_expires_at = NULL, finished_at = now()
WHERE job_id = ANY (%s)
"""
LEAVE_ONE = """
INSERT INTO jobs (tenant_id, type, status, attempts, lease_owner, lease_token, lease_expires_at, started_at)
SELECT tenant_id, 'TEST_NOOP', 'RUNNING', 1, 'dead', gen_random_uuid(), now() + interval '5 s', now()
FROM tenants RETURNING job_id
"""


@contextmanager
def held_snapshot(db: Database) -> Iterator[None]:
    with psycopg.connect(db.url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM tenants")
        yield
        connection.rollback()


def end_many(db: Database, count: int) -> None:
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        for done in range(0, count, CHUNK):
            with connection.transaction():
                params = {"count": count, "done": done, "chunk": min(CHUNK, count - done)}
                ids = [row["job_id"] for row in connection.execute(QUEUED, params)]
                connection.execute(CLAIMED, [ids])
                connection.execute(SETTLED, [ids])


def drained_a_second(db: Database, running: Worker) -> float:
    """By the worker's own count: asking the table would cost more than the jobs."""
    before, began = running.metric(SUCCEEDED), time.monotonic()
    db.run(
        "INSERT INTO jobs (tenant_id, type)"
        " SELECT tenant_id, 'TEST_NOOP' FROM tenants, generate_series(1, %s)",
        [DRAINED],
    )
    until(lambda: running.metric(SUCCEEDED) >= before + DRAINED, within=300, what="drained", every=0.1)
    return DRAINED / (time.monotonic() - began)


def wake_ups(db: Database, heard: Heard) -> list[float]:
    """Milliseconds from before an INSERT to the first line of its handler."""
    found = []
    with db.connect() as connection:
        for number in range(WAKE_UPS):
            time.sleep(random.uniform(0.01, 0.05))
            before = time.monotonic_ns()
            connection.execute(
                "INSERT INTO jobs (tenant_id, type, payload) SELECT tenant_id, 'TEST_MARK',"
                " jsonb_build_object('number', %s::int, 'pipe', %s::text) FROM tenants",
                [number, str(heard.path)],
            )
            _, began = heard.next(within=30)
            found.append((began - before) / 1e6)
    return found


def reaped_after_lease(db: Database) -> float:
    job_id = db.one(LEAVE_ONE)["job_id"]
    until(
        lambda: db.run("SELECT 1 FROM job_events WHERE job_id = %s AND type = 'reaper:requeued'", [job_id]),
        within=300,
        what="reaped",
    )
    row = db.one(
        "SELECT extract(epoch FROM at - created_at)::float8 - 5 AS seconds"
        " FROM job_events JOIN jobs USING (job_id)"
        " WHERE job_id = %s AND job_events.type = 'reaper:requeued'",
        [job_id],
    )
    return float(str(row["seconds"]))


def measure(db: Database, running: Worker, heard: Heard, name: str) -> float:
    rate = drained_a_second(db, running)
    wakes, reaped = wake_ups(db, heard), reaped_after_lease(db)
    print(
        f"{name}: {rate:,.0f} jobs/s, wake p50 {p50(wakes):.1f} ms, p99 {p99(wakes):.1f} ms,"
        f" reaped {reaped:.1f} s after the lease",
        flush=True,
    )
    return reaped


def main(ended: int) -> int:
    with opened(rounds=1, quick=False) as bench, bench.database() as db, marks() as heard:
        db.tenant()
        url = db.url_as("bpc_worker")
        with bench_worker(url, BPC_WORKER_CONCURRENCY=100) as running:
            running.wait_ready()
            drained_a_second(db, running)  # warm
            measure(db, running, heard, "before")
            with held_snapshot(db):
                end_many(db, ended)
                reaped = measure(db, running, heard, f"held over {ended:,}")
    return 0 if reaped <= MOST_AFTER_LEASE else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else ENDED))
