"""What tests do to a broker and through it: publish, break it, wait until the worker hears again."""

import asyncio
import json
import os
import signal
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Self, cast

import aio_pika
import pamqp.frame
from aio_pika.exceptions import AMQPError
from aiormq.abc import ChannelFrame
from pamqp import commands

from tests.support.database import Database
from tests.support.rabbitmq import RabbitNode
from tests.support.worker import Worker, until

POLL_SECONDS: Final = 10.0
BY_POLL: Final = {"BPC_JOBS_POLL_INTERVAL_MS": 10_000}
NEVER_BY_POLL: Final = {"BPC_JOBS_POLL_INTERVAL_MS": 3_600_000}  # what starts, was started by something else
BACK_WITHIN: Final = 30.0
AT_ONCE: Final = 2.0  # seconds, on a machine with much else to do; polling needs ten


class Publisher:
    """A plain producer of triggers, for tests that are no coroutines."""

    def __init__(self, url: str, exchange: str = "bpc", routing_key: str = "jobs.trigger") -> None:
        self._loop = asyncio.new_event_loop()
        self._routing_key = routing_key
        try:
            self._connection = self._loop.run_until_complete(_connection(url))
            self._channel, self._exchange = self._loop.run_until_complete(self._open(exchange))
        except BaseException:
            self._loop.close()
            raise

    async def _open(self, name: str) -> tuple[aio_pika.abc.AbstractChannel, aio_pika.abc.AbstractExchange]:
        channel = await self._connection.channel(publisher_confirms=False)
        return channel, await channel.get_exchange(name, ensure=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._connection.close())
        self._loop.close()

    def trigger(self, job_id: str) -> None:
        self.send([aio_pika.Message(json.dumps({"job_id": job_id}).encode())])

    def send(self, messages: Sequence[aio_pika.Message]) -> None:
        self._loop.run_until_complete(self._send(messages))

    async def _send(self, messages: Sequence[aio_pika.Message]) -> None:
        for message in messages:
            await self._exchange.publish(message, self._routing_key, mandatory=False)

    def send_raw_header(self, flags: int, properties: bytes, body: bytes = b"{}") -> None:
        """A message whose properties no library would write."""
        self._loop.run_until_complete(self._send_raw_header(flags, properties, body))

    async def _send_raw_header(self, flags: int, properties: bytes, body: bytes) -> None:
        channel = await self._channel.get_underlay_channel()
        publish = commands.Basic.Publish(exchange=self._exchange.name, routing_key=self._routing_key)
        header = struct.pack(">HHQH", commands.Basic.frame_id, 0, len(body), flags) + properties
        frames = [
            pamqp.frame.marshal(publish, channel.number),
            struct.pack(">BHI", 2, channel.number, len(header)) + header + b"\xce",
            struct.pack(">BHI", 3, channel.number, len(body)) + body + b"\xce",
        ]
        await channel.connection.write_queue.put(ChannelFrame(payload=b"".join(frames), should_close=False))
        await self._exchange.publish(aio_pika.Message(b"after it"), "nobody", mandatory=False)


async def _connection(url: str) -> aio_pika.abc.AbstractConnection:
    # Hardly ever a heartbeat: between two calls nobody runs a loop.
    return await aio_pika.connect(url, heartbeat=600, timeout=10)


def make_exchange(url: str, name: str, kind: str) -> None:
    async def declare() -> None:
        async with await _connection(url) as connection:
            channel = await connection.channel()
            await channel.declare_exchange(name, kind)

    asyncio.run(declare())


def ring(publisher: Publisher, *, per_second: int, seconds: float) -> int:
    """Triggers, for a while; how many."""
    sent, began_at = 0, time.monotonic()
    while (now := time.monotonic() - began_at) < seconds:
        owed = int(now * per_second) - sent
        publisher.send([aio_pika.Message(b"{}")] * owed)
        sent += owed
        time.sleep(0.02)
    return sent


def connected(running: Worker) -> bool:
    return running.metric("bpc_broker_connected") == 1


def wait_connected(running: Worker) -> Worker:
    """Ready, and listening to the broker."""
    running.wait_ready()
    until(lambda: connected(running), within=BACK_WITHIN, what="listening")
    return running


def heard(running: Worker) -> float:
    return running.metric("bpc_trigger_messages_total")


def hears(running: Worker, url: str, exchange: str = "bpc") -> bool:
    """Whether a message that is published now reaches the worker."""
    before = heard(running)
    try:
        with Publisher(url, exchange) as publisher:
            publisher.trigger("nobody")
    except (AMQPError, OSError):
        return False
    ends_at = time.monotonic() + 1
    while (now := heard(running)) == before and time.monotonic() < ends_at:
        time.sleep(0.05)
    return now > before


def back(running: Worker, url: str, *, repaired_at: float, pid: int) -> float:
    """After how many seconds the worker, still the same process, heard again."""
    until(lambda: hears(running, url), within=2 * BACK_WITHIN, what="the worker hears again")
    took = time.monotonic() - repaired_at

    assert took <= BACK_WITHIN
    assert connected(running)
    assert (running.pid, running.exit_code) == (pid, None)
    return took


def run_by_trigger(db: Database, url: str, exchange: str = "bpc") -> None:
    """Two jobs in a row start at once, which polling could not do."""
    with Publisher(url, exchange) as publisher:
        for _ in range(2):
            job_id = db.enqueue("TEST_NOOP")
            published = time.monotonic_ns()
            publisher.trigger(job_id)

            assert (started_ns(db, job_id) - published) / 1e9 < AT_ONCE


def run_by_poll(db: Database) -> None:
    """A job starts though nobody hears of it."""
    job_id = db.enqueue("TEST_NOOP")
    queued = time.monotonic_ns()

    assert (started_ns(db, job_id) - queued) / 1e9 < POLL_SECONDS * 1.1 + AT_ONCE


def succeeds(db: Database, job_id: str) -> dict[str, object]:
    def succeeded() -> dict[str, object] | None:
        job = db.job(job_id)
        return job if job["status"] == "SUCCEEDED" else None

    return cast("dict[str, object]", until(succeeded, within=30, what=f"job {job_id} succeeds"))


def started_ns(db: Database, job_id: str) -> int:
    """When the handler of a TEST_NOOP job began, by the monotonic clock."""
    result = cast("dict[str, int]", succeeds(db, job_id)["result"])
    return result["started_ns"]


def claimed_by(db: Database, job_id: str) -> list[object]:
    rows = db.run(
        "SELECT new ->> 'lease_owner' AS owner FROM job_history"
        " WHERE job_id = %s AND old ->> 'status' = 'QUEUED' AND new ->> 'status' = 'RUNNING' ORDER BY seq",
        [job_id],
    )
    return [row["owner"] for row in rows]


def errors(running: Worker) -> list[str]:
    """Lines that would wake somebody up at night, and lines that are none of ours."""
    loud = [str(line) for line in tuple(running.lines) if line["level"] not in {"debug", "info", "warning"}]
    return loud + [line for line in running.raw if not line.startswith("{")]


def warned(running: Worker, msg: str) -> bool:
    line = running.said(msg)
    return line is not None and line["level"] == "warning"


def our_queues(node: RabbitNode) -> list[dict[str, object]]:
    columns = ("name", "messages_ready", "messages_unacknowledged", "consumers")
    rows = json.loads(node.ctl("list_queues", "-q", "--formatter=json", *columns))
    return [row for row in rows if row["name"].startswith("bpc.wake.")]


def cancel_consumers(node: RabbitNode) -> None:
    """Tell every consumer that it is none any more, as a broker does that loses a queue's master."""
    node.ctl(
        "eval",
        "[rabbit_channel:send_command(proplists:get_value(channel_pid, C),"
        " {'basic.cancel', proplists:get_value(consumer_tag, C), true})"
        ' || C <- rabbit_amqqueue:consumers_all(<<"/">>)].',
    )


@contextmanager
def hung(node: RabbitNode) -> Iterator[None]:
    """Inside the block the broker does nothing; the kernel still takes connections and bytes for it."""
    pid = node.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextmanager
def memory_alarm(node: RabbitNode) -> Iterator[None]:
    node.memory_alarm(True)
    try:
        yield
    finally:
        node.memory_alarm(False)
