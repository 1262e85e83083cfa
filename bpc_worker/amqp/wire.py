"""Take off the wire what a publisher wrote, before the client library tries to understand it.

The library decodes a message's properties, and on a date or a text that it cannot decode it hangs up: anybody
who may publish could keep every worker from hearing. It also collects bodies of any size in memory.
"""

import asyncio
import struct
from typing import Any

from aiormq import TransportFactory
from aiormq.connection import TCPTransportFactory, TLSTransportFactory
from yarl import URL

_HEAD = struct.Struct(">BHI")  # type, channel, size of what follows before the end mark
_METHOD, _HEADER, _BODY, _HEARTBEAT = 1, 2, 3, 8
_LARGEST_FRAME = 1024 * 1024  # eight times what RabbitMQ offers by itself
_DELIVER = struct.pack(">HH", 60, 60)
_SIZE_AND_FLAGS = slice(4, 14)  # of a content header, after class and weight


def strip_message(kind: int, payload: bytes) -> bytes | None:
    """A frame of the same length in which nothing of a message is left; None when it was its body."""
    if kind == _BODY:
        return None
    if kind == _HEADER:
        return _with(payload, _SIZE_AND_FLAGS, bytes(10))  # no body follows, no property is set
    if kind == _METHOD and payload.startswith(_DELIVER):
        # Consumer tag, delivery tag (8), redelivered (1), exchange, and then the routing key.
        exchange = 4 + 1 + payload[4] + 8 + 1
        key = exchange + 1 + payload[exchange]
        return _with(payload, slice(key + 1, None), b"?" * payload[key])
    return payload


def _with(payload: bytes, place: slice, content: bytes) -> bytes:
    changed = bytearray(payload)
    changed[place] = content
    return bytes(changed)


class BlindReader(asyncio.StreamReader):
    """What the other reader brings, frame by frame, blinded."""

    def __init__(self, wire: asyncio.StreamReader) -> None:
        super().__init__()
        self._wire = wire
        self._ready = b""

    def at_eof(self) -> bool:
        return not self._ready and self._wire.at_eof()

    async def readexactly(self, n: int) -> bytes:
        while len(self._ready) < n:
            self._ready += await self._frame()
        data, self._ready = self._ready[:n], self._ready[n:]
        return data

    async def _frame(self) -> bytes:
        head = await self._wire.readexactly(_HEAD.size)
        kind, _, size = _HEAD.unpack(head)
        if kind not in {_METHOD, _HEADER, _BODY, _HEARTBEAT}:
            raise ConnectionError("what answers there does not speak AMQP 0-9-1")
        if size > _LARGEST_FRAME:
            raise ConnectionError(
                f"the broker announces a frame of {size} bytes; {_LARGEST_FRAME} are enough"
            )
        payload, end = await self._wire.readexactly(size), await self._wire.readexactly(1)
        left = strip_message(kind, payload)
        return b"" if left is None else head + left + end


class BlindTransport(TransportFactory):
    """Connects as the library does by itself, but reads blindly."""

    async def create(self, url: URL, **kwargs: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        connects = TLSTransportFactory() if url.scheme == "amqps" else TCPTransportFactory()
        reader, writer = await connects.create(url, **kwargs)
        return BlindReader(reader), writer
