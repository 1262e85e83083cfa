"""Try what a listening worker does with the broker, one step after the other, leaving nothing behind."""

import asyncio
from dataclasses import dataclass
from typing import Literal

import aio_pika
from aiormq.exceptions import (
    AMQPError,
    AuthenticationError,
    ChannelAccessRefused,
    ChannelNotFoundEntity,
    ChannelPreconditionFailed,
    ProbableAuthenticationError,
)

from bpc_worker.amqp.connection import CALL_SECONDS, Broker, connected
from bpc_worker.ids import nonce

Step = Literal["connect", "log in", "find the exchange", "declare the exchange", "bind a queue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    step: Step
    error: str


async def failed_step(broker: Broker) -> Failed | None:
    """The first thing that a worker could not do there; None when it could do everything."""
    step: Step = "connect"
    try:
        async with connected(broker) as connection, asyncio.timeout(CALL_SECONDS):
            step = "find the exchange"
            probe = await connection.channel(publisher_confirms=False)
            await probe.declare_exchange(broker.exchange, passive=True)
            step = "declare the exchange"
            probe = await connection.channel(publisher_confirms=False)
            await probe.declare_exchange(broker.exchange, aio_pika.ExchangeType.TOPIC, durable=True)
            step = "bind a queue"
            channel = await connection.channel(publisher_confirms=False)
            queue = await channel.declare_queue(f"bpc.wake.{nonce()}", exclusive=True, auto_delete=True)
            await queue.bind(broker.exchange, broker.routing_key)
    except (AuthenticationError, ProbableAuthenticationError) as error:
        return Failed(step="log in", error=_text(error))
    except (ChannelNotFoundEntity, ChannelPreconditionFailed, ChannelAccessRefused) as error:
        return Failed(step=step, error=_text(error))
    except (OSError, AMQPError, TimeoutError) as error:
        return Failed(step=step, error=_text(error))
    return None


def _text(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:300]
