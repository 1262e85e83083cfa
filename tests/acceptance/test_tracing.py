"""Spans of a real worker, sent to a collector."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

import aio_pika
import pytest

from tests.support.collector import Collector, Seen, collector
from tests.support.database import Database
from tests.support.rabbitmq import RabbitNode
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
    loaded = "import sys, json, bpc_worker.app.composition\n"
    loaded += "print(json.dumps([m for m in sys.modules if 'opentel' in m]))"
    done = subprocess.run(
        [sys.executable, "-c", loaded], env=environment(db.url), capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == []


async def next_trigger(url: str, publish: Callable[[], object]) -> Mapping[str, object]:
    """The headers of a trigger, as any other consumer sees them."""
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        await channel.declare_exchange("bpc", aio_pika.ExchangeType.TOPIC, durable=True)
        queue = await channel.declare_queue(exclusive=True)
        await queue.bind("bpc", "jobs.trigger")
        await asyncio.to_thread(publish)
        async with queue.iterator(timeout=20) as heard:
            async for message in heard:
                return message.headers
    raise AssertionError("no trigger came")


@pytest.mark.broker
def test_a_trigger_carries_the_trace_of_the_job_that_it_is_about(db: Database, rabbit: RabbitNode) -> None:
    rabbit.start()
    db.tenant()
    with collector() as seen:
        given = settings(seen) | {"BPC_QUEUE_URL": rabbit.url}

        def publish() -> None:
            done = command(db.url_as("bpc_app"), "enqueue", "TEST_NOOP", "--tenant", "acme", **given)
            assert (done.returncode, done.stderr) == (0, "")

        headers = asyncio.run(next_trigger(rabbit.url, publish))

    assert headers["traceparent"] == db.one("SELECT traceparent FROM jobs")["traceparent"]
