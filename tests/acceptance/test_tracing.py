"""Spans of a real worker, sent to a collector."""

import json
import subprocess
import sys
import time

import pytest

from tests.support.collector import Collector, Seen, collector
from tests.support.database import Database
from tests.support.worker import command, environment, until, worker

pytestmark = pytest.mark.acceptance


def settings(to: Collector) -> dict[str, object]:
    return {"BPC_TRACING_ENABLED": "on", "BPC_TRACING_ENDPOINT": to.url}


def status(db: Database, job_id: str) -> object:
    return db.job(job_id)["status"]


def ended(db: Database) -> bool:
    return not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING') LIMIT 1")


def by_id(spans: list[Seen]) -> dict[str, Seen]:
    return {span.span_id: span for span in spans}


def test_one_trace_from_the_command_through_a_child_to_the_last_follow_up(db: Database) -> None:
    db.tenant()
    with collector() as seen, worker(db.url_as("bpc_worker"), **settings(seen)) as running:
        running.wait_ready()
        queued = command(
            db.url_as("bpc_app"), "enqueue", "TEST_CHAIN", "--tenant", "acme",
            "--payload", '{"depth": 2}', **settings(seen),
        )  # fmt: skip
        assert queued.returncode == 0, queued.stderr
        until(lambda: ended(db), within=30, what="the last follow-up")
        assert running.stop() == 0
        spans = seen.spans()

    assert len({span.trace_id for span in spans}) == 1
    known = by_id(spans)
    jobs = [span for span in spans if span.name == "job TEST_CHAIN"]
    calls = [span for span in spans if span.name.startswith("child ")]
    [root] = [span for span in spans if not span.parent_id]
    assert root.name == "enqueue TEST_CHAIN"
    assert (len(jobs), len(calls)) == (3, 3)
    assert {known[call.parent_id].name for call in calls} == {"job TEST_CHAIN"}
    assert sorted(known[job.parent_id].name for job in jobs) == [root.name, *["job TEST_CHAIN"] * 2]

    rows = db.run("SELECT job_id::text, traceparent, queue FROM jobs")
    assert {(job.tags["job_id"], job.tags["queue"], job.tags["outcome"]) for job in jobs} == {
        (row["job_id"], row["queue"], "Done") for row in rows
    }
    assert {str(row["traceparent"]).split("-")[2] for row in rows} == {job.parent_id for job in jobs}


def test_log_lines_of_a_job_name_its_span_and_retries_stay_in_one_trace(db: Database) -> None:
    job_id = db.enqueue("TEST_FAIL", '{"until": 2}')
    with collector() as seen, worker(db.url_as("bpc_worker"), **settings(seen)) as running:
        until(lambda: status(db, job_id) == "SUCCEEDED", within=30, what="the second attempt")
        assert running.stop() == 0
        spans = seen.spans()
        lines = [line for line in running.lines if line.get("job_id") == job_id]

    assert [span.tags["outcome"] for span in spans] == ["Retry", "Done"]
    assert {span.trace_id for span in spans} == {job_id.replace("-", "")}
    assert lines
    assert {(line["trace_id"], line["span_id"]) for line in lines} == {
        (span.trace_id, span.span_id) for span in spans
    }


def test_a_collector_that_is_away_costs_no_job_and_no_time_at_the_end(db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP")
    away = {"BPC_TRACING_ENABLED": "on", "BPC_TRACING_ENDPOINT": "http://user:hunter2@127.0.0.1:9"}
    with worker(db.url_as("bpc_worker"), **away) as running:
        until(lambda: status(db, job_id) == "SUCCEEDED", within=30, what="the job")
        asked_at = time.monotonic()
        assert running.stop() == 0
        assert time.monotonic() - asked_at < 10

    assert not [line for line in running.raw if "hunter2" in line]


def test_without_tracing_its_library_is_not_even_loaded(db: Database) -> None:
    loaded = "import sys, json, bpc_worker.app; print(json.dumps([m for m in sys.modules if 'opentel' in m]))"
    done = subprocess.run(
        [sys.executable, "-c", loaded], env=environment(db.url), capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == []
