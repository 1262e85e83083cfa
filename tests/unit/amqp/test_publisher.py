"""Triggers of our own: few, none forgotten, and harmless when they fail."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import pamqp.frame
import pytest
from pamqp import commands
from pamqp.body import ContentBody
from pamqp.header import ContentHeader

from bpc_worker.amqp.listener import Broker, TriggerListener
from bpc_worker.amqp.publisher import Publisher

if TYPE_CHECKING:
    from aiormq.abc import AbstractChannel, ChannelFrame

BROKER = Broker(url="amqp://guest:guest@127.0.0.1:1/")


class Sending:
    """A channel whose broker takes its time, or none at all: counts what is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_closed = False
        self.number = 1
        self.connection = self
        self.write_queue: asyncio.Queue[ChannelFrame] = asyncio.Queue()
        self.opened = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        monkeypatch.setattr(Publisher, "_open_channel", self._open_channel)

    async def _open_channel(self) -> "Sending":
        self.opened += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self

    @property
    def sent(self) -> int:
        return self.write_queue.qsize()

    def traces(self) -> list[object]:
        found: list[object] = []
        while not self.write_queue.empty():
            _, header, _ = frames(self.write_queue.get_nowait().payload)
            assert isinstance(header, ContentHeader)
            found.append((header.properties.headers or {}).get("traceparent"))
        return found


def frames(wire: bytes) -> list[object]:
    found: list[object] = []
    while wire:
        size, _, frame = pamqp.frame.unmarshal(wire)
        found.append(frame)
        wire = wire[size:]
    return found


@pytest.fixture
def sending(monkeypatch: pytest.MonkeyPatch) -> Sending:
    return Sending(monkeypatch)


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not fact():
            await asyncio.sleep(0)


async def some_turns() -> None:
    """Enough for anything that is not held up."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_a_burst_is_two_messages_the_second_for_whoever_came_while_the_first_was_sent(
    sending: Sending,
) -> None:
    publisher = Publisher(BROKER)
    publisher.publish()
    await until(lambda: sending.sent == 1)
    for number in range(1000):
        publisher.publish(f"trace {number}")
    assert publisher._working is not None
    async with asyncio.timeout(5):
        await publisher._working

    assert sending.traces() == [None, "trace 999"]


async def test_over_a_connection_that_is_there_it_is_sent_at_once(sending: Sending) -> None:
    publisher = Publisher(BROKER)
    publisher._channel = cast("AbstractChannel", sending)
    publisher.publish("trace")

    assert sending.sent == 1
    publish, header, body = frames(sending.write_queue.get_nowait().payload)
    assert isinstance(publish, commands.Basic.Publish)
    assert (publish.exchange, publish.routing_key, publish.mandatory) == ("bpc", "jobs.trigger", False)
    assert isinstance(header, ContentHeader)
    assert (header.properties.delivery_mode, header.properties.headers) == (1, {"traceparent": "trace"})
    assert isinstance(body, ContentBody)
    assert body.value == b"{}"
    await publisher.close()
    assert sending.sent == 0


async def test_a_broker_that_takes_nothing_is_sent_no_more(
    sending: Sending, caplog: pytest.LogCaptureFixture
) -> None:
    publisher = Publisher(BROKER)
    publisher._channel = cast("AbstractChannel", sending)
    sending.error = ConnectionError("the broker takes no messages at present")
    publisher.publish()
    await until(lambda: "trigger_not_published" in caplog.text)
    for _ in range(1000):
        publisher.publish()
    await some_turns()

    assert sending.sent == 1
    await publisher.close()


async def test_a_failed_publish_is_a_warning_and_the_next_ones_wait(
    sending: Sending, caplog: pytest.LogCaptureFixture
) -> None:
    publisher = Publisher(BROKER)
    sending.error = ConnectionError("refused by amqp://user:secret@host/")
    publisher.publish()
    await until(lambda: "trigger_not_published" in caplog.text)
    for _ in range(1000):
        publisher.publish()
    await some_turns()

    assert (sending.opened, sending.sent) == (1, 0)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    await publisher.close()


async def test_closing_lets_the_last_word_out(sending: Sending) -> None:
    publisher = Publisher(BROKER)
    publisher.publish()
    await publisher.close()

    assert sending.sent == 1


async def test_nothing_is_published_while_the_listener_has_no_broker(sending: Sending) -> None:
    """A worker with many follow-up jobs does not call a dead broker for each of them."""
    listener = TriggerListener(BROKER, on_trigger=lambda: None, on_state=lambda _: None)
    listener.publish()
    await some_turns()

    assert sending.sent == 0
