"""Listen for jobs.trigger messages, ring the bell, acknowledge. Nothing in a message is ever read."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue
from aiormq.abc import FieldTable
from aiormq.exceptions import ChannelNotFoundEntity

from bpc_worker.amqp.connection import CALL_SECONDS, LONGEST_BACKOFF, Broker, connected, warn
from bpc_worker.amqp.publisher import Publisher, publish_once
from bpc_worker.ids import nonce, spread
from bpc_worker.observability import log

__all__ = ["Broker", "TriggerListener", "publish_once"]

_log = log.get("amqp")

_PREFETCH = 50
_BETWEEN_ACKS = 0.05  # of a flood we hear no more than 1,000 messages a second, the broker drops the rest
_REDECLARE_SECONDS = 10.0
_QUEUE_ARGUMENTS: FieldTable = {
    "x-max-length": 100,
    "x-max-length-bytes": 1_048_576,
    "x-expires": 60_000,
}


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
        self._publisher = Publisher(broker)
        self._listening_since: float | None = None
        self._last_heard: AbstractIncomingMessage | None = None
        self._acknowledging: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """For ever: connect, listen until something breaks, wait a little longer each time."""
        failures = 0
        try:
            while True:
                error = await self._until_it_breaks()
                failures = 1 if self._listened_for(_REDECLARE_SECONDS) else failures + 1
                self._lost()
                delay = spread(min(LONGEST_BACKOFF, 0.5 * 2 ** min(failures, 10)), 0.25)
                warn("broker_unavailable", error, delay)
                await asyncio.sleep(delay)
        finally:
            self._lost()
            await self._publisher.close()

    async def _until_it_breaks(self) -> Exception:
        try:
            async with connected(self._broker, strip_message=True) as connection:
                return await self._listen(connection)
        except Exception as error:  # noqa: BLE001 - whatever keeps the broker away, polling goes on
            return error

    def _listened_for(self, seconds: float) -> bool:
        return self._listening_since is not None and time.monotonic() - self._listening_since > seconds

    def _lost(self) -> None:
        self._listening_since = None
        self._on_state(False)

    async def _listen(self, connection: aio_pika.Connection) -> Exception:
        """Ends as soon as the consumer may no longer hear, and tells why."""
        broken: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        async with asyncio.timeout(CALL_SECONDS):
            probe = await self._declare_exchange(connection, None)
            channel = await connection.channel(publisher_confirms=False)
            await _watch(channel, broken)
            await channel.set_qos(prefetch_count=_PREFETCH)
            queue = await channel.declare_queue(
                f"bpc.wake.{nonce()}", exclusive=True, auto_delete=True, arguments=_QUEUE_ARGUMENTS
            )
            await queue.bind(self._broker.exchange, self._broker.routing_key)
            await queue.consume(self._heard)
        self._listening_since = time.monotonic()
        self._on_state(True)
        self._on_trigger()  # what was published while nobody listened
        _log.info("broker_connected")
        while not broken.done():
            await asyncio.wait({broken}, timeout=_REDECLARE_SECONDS)
            if not broken.done():
                async with asyncio.timeout(CALL_SECONDS):
                    await _check(queue)
                    # An exchange that was deleted took its bindings along, and nobody was told.
                    probe = await self._declare_exchange(connection, probe)
                    await queue.bind(self._broker.exchange, self._broker.routing_key)
        return broken.result()

    async def _declare_exchange(
        self, connection: aio_pika.Connection, probe: AbstractChannel | None
    ) -> AbstractChannel:
        """See to it that the exchange exists, whatever type its owner chose.

        Asking for one that does not exist closes the channel, so this one serves no other purpose. It is kept
        for the next time: the library never quite forgets a channel while the connection lasts.
        """
        if probe is None or probe.is_closed:
            probe = await connection.channel(publisher_confirms=False)
        try:
            await probe.declare_exchange(self._broker.exchange, passive=True)
        except ChannelNotFoundEntity:
            probe = await connection.channel(publisher_confirms=False)
            await probe.declare_exchange(self._broker.exchange, aio_pika.ExchangeType.TOPIC, durable=True)
        return probe

    async def _heard(self, message: AbstractIncomingMessage) -> None:
        self._on_trigger()
        self._last_heard = message
        if self._acknowledging is None or self._acknowledging.done():
            self._acknowledging = asyncio.create_task(self._acknowledge())

    async def _acknowledge(self) -> None:
        """All that were heard in a while with one frame."""
        while self._last_heard is not None:
            await asyncio.sleep(_BETWEEN_ACKS)
            last, self._last_heard = self._last_heard, None
            with suppress(Exception):  # it broke meanwhile, which `_watch` has told
                await last.channel.basic_ack(last.delivery_tag or 0, multiple=True)

    def publish(self, traceparent: str | None = None) -> None:
        """Tell the other workers to look; a failure costs them a poll interval and nothing else."""
        if self._listening_since is not None:
            self._publisher.publish(traceparent)


async def _watch(channel: AbstractChannel, broken: asyncio.Future[Exception]) -> None:
    def breaks(error: BaseException | None) -> None:
        if not broken.done():
            broken.set_result(error if isinstance(error, Exception) else ConnectionError("it was closed"))

    channel.close_callbacks.add(lambda _, error: breaks(error))  # called for the connection's end, too
    underlay = await channel.get_underlay_channel()
    underlay.on_consumer_cancel_callbacks.add(lambda _: breaks(ConnectionError("the consumer was cancelled")))


async def _check(queue: AbstractQueue) -> None:
    """Raise when the queue or its consumer is gone."""
    found = await queue.channel.declare_queue(queue.name, passive=True)
    if found.declaration_result.consumer_count == 0:
        raise ConnectionError("the queue has no consumer")
