"""Does removal keep up with a drain? `python -m tests.bench.retention [minutes] [jobs a second]`.

A table in its steady state: every second as many jobs become ninety days old as are drained. One worker with
the defaults drains and removes. Each minute the table's size is printed, and how many old jobs are left. The
exit code is 1 when the worker could not keep up with either.
"""

import sys
import time

import psycopg

from tests.bench.bench import opened
from tests.bench.bench_worker import bench_worker
from tests.support.database import Database

MINUTES, JOBS_A_SECOND = 10.0, 3_000
FEED_SECONDS = 0.25
PRINT_SECONDS = 60.0
MOST_BEHIND_SECONDS = 60  # of work that waits, or of jobs that are too old, at the end
HISTORY = """
INSERT INTO jobs (tenant_id, type, status, attempts, scheduled_at, created_at, started_at, finished_at,
                  result)
SELECT tenant_id, 'TEST_NOOP', 'SUCCEEDED', 1, ended.at, ended.at, ended.at, ended.at, '{}'
FROM tenants, generate_series(1, %(count)s) AS n,
     LATERAL (SELECT now() - interval '90 days' + n * interval '1 second' / %(rate)s AS at) AS ended
"""
EVENTS = (
    "INSERT INTO job_events (job_id, at, type) SELECT job_id, finished_at, 'job:retried' FROM jobs"
    " WHERE random() < 0.1"
)
SIZES = """
SELECT pg_table_size('jobs') / 1e6 AS table_mb, pg_indexes_size('jobs') / 1e6 AS indexes_mb,
       pg_total_relation_size('job_events') / 1e6 AS events_mb,
       count(*) FILTER (WHERE status IN ('QUEUED', 'RUNNING')) AS waiting,
       count(*) FILTER (WHERE finished_at < now() - interval '90 days') AS old,
       count(*) FILTER (WHERE status = 'SUCCEEDED' AND finished_at > now() - interval '1 hour') AS drained,
       count(*) AS rows
FROM jobs
"""


def fill(db: Database, count: int, rate: int) -> None:
    """What becomes old while we look, in the order in which it ended."""
    db.tenant()
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(HISTORY, {"count": count, "rate": rate})
        connection.execute(EVENTS)
    db.run("VACUUM ANALYZE jobs")


def report(db: Database, minute: float) -> dict[str, float]:
    row = {name: float(str(value)) for name, value in db.one(SIZES).items()}
    told = " ".join(f"{name}={value:,.0f}" for name, value in row.items())
    print(f"minute {minute:4.1f}: {told}", flush=True)
    return row


def drain(db: Database, *, seconds: float, rate: int) -> dict[str, float]:
    fed, began = 0, time.monotonic()
    report(db, 0)
    next_print = began + PRINT_SECONDS
    with psycopg.connect(db.url, autocommit=True) as feed:
        while (passed := time.monotonic() - began) < seconds:
            due = round(passed * rate) - fed
            feed.execute(
                "INSERT INTO jobs (tenant_id, type)"
                " SELECT tenant_id, 'TEST_NOOP' FROM tenants, generate_series(1, %s)",
                [due],
            )
            fed += due
            if time.monotonic() >= next_print:
                report(db, passed / 60)
                next_print += PRINT_SECONDS
            time.sleep(FEED_SECONDS)
    return report(db, seconds / 60)


def main(minutes: float, rate: int) -> int:
    with opened(rounds=1, quick=False) as bench, bench.database() as db:
        fill(db, round(minutes * 60 * rate), rate)
        with bench_worker(db.url_as("bpc_worker"), BPC_WORKER_CONCURRENCY=100) as running:
            running.wait_ready()
            last = drain(db, seconds=minutes * 60, rate=rate)
    kept_up = max(last["waiting"], last["old"]) <= MOST_BEHIND_SECONDS * rate
    print("kept up" if kept_up else "fell behind")
    return 0 if kept_up else 1


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(float(given[0]) if given else MINUTES, int(given[1]) if given[1:] else JOBS_A_SECOND))
