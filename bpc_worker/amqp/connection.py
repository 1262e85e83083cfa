"""A connection to the broker: made and closed within limits, and what is said when there is none."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aio_pika
from aio_pika.connection import make_url

from bpc_worker.amqp.wire import BlindTransport
from bpc_worker.observability import log

_log = log.get("amqp")
for _library in ("aiormq.connection", "aiormq.channel"):
    # To them an absent broker is an error, and they print what they received: we say it in our own words.
    logging.getLogger(_library).setLevel(logging.CRITICAL)

CALL_SECONDS = 8.0  # a hung call and the longest pause fit into the thirty seconds after a repair
LONGEST_BACKOFF = 10.0
_HEARTBEAT_SECONDS = 10
_CLOSE_SECONDS = 0.5
_LONGEST_MESSAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    url: str
    exchange: str = "bpc"
    routing_key: str = "jobs.trigger"


@asynccontextmanager
async def connected(broker: Broker, *, strip_message: bool = False) -> AsyncIterator[aio_pika.Connection]:
    connection = await connect(broker, strip_message=strip_message)
    try:
        yield connection
    finally:
        await close(connection)


async def connect(broker: Broker, *, strip_message: bool = False) -> aio_pika.Connection:
    """`strip_message`: nothing of a message is read."""
    connection = aio_pika.Connection(make_url(broker.url, heartbeat=_HEARTBEAT_SECONDS))
    if strip_message:
        connection.kwargs["transport_factory"] = BlindTransport()
    async with asyncio.timeout(CALL_SECONDS):
        await connection.connect()
    return connection


async def close(connection: aio_pika.Connection) -> None:
    """Soon, also when the broker does not answer."""
    with suppress(Exception):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await connection.close()


def warn(event: str, error: Exception, delay: float) -> None:
    message = str(error)[:_LONGEST_MESSAGE] or None
    _log.warning(event, reason=type(error).__name__, error_message=message, delay_s=round(delay, 2))
