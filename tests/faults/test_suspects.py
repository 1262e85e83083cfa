"""Many suspects and a job that kills whoever runs it, among thousands of others: they go on as before."""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.support.database import Database
from tests.support.history import moment, span, statuses, told
from tests.support.outages import lease
from tests.support.poison import check_suspects_were_alone, enqueue_suspects
from tests.support.worker import Worker, until, worker

SHORT, SUSPECTS, WINDOW = 4000, 10, 10.0
SETTINGS = {**lease(15, 5), "BPC_JOBS_BACKOFF_BASE": 1, "BPC_WORKER_CONCURRENCY": 4, "BPC_LOG_LEVEL": "info"}


@contextmanager
def fleet(db: Database) -> Iterator[list[Worker]]:
    with ExitStack() as stack:
        workers = [stack.enter_context(worker(db.url, **SETTINGS)) for _ in range(3)]
        for each in workers:
            until(lambda each=each: each.said("started"), within=120)  # type: ignore[misc]
            each.wait_ready()
        yield workers


def short_jobs(db: Database, count: int) -> None:
    db.run(
        "INSERT INTO jobs (tenant_id, type, payload) SELECT %s, 'TEST_SLEEP', '{\"seconds\": 0.15}'"
        " FROM generate_series(1, %s)",
        [db.tenant(), count],
    )


def throughput(db: Database) -> float:
    """Short jobs a second, the median of windows of ten seconds that were full of work."""
    rows = db.run(
        "SELECT count(*) AS n FROM jobs WHERE type = 'TEST_SLEEP' AND status = 'SUCCEEDED' GROUP BY"
        " floor(extract(epoch FROM finished_at -"
        " (SELECT min(started_at) FROM jobs WHERE type = 'TEST_SLEEP')) / %s) ORDER BY min(finished_at)",
        [WINDOW],
    )
    counts = [int(str(row["n"])) for row in rows]
    print("in windows of ten seconds:", counts)
    return statistics.median(counts[:-1] or counts) / WINDOW


def urgent_waits(db: Database) -> float:
    """How long a job of the best priority waits for its start."""
    urgent = db.enqueue("TEST_NOOP", priority=0)
    until(lambda: db.job(urgent)["status"] == "SUCCEEDED", within=60)
    job = db.job(urgent)
    return span(moment(job, "created_at"), moment(job, "started_at"))


def test_suspects_and_poison_among_thousands_cost_the_others_little(db: Database) -> None:
    """First the same without suspects, in the same fleet."""
    with fleet(db) as workers:
        short_jobs(db, SHORT // 4)
        until(lambda: statuses(db) == {"SUCCEEDED": SHORT // 4}, within=300, every=0.5)
        before = throughput(db)
        db.run("TRUNCATE jobs, job_history, job_events")

        short_jobs(db, SHORT)
        until(lambda: statuses(db).get("SUCCEEDED", 0) > 0, within=30)
        suspects = enqueue_suspects(db, SUSPECTS, seconds=2)
        poison = db.enqueue("TEST_KILL", attempts=2, fail_code="LEASE_EXPIRED", priority=1)
        waited = []
        while statuses(db).get("QUEUED", 0) > SHORT // 10:
            waited.append(urgent_waits(db))
            time.sleep(2)  # time is what this test is made of
        all_ended = {"SUCCEEDED": SHORT + SUSPECTS + len(waited), "DEAD_LETTER": 1}
        until(lambda: statuses(db) == all_ended and told(db), within=300, every=0.5)
        after = throughput(db)

        print(f"{before:.1f} jobs/s without suspects, {after:.1f} with: {after / before:.2f}")
        print(f"{len(waited)} urgent jobs waited {max(waited):.2f} s at most")
        assert after >= 0.8 * before
        assert max(waited) < 2
        assert {db.job(each)["status"] for each in suspects} == {"SUCCEEDED"}
        assert {db.job(each)["attempts"] for each in suspects} == {3}
        assert (db.job(poison)["status"], db.job(poison)["attempts"]) == ("DEAD_LETTER", 5)
        assert check_suspects_were_alone(db) == SUSPECTS + 3
        assert {each.exit_code for each in workers} == {None}
        died = sum(each.metric("bpc_suspect_processes_total", end="died") for each in workers)
        assert died == 3
        assert [each.stop() for each in workers] == [0, 0, 0]
    db.check_history()
