"""Tell the other workers to look: coalesced, within limits, and never at the cost of a job."""

import asyncio
from contextlib import suppress
from functools import lru_cache

import aio_pika
from aiormq import spec
from aiormq.abc import AbstractChannel as UnderlayChannel
from aiormq.abc import ChannelFrame, FieldTable
from pamqp.body import ContentBody
from pamqp.header import ContentHeader

from bpc_worker.amqp.connection import LONGEST_BACKOFF, Broker, close, connect, connected, warn
from bpc_worker.ids import spread

_BETWEEN_TRIGGERS = 0.01
_BETWEEN_CONNECTIONS = 0.25  # an exchange that is not there costs one each time
_PUBLISH_SECONDS = 2.0
_CLOSE_SECONDS = 0.5
_BODY = b"{}"
_TRANSIENT = 1


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
        self._channel: UnderlayChannel | None = None

    def publish(self, traceparent: str | None = None) -> None:
        """Of triggers that become one, it has the trace of the last."""
        self._wanted = True
        self._traceparent = traceparent
        if self._working is None or self._working.done():
            if self._channel is not None and not self._channel.is_closed:
                with suppress(asyncio.QueueFull):
                    self._send(self._channel)  # now, not in a task: somebody waits for the job
            self._working = asyncio.create_task(self._work())

    async def _work(self) -> None:
        """Until nobody has asked for a while. Also finds out whether the broker takes what was sent."""
        asked = True
        while asked:
            pause = _BETWEEN_TRIGGERS if self._connected else _BETWEEN_CONNECTIONS
            try:
                async with asyncio.timeout(_PUBLISH_SECONDS):
                    channel = await self._open_channel()
                if self._wanted:
                    self._send(channel)
            except Exception as error:  # noqa: BLE001 - never a lost job
                self._wanted = False
                pause = spread(LONGEST_BACKOFF, 0.25)
                warn("trigger_not_published", error, pause)
            await asyncio.sleep(pause)
            asked = self._wanted

    @property
    def _connected(self) -> bool:
        return self._channel is not None and not self._channel.is_closed

    def _send(self, channel: UnderlayChannel) -> None:
        channel.connection.write_queue.put_nowait(trigger(self._broker, channel.number, self._traceparent))
        self._wanted = False  # whoever asks from now on has a later job

    async def _open_channel(self) -> UnderlayChannel:
        if self._connection is None or self._channel is None or self._channel.is_closed:
            await self._disconnect()
            self._connection = await connect(self._broker)
            channel = await self._connection.channel(publisher_confirms=False)
            self._channel = await channel.get_underlay_channel()
        await _unblocked(self._connection)
        return self._channel

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
            headers: FieldTable | None = None if traceparent is None else {"traceparent": traceparent}
            message = aio_pika.Message(_BODY, headers=headers, delivery_mode=_TRANSIENT)
            await exchange.publish(message, broker.routing_key, mandatory=False)  # nobody need be listening
    except Exception as error:  # noqa: BLE001 - the job is committed: polling finds it
        return type(error).__name__
    return None


@lru_cache(maxsize=16)
def trigger(broker: Broker, channel: int, traceparent: str | None) -> ChannelFrame:
    """The three frames of a message, as the library's own `publish` makes them on a longer way."""
    headers: FieldTable | None = None if traceparent is None else {"traceparent": traceparent}
    properties = spec.Basic.Properties(delivery_mode=_TRANSIENT, headers=headers)
    return ChannelFrame.marshall(
        channel,
        [
            spec.Basic.Publish(exchange=broker.exchange, routing_key=broker.routing_key),  # mandatory: no
            ContentHeader(body_size=len(_BODY), properties=properties),
            ContentBody(_BODY),
        ],
    )


async def _unblocked(connection: aio_pika.Connection) -> None:
    if connection.transport is not None:
        try:
            async with asyncio.timeout(_PUBLISH_SECONDS / 2):
                await connection.transport.ready()
        except TimeoutError as error:
            raise ConnectionError("the broker takes no messages at present") from error
