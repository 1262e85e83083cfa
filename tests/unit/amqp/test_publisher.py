"""Triggers of our own: few, none forgotten, and harmless when they fail."""

import asyncio
from collections.abc import Callable

import aio_pika
import pytest

from bpc_worker.amqp.listener import Broker, TriggerListener
from bpc_worker.amqp.publisher import Publisher

BROKER = Broker(url="amqp://guest:guest@127.0.0.1:1/")


class Sending:
    """An exchange whose broker takes its time, or none at all: keeps what is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[tuple[aio_pika.Message, str, bool]] = []
        self.opened = 0
        self.error: Exception | None = None
        monkeypatch.setattr(Publisher, "_open_exchange", self._open_exchange)

    async def _open_exchange(self) -> "Sending":
        self.opened += 1
        if self.error is not None:
            raise self.error
        return self

    async def publish(self, message: aio_pika.Message, routing_key: str, *, mandatory: bool) -> None:
        self.messages.append((message, routing_key, mandatory))

    @property
    def sent(self) -> int:
        return len(self.messages)

    def traces(self) -> list[object]:
        return [message.headers.get("traceparent") for message, _, _ in self.messages]


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


async def test_a_trigger_is_transient_and_has_its_trace(sending: Sending) -> None:
    publisher = Publisher(BROKER)
    publisher.publish("trace")
    await publisher.close()

    [(message, routing_key, mandatory)] = sending.messages
    assert (routing_key, mandatory) == ("jobs.trigger", False)
    assert message.delivery_mode is aio_pika.DeliveryMode.NOT_PERSISTENT
    assert (message.headers, message.body) == ({"traceparent": "trace"}, b"{}")


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
