"""The broker only wakes: with it jobs start at once, without it at the next poll, and it breaks nothing."""

import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

import aio_pika
import pytest

from tests.support.broker import (
    AT_ONCE,
    BY_POLL,
    NEVER_BY_POLL,
    Publisher,
    back,
    cancel_consumers,
    claimed_by,
    errors,
    heard,
    make_exchange,
    our_queues,
    run_by_poll,
    run_by_trigger,
    started_ns,
    succeeds,
    wait_connected,
    warned,
)
from tests.support.database import Database, free_port
from tests.support.rabbitmq import RabbitNode
from tests.support.wake_race import race
from tests.support.worker import Worker, command, until, worker

pytestmark = pytest.mark.broker

ANY_PROGRAM = """
import asyncio, json, sys, aio_pika

async def main(url, job_id):
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        exchange = await channel.get_exchange("bpc")
        message = aio_pika.Message(json.dumps({"job_id": job_id}).encode())
        await exchange.publish(message, "jobs.trigger")

asyncio.run(main(*sys.argv[1:]))
"""
MARKER = "7f3a-not-for-the-log"
MOST_LOOKS_PER_SECOND = 20
IMPATIENT = {"BPC_SHUTDOWN_GRACE_SECONDS": 0}  # a long job is given back when the test is over


def test_a_trigger_from_any_program_starts_a_waiting_job(db: Database, node: RabbitNode) -> None:
    with worker(db.url, BPC_QUEUE_URL=node.url, **NEVER_BY_POLL) as running:
        wait_connected(running)
        job_id = db.enqueue("TEST_NOOP")
        subprocess.run([sys.executable, "-c", ANY_PROGRAM, node.url, job_id], check=True, timeout=60)
        succeeds(db, job_id)

        assert running.metric("bpc_wakeups_total", source="poll") == 0
        assert running.stop() == 0
    db.check_history()


def test_a_wake_up_takes_at_most_twice_as_long_as_the_bare_steps(db: Database, node: RabbitNode) -> None:
    with worker(db.url, BPC_QUEUE_URL=node.url, BPC_LOG_LEVEL="info", **BY_POLL) as running:
        wait_connected(running)
        found = race(db, node.url, rounds=100)
        print(found)

        assert found.ratio("insert").p50 <= 2
        assert found.ratio("publish").p50 <= 2
        assert running.stop() == 0
    db.check_history()


def test_of_two_workers_the_one_that_is_not_full_takes_the_job_at_once(
    db: Database, node: RabbitNode
) -> None:
    common = {"BPC_QUEUE_URL": node.url, "BPC_WORKER_CONCURRENCY": 1, **IMPATIENT, **NEVER_BY_POLL}
    with worker(db.url, BPC_WORKER_ID="full", **common) as full, Publisher(node.url) as publisher:
        wait_connected(full)
        long = db.enqueue("TEST_SLEEP", '{"seconds": 120}')
        publisher.trigger(long)
        until(lambda: db.job(long)["status"] == "RUNNING", within=10)
        with worker(db.url, BPC_WORKER_ID="idle", **common) as idle:
            wait_connected(idle)
            for _ in range(3):
                job_id = db.enqueue("TEST_NOOP")
                published = time.monotonic_ns()
                publisher.trigger(job_id)

                assert (started_ns(db, job_id) - published) / 1e9 < AT_ONCE
                assert claimed_by(db, job_id) == ["idle"]
            assert db.job(long)["status"] == "RUNNING"
            assert idle.stop() == 0
        assert full.stop() == 0
    assert db.run("SELECT job_id::text FROM jobs WHERE status <> 'SUCCEEDED'") == [{"job_id": long}]
    db.check_history(nothing_left=False)


def test_a_broker_that_comes_later_and_goes_again_is_heard_whenever_it_is_there(
    db: Database, node: RabbitNode
) -> None:
    """A worker that needs the broker is unready meanwhile; one that does not stays ready."""
    node.stop()
    with (
        worker(db.url, BPC_QUEUE_URL=node.url, **BY_POLL) as running,
        worker(
            db.url, "--role", "worker", BPC_QUEUE_URL=node.url, BPC_HEALTH_REQUIRE_QUEUE="true", **BY_POLL
        ) as picky,
    ):
        pids = running.pid, picky.pid
        running.wait_ready()
        run_by_poll(db)

        assert warned(running, "broker_unavailable")
        assert "\nbpc_broker_connected 0.0\n" in running.get("/v1/metrics")[1]
        assert running.get("/v1/health/ready")[0] == 200
        assert picky.get("/v1/health/ready")[0] == 503
        assert "disconnected" in picky.get("/v1/health/ready")[1]

        node.start()
        repaired_at = time.monotonic()
        for each, pid in zip((running, picky), pids, strict=True):
            back(each, node.url, repaired_at=repaired_at, pid=pid)
        run_by_trigger(db, node.url)

        assert picky.get("/v1/health/ready")[0] == 200

        node.stop()
        until(lambda: picky.get("/v1/health/ready")[0] == 503, within=5)

        assert running.get("/v1/health/ready")[0] == 200
        assert running.metric("bpc_broker_connected") == 0

        node.start()
        repaired_at = time.monotonic()
        for each, pid in zip((running, picky), pids, strict=True):
            back(each, node.url, repaired_at=repaired_at, pid=pid)
        run_by_trigger(db, node.url)
        until(lambda: picky.get("/v1/health/ready")[0] == 200, within=5)

        assert errors(running) == errors(picky) == []
        assert running.stop() == picky.stop() == 0
    db.check_history()


def test_queue_consumer_and_exchange_that_are_taken_away_come_back(db: Database, node: RabbitNode) -> None:
    def delete_queue() -> None:
        for queue in our_queues(node):
            node.delete_queue(str(queue["name"]))

    losses: tuple[Callable[[], None], ...] = (
        delete_queue,
        lambda: cancel_consumers(node),
        lambda: node.delete_exchange("bpc"),
    )
    with worker(db.url, BPC_QUEUE_URL=node.url, **BY_POLL) as running:
        wait_connected(running)
        pid = running.pid
        for lose in losses:
            lose()
            back(running, node.url, repaired_at=time.monotonic(), pid=pid)
            run_by_trigger(db, node.url)

        assert warned(running, "broker_unavailable")
        assert errors(running) == []
        assert len(our_queues(node)) == 1
        assert running.stop() == 0
    assert our_queues(node) == []
    db.check_history()


@pytest.mark.parametrize("kind", ["fanout", "direct"])
def test_an_exchange_of_another_type_is_used_as_it_is(db: Database, node: RabbitNode, kind: str) -> None:
    exchange = f"somebodys-{kind}"
    make_exchange(node.url, exchange, kind)
    with worker(db.url, BPC_QUEUE_URL=node.url, BPC_QUEUE_EXCHANGE=exchange, **NEVER_BY_POLL) as running:
        wait_connected(running)
        run_by_trigger(db, node.url, exchange)

        assert running.said("broker_unavailable") is None
        assert f"{exchange}\t{kind}" in node.ctl("list_exchanges", "-q", "name", "type")
        assert running.stop() == 0
    db.check_history()


def garbage(count: int) -> list[aio_pika.Message]:
    kinds = [
        aio_pika.Message(f'{{"job_id": "{MARKER}"'.encode(), content_type="application/json"),
        aio_pika.Message(b""),
        aio_pika.Message(MARKER.encode() + b"\x00\xff\xfe" * 50, content_type="image/png"),
        aio_pika.Message(b"\x00" * 100, content_encoding="gzip", headers={MARKER: [MARKER, {"a": None}]}),
        aio_pika.Message(b'{"job_id": "00000000-0000-7000-8000-000000000000"}', message_id=MARKER),
        aio_pika.Message(b'{"job_id": "00000000-0000-7000-8000-000000000000"}', message_id=MARKER),
        aio_pika.Message(b"[" * 10_000, reply_to=MARKER),
    ]
    huge = aio_pika.Message(MARKER.encode() * 52_429)  # a little more than 1 MiB
    return [huge if number % 2000 == 0 else kinds[number % len(kinds)] for number in range(count)]


def test_ten_thousand_garbage_messages_mean_no_more_than_look_now(db: Database, node: RabbitNode) -> None:
    def flood() -> None:
        with Publisher(node.url) as publisher:
            publisher.send(garbage(10_000))

    with worker(db.url, BPC_QUEUE_URL=node.url, **NEVER_BY_POLL) as running:
        wait_connected(running)
        messages, looks = heard(running), running.metric("bpc_looks_total")
        began = time.monotonic()
        flooding = threading.Thread(target=flood)
        flooding.start()
        until(lambda: heard(running) > messages + 100, within=30)
        queued = time.monotonic_ns()
        job_id = db.enqueue("TEST_NOOP")  # a trigger of its own it does not need
        while flooding.is_alive():
            assert running.get("/v1/health/live", timeout=1)[0] == 200
        waited = (started_ns(db, job_id) - queued) / 1e9
        looks = running.metric("bpc_looks_total") - looks
        took = time.monotonic() - began
        more = heard(running) - messages
        print(f"{more:.0f} heard, {looks:.0f} looks in {took:.2f} s, a job in between after {waited:.3f} s")

        assert waited < AT_ONCE
        assert looks <= MOST_LOOKS_PER_SECOND * took + 1
        assert running.said("broker_unavailable") is None

        freeze_and_overfill(running.send, node)
        run_by_trigger(db, node.url)

        assert errors(running) == []
        assert not any(MARKER in line for line in running.raw)
        assert running.stop() == 0
    assert our_queues(node) == []
    db.check_history()


def freeze_and_overfill(send: Callable[[signal.Signals], None], node: RabbitNode) -> None:
    """Nobody takes the messages, and yet they are few."""
    send(signal.SIGSTOP)
    try:
        with Publisher(node.url) as publisher:
            publisher.send(garbage(1000))
            [queue] = our_queues(node)
    finally:
        send(signal.SIGCONT)

    assert 0 < int(str(queue["messages_ready"])) <= 100


def heard_more(running: Worker, than: float) -> bool:
    return heard(running) > than


def test_properties_that_no_library_can_decode_do_not_deafen_a_worker(db: Database, node: RabbitNode) -> None:
    """The client library hangs up on them, so it must not see them."""
    nested = b""
    for _ in range(3000):
        nested = b"\x01aF" + struct.pack(">I", len(nested)) + nested
    hostile = {
        "a date after the end of time": (1 << 6, struct.pack(">Q", 2**63 - 1)),
        "a content type that is not UTF-8": (1 << 15, b"\x02\xff\xfe"),
        "a header whose name is not UTF-8": (1 << 13, struct.pack(">I", 8) + b"\x02\xff\xfeS" + bytes(4)),
        "tables within tables": (1 << 13, struct.pack(">I", len(nested)) + nested),
    }
    with worker(db.url, BPC_QUEUE_URL=node.url, **NEVER_BY_POLL) as running:
        wait_connected(running)
        with Publisher(node.url) as publisher:
            for name, (flags, properties) in hostile.items():
                before = heard(running)
                publisher.send_raw_header(flags, properties)
                until(partial(heard_more, running, before), within=10, what=name)
        run_by_trigger(db, node.url)

        assert running.said("broker_unavailable") is None
        assert errors(running) == []
        assert running.stop() == 0
    db.check_history()


def test_enqueue_wakes_a_worker(db: Database, node: RabbitNode) -> None:
    db.tenant("acme")
    with worker(db.url, BPC_QUEUE_URL=node.url, **NEVER_BY_POLL) as running:
        wait_connected(running)
        done = command(db.url, "enqueue", "TEST_NOOP", "--tenant", "acme", BPC_QUEUE_URL=node.url)
        succeeds(db, done.stdout.strip())

        assert (done.returncode, done.stderr) == (0, "")
        assert running.stop() == 0
    db.check_history()


@pytest.mark.parametrize("why", ["nobody listens there", "the exchange is not there"])
def test_enqueue_without_a_working_broker_queues_the_job_and_says_so(
    db: Database, node: RabbitNode, why: str
) -> None:
    nobody = f"amqp://guest:{MARKER}@127.0.0.1:{free_port()}/"
    url = nobody if why == "nobody listens there" else node.url
    db.tenant("acme")
    done = command(
        db.url, "enqueue", "TEST_NOOP", "--tenant", "acme", BPC_QUEUE_URL=url, BPC_QUEUE_EXCHANGE="not-there"
    )

    assert done.returncode == 0
    assert db.job(done.stdout.strip())["status"] == "QUEUED"
    assert "the trigger was not published" in done.stderr
    assert done.stderr.count("\n") == 1
    assert MARKER not in done.stderr
    db.check_history(nothing_left=False)


def test_follow_up_jobs_are_taken_at_once(db: Database, node: RabbitNode) -> None:
    with worker(db.url, BPC_QUEUE_URL=node.url, **NEVER_BY_POLL) as running:
        wait_connected(running)
        with Publisher(node.url) as publisher:
            publisher.trigger(db.enqueue("TEST_FOLLOW", '{"depth": 3}'))
        until(lambda: len(db.run("SELECT FROM jobs WHERE status = 'SUCCEEDED'")) == 4, within=30)
        [row] = db.run("SELECT extract(epoch FROM max(started_at) - min(finished_at))::float AS s FROM jobs")

        assert float(str(row["s"])) < AT_ONCE
        assert running.stop() == 0
    db.check_history()


def test_a_follow_up_job_of_a_full_worker_is_taken_by_another_at_once(db: Database, node: RabbitNode) -> None:
    """The full one has better things to do, and tells the other."""
    common = {"BPC_QUEUE_URL": node.url, **IMPATIENT, **NEVER_BY_POLL}
    with (
        worker(
            db.url, BPC_WORKER_ID="full", BPC_WORKER_CONCURRENCY=1, BPC_WORKER_QUEUES="own,default", **common
        ) as full,
        worker(db.url, BPC_WORKER_ID="other", **common) as other,
    ):
        wait_connected(full)
        wait_connected(other)
        long = db.enqueue("TEST_SLEEP", '{"seconds": 120}', queue="own", priority=1)
        first = db.enqueue("TEST_FOLLOW", '{"depth": 1}', queue="own", priority=0)
        with Publisher(node.url) as publisher:
            publisher.trigger(first)
        until(lambda: len(db.run("SELECT FROM jobs WHERE status = 'SUCCEEDED'")) == 2, within=30)
        [follow] = db.run("SELECT job_id, started_at FROM jobs WHERE parent_job_id = %s", [first])
        waited = follow["started_at"] - db.job(first)["finished_at"]  # type: ignore[operator]  # two times

        assert waited.total_seconds() < AT_ONCE
        assert claimed_by(db, first) == claimed_by(db, long) == ["full"]
        assert claimed_by(db, str(follow["job_id"])) == ["other"]
        assert db.job(long)["status"] == "RUNNING"
        assert other.stop() == full.stop() == 0
    assert db.run("SELECT job_id::text FROM jobs WHERE status <> 'SUCCEEDED'") == [{"job_id": long}]
    db.check_history(nothing_left=False)
