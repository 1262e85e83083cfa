"""A broker that is broken for a while in every way it can be: work goes on, and then it is heard again."""

import asyncio
import json
import time
from pathlib import Path

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel, AbstractQueue

from bpc_worker.amqp import listener
from tests.support.broker import (
    AT_ONCE,
    BY_POLL,
    NEVER_BY_POLL,
    Publisher,
    back,
    cancel_consumers,
    connected,
    errors,
    heard,
    hung,
    memory_alarm,
    our_queues,
    run_by_poll,
    run_by_trigger,
    succeeds,
    wait_connected,
    warned,
)
from tests.support.database import Database
from tests.support.rabbitmq import RabbitNode
from tests.support.worker import Worker, command, until, worker

pytestmark = pytest.mark.broker

MIB = 1_048_576


def alive(running: Worker) -> bool:
    return running.get("/v1/health/live", timeout=1)[0] == 200


def test_a_broker_that_is_killed_again_and_again_is_heard_again_each_time(
    db: Database, node: RabbitNode
) -> None:
    with worker(db.url, BPC_QUEUE_URL=node.url, **BY_POLL) as running:
        wait_connected(running)
        pid = running.pid
        for _ in range(3):
            node.kill()
            until(lambda: not connected(running), within=5)
            node.start()
            print(f"back after {back(running, node.url, repaired_at=time.monotonic(), pid=pid):.1f} s")
            run_by_trigger(db, node.url)

        assert warned(running, "broker_unavailable")
        assert errors(running) == []
        assert running.stop() == 0
    db.check_history()


def test_a_broker_that_was_away_for_long_is_heard_as_soon(db: Database, node: RabbitNode) -> None:
    """The pauses between two tries have grown by then, but not beyond measure; and the log is no flood."""
    with worker(db.url, BPC_QUEUE_URL=node.url, **BY_POLL) as running:
        wait_connected(running)
        node.stop()
        began = time.monotonic()
        while time.monotonic() < began + 75:
            run_by_poll(db)
            assert alive(running)
            assert running.get("/v1/health/ready")[0] == 200
        tries = [line for line in running.lines if line["msg"] == "broker_unavailable"]
        node.start()
        took = back(running, node.url, repaired_at=time.monotonic(), pid=running.pid)
        print(f"{len(tries)} warnings in 75 s; back after {took:.1f} s")
        run_by_trigger(db, node.url)

        assert len(tries) <= 20
        assert errors(running) == []
        assert running.stop() == 0
    db.check_history()


def test_a_broker_that_hangs_is_given_up_and_heard_again(db: Database, node: RabbitNode) -> None:
    with (
        worker(db.url, BPC_QUEUE_URL=node.url, BPC_HEALTH_REQUIRE_QUEUE="true", **BY_POLL) as running,
    ):
        wait_connected(running)
        pid, descriptors = running.pid, len(list(Path(f"/proc/{running.pid}/fd").iterdir()))
        with hung(node):
            began = time.monotonic()
            until(lambda: not connected(running), within=30)
            print(f"given up after {time.monotonic() - began:.1f} s")
            assert running.get("/v1/health/ready")[0] == 503
            while time.monotonic() < began + 40:
                run_by_poll(db)
                assert alive(running)
            db.tenant("acme")
            done = command(db.url, "enqueue", "TEST_NOOP", "--tenant", "acme", BPC_QUEUE_URL=node.url)
            assert done.returncode == 0
            assert "the trigger was not published" in done.stderr
        print(f"back after {back(running, node.url, repaired_at=time.monotonic(), pid=pid):.1f} s")
        run_by_trigger(db, node.url)
        until(lambda: running.get("/v1/health/ready")[0] == 200, within=5)

        assert warned(running, "broker_unavailable")
        assert errors(running) == []
        until(lambda: len(our_queues(node)) == 1, within=30, what="nothing of the old connections is left")
        until(
            lambda: len(list(Path(f"/proc/{pid}/fd").iterdir())) <= descriptors + 2,
            within=10,
            what="the old connections are closed here, too",
        )
        succeeds(db, done.stdout.strip())
        assert running.stop() == 0
    db.check_history()


def test_a_broker_short_of_memory_keeps_nobody_from_working(db: Database, node: RabbitNode) -> None:
    """It stops reading from whoever publishes, which must not include the connection that listens."""
    common = {"BPC_QUEUE_URL": node.url, **BY_POLL}
    with worker(db.url, **common) as running, worker(db.url, **common) as other:
        wait_connected(running)
        wait_connected(other)
        pids = running.pid, other.pid
        run_chain(db)
        with memory_alarm(node):
            began = time.monotonic()
            while time.monotonic() < began + 45:
                run_chain(db)
                assert alive(running)
                assert alive(other)
                assert connected(running)
                assert connected(other)
        repaired_at = time.monotonic()
        took = [
            back(each, node.url, repaired_at=repaired_at, pid=pid)
            for each, pid in zip((running, other), pids, strict=True)
        ]
        print(f"back after {took[0]:.1f} and {took[1]:.1f} s")
        run_by_trigger(db, node.url)

        for each in (running, other):
            assert each.said("broker_unavailable") is None
            assert errors(each) == []
        assert warned(running, "trigger_not_published") or warned(other, "trigger_not_published")
        assert running.stop() == other.stop() == 0
    db.check_history()


def run_chain(db: Database) -> None:
    """Follow-up jobs make a worker publish."""
    first = db.enqueue("TEST_FOLLOW", '{"depth": 5}')
    succeeds(db, first)
    until(lambda: db.run("SELECT FROM jobs WHERE status <> 'SUCCEEDED'") == [], within=30)


def test_a_worker_stops_in_time_whatever_its_broker_does(db: Database, node: RabbitNode) -> None:
    for trouble in (hung, memory_alarm):
        with worker(db.url, BPC_QUEUE_URL=node.url) as running:
            wait_connected(running)
            run_chain(db)
            with trouble(node):
                run_chain(db)
                began = time.monotonic()

                assert running.stop() == 0
                assert time.monotonic() - began < 5
    db.check_history()


def test_an_exchange_that_is_deleted_under_a_publishing_worker_is_made_again(
    db: Database, node: RabbitNode
) -> None:
    """A publish to an exchange that is not there closes the channel, which must not be the listener's."""
    with worker(db.url, BPC_QUEUE_URL=node.url) as running:
        wait_connected(running)
        run_chain(db)
        for _ in range(2):
            node.delete_exchange("bpc")
            deleted_at = time.monotonic()
            run_chain(db)
            run_chain(db)
            took = back(running, node.url, repaired_at=deleted_at, pid=running.pid)
            print(f"back after {took:.1f} s")

        assert running.said("broker_unavailable") is None
        assert errors(running) == []
        assert running.stop() == 0
    db.check_history()


def test_a_consumer_that_is_cancelled_again_and_again_comes_back(db: Database, node: RabbitNode) -> None:
    with worker(db.url, BPC_QUEUE_URL=node.url, **BY_POLL) as running:
        wait_connected(running)
        for _ in range(5):
            cancel_consumers(node)
            took = back(running, node.url, repaired_at=time.monotonic(), pid=running.pid)
            print(f"back after {took:.1f} s")
        run_by_trigger(db, node.url)

        assert errors(running) == []
        assert running.stop() == 0
    assert our_queues(node) == []
    db.check_history()


def test_a_queue_whose_process_crashes_is_heard_again(db: Database, node: RabbitNode) -> None:
    with worker(db.url, BPC_QUEUE_URL=node.url, **BY_POLL) as running:
        wait_connected(running)
        node.ctl("eval", "[exit(amqqueue:get_pid(Q), kill) || Q <- rabbit_amqqueue:list()].")
        print(f"back after {back(running, node.url, repaired_at=time.monotonic(), pid=running.pid):.1f} s")
        run_by_trigger(db, node.url)

        assert running.stop() == 0
    db.check_history()


async def test_a_connection_that_lasts_is_checked_without_ever_growing(
    rabbit: RabbitNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client library keeps some memory for every channel that was ever opened on a connection."""
    channels, checks, enough = 0, 0, asyncio.Event()
    open_channel, check = aio_pika.Connection.channel, listener._check

    def counted_channel(connection: aio_pika.Connection, **options: bool) -> AbstractChannel:
        nonlocal channels
        channels += 1
        return open_channel(connection, publisher_confirms=options["publisher_confirms"])

    async def counted_check(queue: AbstractQueue) -> None:
        nonlocal checks
        checks += 1
        if checks == 100:
            enough.set()
        await check(queue)

    monkeypatch.setattr(listener, "_REDECLARE_SECONDS", 0.001)
    monkeypatch.setattr(listener, "_check", counted_check)
    monkeypatch.setattr(aio_pika.Connection, "channel", counted_channel)
    broker = listener.Broker(url=rabbit.url, exchange="amq.topic")  # always there
    states: list[bool] = []
    hearing = listener.TriggerListener(broker, on_trigger=lambda: None, on_state=states.append)
    listening = asyncio.create_task(hearing.run())
    async with asyncio.timeout(60):
        await enough.wait()
    listening.cancel()
    await asyncio.wait({listening})

    assert channels == 2
    assert states == [True, False]


def test_a_message_of_64_megabytes_costs_a_worker_no_memory(db: Database, node: RabbitNode) -> None:
    def peak() -> int:
        status = Path(f"/proc/{running.pid}/status").read_text(encoding="ascii")
        [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024

    with worker(db.url, BPC_QUEUE_URL=node.url, **NEVER_BY_POLL) as running:
        wait_connected(running)
        run_by_trigger(db, node.url)
        before, messages = peak(), heard(running)
        with Publisher(node.url) as publisher:
            publisher.send([aio_pika.Message(bytes(64 * MIB))])
        until(lambda: heard(running) > messages, within=60)
        print(f"{(peak() - before) / MIB:.1f} MiB more")

        assert peak() - before < 16 * MIB
        run_by_trigger(db, node.url)
        assert running.stop() == 0
    db.check_history()


def test_a_minute_of_triggers_for_nothing_is_a_minute_of_normal_work(db: Database, node: RabbitNode) -> None:
    with worker(db.url, BPC_QUEUE_URL=node.url, BPC_LOG_LEVEL="info", **NEVER_BY_POLL) as running:
        wait_connected(running)
        looks, began, slowest = running.metric("bpc_looks_total"), time.monotonic(), 0.0
        jobs = 0
        with Publisher(node.url) as publisher:
            while time.monotonic() < began + 60:
                publisher.send([aio_pika.Message(json.dumps({"job_id": "nobody"}).encode())] * 500)
                assert alive(running)
                queued = time.monotonic()
                job_id = db.enqueue("TEST_NOOP")
                publisher.trigger(job_id)
                succeeds(db, job_id)
                slowest, jobs = max(slowest, time.monotonic() - queued), jobs + 1
        took = time.monotonic() - began
        looks = running.metric("bpc_looks_total") - looks
        print(f"{heard(running):.0f} heard, {looks / took:.1f} looks a second, slowest job {slowest:.2f} s")

        assert slowest < AT_ONCE
        assert looks <= 20 * took + jobs
        assert errors(running) == []
        assert running.said("broker_unavailable") is None
        assert running.stop() == 0
    db.check_history()


def test_a_broker_that_forgets_its_users_is_an_outage_like_any_other(db: Database, node: RabbitNode) -> None:
    """Its own password is refused for a while: a warning that does not name it."""
    password = "ahph4Ohk-not-for-the-log"
    node.ctl("add_user", "worker", password)
    node.ctl("set_permissions", "worker", ".*", ".*", ".*")
    url = node.url.replace("guest:guest", f"worker:{password}")
    try:
        with worker(db.url, BPC_QUEUE_URL=url, **BY_POLL) as running:
            wait_connected(running)
            node.ctl("change_password", "worker", "another")
            node.ctl("close_all_connections", "test")
            until(lambda: not connected(running), within=10)
            run_by_poll(db)
            node.ctl("change_password", "worker", password)
            print(
                f"back after {back(running, node.url, repaired_at=time.monotonic(), pid=running.pid):.1f} s"
            )
            run_by_trigger(db, node.url)

            assert warned(running, "broker_unavailable")
            assert errors(running) == []
            assert not any(password in line for line in running.raw)
            assert running.stop() == 0
    finally:
        node.ctl("delete_user", "worker")
    db.check_history()
