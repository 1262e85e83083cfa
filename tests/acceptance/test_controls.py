"""Limits, samples and schedules in a real worker."""

import json
import re
import time

import pytest

from tests.support.database import Database
from tests.support.worker import until, worker


def test_two_workers_together_keep_to_the_rate_of_a_type(db: Database) -> None:
    limits = json.dumps({"TEST_NOOP": {"per_second": 5, "burst": 5}})
    url = db.url_as("bpc_worker")
    for _ in range(20):
        db.enqueue("TEST_NOOP")
    with worker(url, BPC_RATE_LIMITS=limits) as first, worker(url, BPC_RATE_LIMITS=limits) as second:
        until(
            lambda: db.one("SELECT count(*) AS n FROM jobs WHERE status = 'SUCCEEDED'")["n"] == 20,
            within=30,
            what="all done",
        )
        took = db.one("SELECT extract(epoch FROM max(started_at) - min(started_at))::float8 AS s FROM jobs")[
            "s"
        ]
        limited = [each.metric("bpc_rate_limited_total") for each in (first, second)]
        print(f"20 jobs at 5/s took {took:.2f} s; limited {limited}")

        # Five at once, then fifteen at five a second; the first claim came a moment after its tokens.
        assert float(str(took)) >= 2.5
        assert sum(limited) > 0
        assert db.one("SELECT max(attempts) AS most, max(snoozes) AS snoozes FROM jobs") == {
            "most": 1,
            "snoozes": 0,
        }
        assert (first.stop(), second.stop()) == (0, 0)
    db.check_history()


@pytest.mark.direct
def test_an_idle_worker_with_limits_asks_little(db: Database) -> None:
    """As little as one without them: whether anything is due, and no bucket."""
    db.run(f"ALTER DATABASE {db.url.rpartition('/')[2]} SET log_statement = 'all'")
    limits = json.dumps({"TEST_NOOP": {"per_second": 5, "burst": 5}})
    log = db.server.log_file
    with worker(db.url_as("bpc_worker"), BPC_RATE_LIMITS=limits, BPC_REAPER_INTERVAL_SECONDS=5) as idle:
        idle.wait_ready()
        until(lambda: "-- Is anything due here" in log.read_text(errors="replace"), within=10)
        before, began = log.stat().st_size, time.monotonic()
        until(lambda: time.monotonic() - began > 6, within=10)
        said = log.read_text(errors="replace")[before:]
        per_second = len(re.findall(r"LOG:  (?:statement:|execute )", said)) / (time.monotonic() - began)
        print(f"{per_second:.2f} statements a second")

        assert per_second <= 3  # with a pass of the reaper, of the removal and of the watch every 5 s
        assert "-- Is anything due here" in said
        assert "INSERT INTO rate_limits" not in said
        job_id = db.enqueue("TEST_NOOP")
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=5)
        assert idle.stop() == 0
    db.check_history()


def test_what_waits_and_what_takes_too_long_is_seen(db: Database) -> None:
    db.enqueue("TEST_NOBODYS", expected_duration_ms=1)
    db.run(
        "UPDATE jobs SET status = 'RUNNING', attempts = 1, lease_owner = 'x',"
        " lease_token = gen_random_uuid(), started_at = now() - interval '1 hour',"
        " lease_expires_at = now() + interval '1 hour'"
    )
    waiting = db.enqueue("TEST_NOBODYS")
    often = {"BPC_REAPER_INTERVAL_SECONDS": 0.5, "BPC_REAPER_SAMPLE_INTERVAL": 1}
    with worker(db.url_as("bpc_worker"), **often) as seen:
        until(lambda: seen.said("job_overdue"), within=20, what="overdue")
        until(lambda: seen.metric("bpc_jobs_overdue", type="TEST_NOBODYS") == 1, within=10, what="gauge")
        until(lambda: seen.metric("bpc_queue_length", type="TEST_NOBODYS") == 1, within=10, what=waiting)
        assert seen.metric("bpc_running_oldest_seconds", type="TEST_NOBODYS") >= 3600
        line = until(lambda: seen.said("jobs_unhandled"), within=10, what="said that nobody handles it")
        assert line is not None
        assert (line["job_type"], line["queue"], line["count"]) == ("TEST_NOBODYS", "default", 1)
        assert seen.metric("bpc_jobs_unhandled", type="TEST_NOBODYS") == 1
        assert seen.stop() == 0
