"""Listen for jobs.trigger messages, acknowledge them, ring the bell. Nothing in a message is ever read."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import aio_pika
from aio_pika.abc import (
    AbstractChannel,
    AbstractConnection,
    AbstractExchange,
    AbstractIncomingMessage,
)
from aiormq.abc import FieldTable
from aiormq.exceptions import ChannelNotFoundEntity

from bpc_worker import log
from bpc_worker.adapters.ids import nonce, spread

_log = log.get("amqp")

_PREFETCH = 100
_REDECLARE_SECONDS = 10.0
_CALL_SECONDS = 10.0
_LONGEST_BACKOFF = 15.0
_QUEUE_ARGUMENTS: FieldTable = {
    "x-max-length": 100,
    "x-max-length-bytes": 1_048_576,
    "x-expires": 60_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    url: str
    exchange: str = "bpc"
    routing_key: str = "jobs.trigger"


class TriggerListener:
    """A plain connection and a loop of our own: a fresh queue per connection, checked every ten seconds.

    A robust connection would redeclare an exclusive name that the broker still holds, overlook a cancelled
    consumer, and never notice a deleted exchange.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        on_trigger: Callable[[], None],
        on_state: Callable[[bool], None],
    ) -> None:
        self._broker = broker
        self._on_trigger = on_trigger
        self._on_state = on_state
        self._exchange: AbstractExchange | None = None
        self._publishing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """For ever: connect, listen until something breaks, wait a little longer each time."""
        failures = 0
        while True:
            try:
                async with asyncio.timeout(_CALL_SECONDS):
                    connection = await aio_pika.connect(self._broker.url, timeout=_CALL_SECONDS, heartbeat=10)
            except Exception as error:  # noqa: BLE001 - whatever keeps the broker away, polling goes on
                failures += 1
                await self._pause(error, failures)
                continue
            failures = 0
            try:
                await self._listen(connection)
            except Exception as error:  # noqa: BLE001 - likewise
                failures = 1
                await self._pause(error, failures)
            finally:
                self._lost()
                with suppress(Exception):
                    async with asyncio.timeout(1):
                        await connection.close()

    async def _pause(self, error: Exception, failures: int) -> None:
        self._lost()
        delay = spread(min(_LONGEST_BACKOFF, 0.5 * 2 ** min(failures, 10)), 0.25)
        _log.warning("broker_unavailable", reason=type(error).__name__, delay_s=round(delay, 2))
        await asyncio.sleep(delay)

    def _lost(self) -> None:
        self._exchange = None
        self._on_state(False)

    async def _listen(self, connection: AbstractConnection) -> None:
        """Returns never; raises when the consumer may no longer hear."""
        async with asyncio.timeout(_CALL_SECONDS):
            channel = await self._declare_exchange(connection)
            await channel.set_qos(prefetch_count=_PREFETCH)
            queue = await channel.declare_queue(
                f"bpc.wake.{nonce()}", exclusive=True, auto_delete=True, arguments=_QUEUE_ARGUMENTS
            )
            await queue.bind(self._broker.exchange, self._broker.routing_key)
            await queue.consume(self._heard)
            self._exchange = await channel.get_exchange(self._broker.exchange, ensure=False)
        self._on_state(True)
        self._on_trigger()  # what was published while nobody listened
        _log.info("broker_connected")
        while True:
            await asyncio.sleep(_REDECLARE_SECONDS)
            async with asyncio.timeout(_CALL_SECONDS):
                # A queue that is gone, or has lost its consumer, closes the channel here.
                found = await channel.declare_queue(queue.name, passive=True)
                if found.declaration_result.consumer_count == 0:
                    raise ConnectionError("the consumer was cancelled")
                again = await self._declare_exchange(connection)
                await again.close()
                await queue.bind(self._broker.exchange, self._broker.routing_key)

    async def _declare_exchange(self, connection: AbstractConnection) -> AbstractChannel:
        """An open channel on which the exchange is known to exist, whatever type its owner chose."""
        channel = await connection.channel(publisher_confirms=False)
        try:
            await channel.declare_exchange(self._broker.exchange, passive=True)
        except ChannelNotFoundEntity:  # which closed that channel
            channel = await connection.channel(publisher_confirms=False)
            await channel.declare_exchange(self._broker.exchange, aio_pika.ExchangeType.TOPIC, durable=True)
        return channel

    async def _heard(self, message: AbstractIncomingMessage) -> None:
        await message.ack()
        self._on_trigger()

    def publish(self) -> None:
        """Tell the other workers to look; a failure costs them a poll interval and nothing else."""
        if self._exchange is not None and (self._publishing is None or self._publishing.done()):
            self._publishing = asyncio.create_task(self._publish(self._exchange))

    async def _publish(self, exchange: AbstractExchange) -> None:
        try:
            async with asyncio.timeout(1):
                await exchange.publish(_trigger(), self._broker.routing_key)
        except Exception as error:  # noqa: BLE001 - never a lost job
            _log.warning("trigger_not_published", reason=type(error).__name__)


def _trigger() -> aio_pika.Message:
    return aio_pika.Message(b"{}", delivery_mode=aio_pika.DeliveryMode.NOT_PERSISTENT)


async def publish_once(broker: Broker, *, timeout: float = 3.0) -> str | None:
    """Publish one trigger from a short-lived process; what went wrong, or None."""
    try:
        async with asyncio.timeout(timeout):
            connection = await aio_pika.connect(broker.url, timeout=timeout)
            async with connection:
                channel = await connection.channel(publisher_confirms=False)
                exchange = await channel.get_exchange(broker.exchange, ensure=False)
                await exchange.publish(_trigger(), broker.routing_key)
    except Exception as error:  # noqa: BLE001 - the job is committed: polling finds it
        return type(error).__name__
    return None
