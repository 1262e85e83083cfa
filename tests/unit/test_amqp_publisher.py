"""Triggers of our own: few, none forgotten, and harmless when they fail."""

import asyncio
from collections.abc import Callable

import pytest
from aio_pika.abc import AbstractChannel

from bpc_worker.adapters import amqp_publisher
from bpc_worker.adapters.amqp import Broker, TriggerListener
from bpc_worker.adapters.amqp_publisher import Publisher

BROKER = Broker(url="amqp://guest:guest@127.0.0.1:1/")


class Sending:
    """Stands in for a broker: counts what is sent, and sends as slowly or as badly as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent = 0
        self.traces: list[str | None] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        monkeypatch.setattr(amqp_publisher, "_send", self._send)
        monkeypatch.setattr(Publisher, "_open_channel", self._open_channel)

    async def _open_channel(self) -> None:
        return None

    async def _send(self, _: AbstractChannel, __: Broker, traceparent: str | None) -> None:
        self.sent += 1
        self.traces.append(traceparent)
        await self.gate.wait()
        if self.error is not None:
            raise self.error


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
    sending.gate.clear()
    publisher.publish()
    await until(lambda: sending.sent == 1)
    for number in range(1000):
        publisher.publish(f"trace {number}")
    sending.gate.set()
    assert publisher._working is not None
    async with asyncio.timeout(5):
        await publisher._working

    assert sending.sent == 2
    assert sending.traces == [None, "trace 999"]


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

    assert sending.sent == 1
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
