"""Listen for jobs.trigger messages, ring the bell, acknowledge. Nothing in a message is ever read."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue
from aio_pika.connection import make_url
from aiormq.abc import FieldTable
from aiormq.exceptions import ChannelNotFoundEntity

from bpc_worker import log
from bpc_worker.adapters.amqp_wire import BlindTransport
from bpc_worker.adapters.ids import nonce, spread

_log = log.get("amqp")
for _library in ("aiormq.connection", "aiormq.channel"):
    # To them an absent broker is an error, and they print what they received: we say it in our own words.
    logging.getLogger(_library).setLevel(logging.CRITICAL)

_PREFETCH = 50
_BETWEEN_ACKS = 0.05  # of a flood we hear no more than 1,000 messages a second, the broker drops the rest
_BETWEEN_TRIGGERS = 0.01
_HEARTBEAT_SECONDS = 10
_REDECLARE_SECONDS = 10.0
_CALL_SECONDS = 8.0  # a hung call and the longest pause fit into the thirty seconds after a repair
_LONGEST_BACKOFF = 10.0
_PUBLISH_SECONDS = 2.0
_CLOSE_SECONDS = 0.5
_LONGEST_MESSAGE = 200
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
        self._publisher = _Publisher(broker)
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
                delay = spread(min(_LONGEST_BACKOFF, 0.5 * 2 ** min(failures, 10)), 0.25)
                _warn("broker_unavailable", error, delay)
                await asyncio.sleep(delay)
        finally:
            self._lost()
            await self._publisher.close()

    async def _until_it_breaks(self) -> Exception:
        try:
            async with _connected(self._broker, blind=True) as connection:
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
        async with asyncio.timeout(_CALL_SECONDS):
            channel = await self._declare_exchange(connection)
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
                await self._check(connection, queue)
        return broken.result()

    async def _check(self, connection: aio_pika.Connection, queue: AbstractQueue) -> None:
        """Raise when queue or consumer is gone; make and bind anew an exchange that is, which is silent."""
        async with asyncio.timeout(_CALL_SECONDS):
            found = await queue.channel.declare_queue(queue.name, passive=True)
            if found.declaration_result.consumer_count == 0:
                raise ConnectionError("the queue has no consumer")
            other = await self._declare_exchange(connection)
            await other.close()
            await queue.bind(self._broker.exchange, self._broker.routing_key)

    async def _declare_exchange(self, connection: aio_pika.Connection) -> AbstractChannel:
        """An open channel on which the exchange is known to exist, whatever type its owner chose."""
        channel = await connection.channel(publisher_confirms=False)
        try:
            await channel.declare_exchange(self._broker.exchange, passive=True)
        except ChannelNotFoundEntity:  # which closed that channel
            channel = await connection.channel(publisher_confirms=False)
            await channel.declare_exchange(self._broker.exchange, aio_pika.ExchangeType.TOPIC, durable=True)
        return channel

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

    def publish(self) -> None:
        """Tell the other workers to look; a failure costs them a poll interval and nothing else."""
        if self._listening_since is not None:
            self._publisher.publish()


class _Publisher:
    """Our own triggers, coalesced, on a connection that is made when first needed.

    Not on the listener's: a broker short of memory stops reading from whoever publishes, and a publish to an
    exchange that was deleted closes the channel.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._wanted = False
        self._working: asyncio.Task[None] | None = None
        self._connection: aio_pika.Connection | None = None
        self._channel: AbstractChannel | None = None

    def publish(self) -> None:
        self._wanted = True
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while self._wanted:
            self._wanted = False  # before it is sent: whoever asks from now on has a later job
            pause = _BETWEEN_TRIGGERS
            try:
                async with asyncio.timeout(_PUBLISH_SECONDS):
                    await _send(await self._open_channel(), self._broker)
            except Exception as error:  # noqa: BLE001 - never a lost job
                pause = spread(_LONGEST_BACKOFF, 0.25)
                _warn("trigger_not_published", error, pause)
            await asyncio.sleep(pause)

    async def _open_channel(self) -> AbstractChannel:
        if self._connection is None or self._channel is None or self._channel.is_closed:
            await self._disconnect()
            self._connection = await _connect(self._broker)
            self._channel = await self._connection.channel(publisher_confirms=False)
        await _unblocked(self._connection)
        return self._channel

    async def _disconnect(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            await _close(connection)

    async def close(self) -> None:
        if self._working is not None:
            # The last words of a worker that stops: its follow-up jobs are for the others.
            await asyncio.wait({self._working}, timeout=_CLOSE_SECONDS)
            self._working.cancel()
        await self._disconnect()


async def publish_once(broker: Broker, *, timeout: float = 3.0) -> str | None:
    """Publish one trigger from a short-lived process; what went wrong, or None.

    Confirmed, because here nobody would see the broker's refusal, which comes later.
    """
    try:
        async with asyncio.timeout(timeout), _connected(broker) as connection:
            await _send(await connection.channel(publisher_confirms=True), broker)
    except Exception as error:  # noqa: BLE001 - the job is committed: polling finds it
        return type(error).__name__
    return None


async def _send(channel: AbstractChannel, broker: Broker) -> None:
    exchange = await channel.get_exchange(broker.exchange, ensure=False)
    message = aio_pika.Message(b"{}", delivery_mode=aio_pika.DeliveryMode.NOT_PERSISTENT)
    await exchange.publish(message, broker.routing_key, mandatory=False)  # nobody need be listening


async def _watch(channel: AbstractChannel, broken: asyncio.Future[Exception]) -> None:
    def breaks(error: BaseException | None) -> None:
        if not broken.done():
            broken.set_result(error if isinstance(error, Exception) else ConnectionError("it was closed"))

    channel.close_callbacks.add(lambda _, error: breaks(error))  # called for the connection's end, too
    underlay = await channel.get_underlay_channel()
    underlay.on_consumer_cancel_callbacks.add(lambda _: breaks(ConnectionError("the consumer was cancelled")))


@asynccontextmanager
async def _connected(broker: Broker, *, blind: bool = False) -> AsyncIterator[aio_pika.Connection]:
    connection = await _connect(broker, blind=blind)
    try:
        yield connection
    finally:
        await _close(connection)


async def _connect(broker: Broker, *, blind: bool = False) -> aio_pika.Connection:
    connection = aio_pika.Connection(make_url(broker.url, heartbeat=_HEARTBEAT_SECONDS))
    if blind:
        connection.kwargs["transport_factory"] = BlindTransport()
    async with asyncio.timeout(_CALL_SECONDS):
        await connection.connect()
    return connection


async def _unblocked(connection: aio_pika.Connection) -> None:
    if connection.transport is not None:
        try:
            async with asyncio.timeout(_PUBLISH_SECONDS / 2):
                await connection.transport.ready()
        except TimeoutError as error:
            raise ConnectionError("the broker takes no messages at present") from error


async def _close(connection: aio_pika.Connection) -> None:
    """Soon, also when the broker does not answer."""
    with suppress(Exception):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await connection.close()


def _warn(event: str, error: Exception, delay: float) -> None:
    message = str(error)[:_LONGEST_MESSAGE] or None
    _log.warning(event, reason=type(error).__name__, error_message=message, delay_s=round(delay, 2))
