"""Tell the other workers to look: coalesced, within limits, and never at the cost of a job."""

import asyncio

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractExchange

from bpc_worker.amqp.connection import LONGEST_BACKOFF, Broker, close, connect, connected, warn
from bpc_worker.ids import spread

_BETWEEN_TRIGGERS = 0.01
_BETWEEN_CONNECTIONS = 0.25  # an exchange that is not there costs one each time
_PUBLISH_SECONDS = 2.0
_CLOSE_SECONDS = 0.5
_BODY = b"{}"


class Publisher:
    """Our own triggers, coalesced, on a connection that is made when first needed.

    Not on the listener's: a broker short of memory stops reading from whoever publishes, and a publish to an
    exchange that was deleted closes the channel.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._wanted = False
        self._traceparent: str | None = None
        self._working: asyncio.Task[None] | None = None
        self._connection: aio_pika.Connection | None = None
        self._channel: AbstractChannel | None = None

    def publish(self, traceparent: str | None = None) -> None:
        """Of triggers that become one, it has the trace of the last."""
        self._wanted = True
        self._traceparent = traceparent
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())

    async def _work(self) -> None:
        """Until nobody has asked for a while."""
        while self._wanted:
            pause = _BETWEEN_TRIGGERS if self._connected else _BETWEEN_CONNECTIONS
            try:
                async with asyncio.timeout(_PUBLISH_SECONDS):
                    exchange = await self._open_exchange()
                    self._wanted = False  # whoever asks from now on has a later job
                    await _publish(exchange, self._broker, self._traceparent)
            except Exception as error:  # noqa: BLE001 - never a lost job
                self._wanted = False
                pause = spread(LONGEST_BACKOFF, 0.25)
                warn("trigger_not_published", error, pause)
            await asyncio.sleep(pause)

    @property
    def _connected(self) -> bool:
        return self._channel is not None and not self._channel.is_closed

    async def _open_exchange(self) -> AbstractExchange:
        if self._connection is None or self._channel is None or self._channel.is_closed:
            await self._disconnect()
            self._connection = await connect(self._broker)
            self._channel = await self._connection.channel(publisher_confirms=False)
        await _unblocked(self._connection)
        return await self._channel.get_exchange(self._broker.exchange, ensure=False)

    async def _disconnect(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            await close(connection)

    async def close(self) -> None:
        if self._working is not None:
            # The last words of a worker that stops: its follow-up jobs are for the others.
            await asyncio.wait({self._working}, timeout=_CLOSE_SECONDS)
            self._working.cancel()
        await self._disconnect()


async def publish_once(broker: Broker, *, traceparent: str | None = None, timeout: float = 3.0) -> str | None:
    """Publish one trigger from a short-lived process; what went wrong, or None.

    Confirmed, because here nobody would see the broker's refusal, which comes later.
    """
    try:
        async with asyncio.timeout(timeout), connected(broker) as connection:
            exchange = await (await connection.channel()).get_exchange(broker.exchange, ensure=False)
            await _publish(exchange, broker, traceparent)
    except Exception as error:  # noqa: BLE001 - the job is committed: polling finds it
        return type(error).__name__
    return None


async def _publish(exchange: AbstractExchange, broker: Broker, traceparent: str | None) -> None:
    message = aio_pika.Message(
        _BODY,
        headers=None if traceparent is None else {"traceparent": traceparent},
        delivery_mode=aio_pika.DeliveryMode.NOT_PERSISTENT,
    )
    await exchange.publish(message, broker.routing_key, mandatory=False)  # nobody need be listening


async def _unblocked(connection: aio_pika.Connection) -> None:
    if connection.transport is not None:
        try:
            async with asyncio.timeout(_PUBLISH_SECONDS / 2):
                await connection.transport.ready()
        except TimeoutError as error:
            raise ConnectionError("the broker takes no messages at present") from error
