"""Receivers of webhooks as nobody wishes for them: slow, endless, huge, or not HTTP at all."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_FOREVER = 3600
_PAUSE = 0.05
_BLOCK = b"x" * 65536
_OK = b"HTTP/1.1 200 OK\r\n"


async def _request(reader: asyncio.StreamReader) -> None:
    await reader.readuntil(b"\r\n\r\n")


def saying(answer: bytes) -> Behaviour:
    """Read the head of the request, say this, and close."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(answer)
        await writer.drain()

    return behave


good = saying(_OK + b"Content-Length: 2\r\n\r\nok")
not_http = saying(b"SSH-2.0-OpenSSH_9.6\r\n")
broken_off = saying(_OK + b"Content-Length: 100\r\n\r\nonly this")
closing = saying(b"")
redirecting = saying(
    b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n"
)


async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await _request(reader)
    await asyncio.sleep(_FOREVER)


async def deaf(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """Reads nothing, says nothing; without TLS in front it hangs in the handshake."""
    await asyncio.sleep(_FOREVER)


async def dripping_handshake(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The beginning of a TLS record of 16 KiB, a byte at a time."""
    writer.write(b"\x16\x03\x03\x40\x00")
    await _drip(writer, b"\x02\x00\x3f\xfc" + b"\x03" * 16_000)


async def dripping_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    await _drip(writer, _OK + b"X-Slow: " + b"y" * 8_000)


async def dripping_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(_OK + b"Content-Length: 60000\r\n\r\n")
    await _drip(writer, b"z" * 60_000)


async def dripping_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(_OK + b"Transfer-Encoding: chunked\r\n\r\n")
    await _drip(writer, b"1\r\nx\r\n" * 60_000)


async def huge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Ten gigabytes, as told in the head."""
    await _request(reader)
    writer.write(_OK + b"Content-Length: 10737418240\r\n\r\n")
    await _flood(writer, _BLOCK, 10_737_418_240 // len(_BLOCK))


async def endless_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(_OK + b"Transfer-Encoding: chunked\r\n\r\n")
    await _flood(writer, b"10000\r\n" + _BLOCK + b"\r\n")


async def tiny_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Much wrapping around little: thousands of chunks of a byte, with extensions."""
    await _request(reader)
    writer.write(_OK + b"Transfer-Encoding: chunked\r\n\r\n")
    await _flood(writer, b"1;a=bcdefghijklmnopqrstuvwxyz0123456789\r\nx\r\n" * 1000)


async def gzip_bomb(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """64 MiB of zeros in 64 KiB, and that for ever: whoever unpacks it has no memory left."""
    await _request(reader)
    writer.write(_OK + b"Content-Encoding: gzip\r\nContent-Length: 10737418240\r\n\r\n")
    await _flood(writer, _bomb())


async def many_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(_OK)
    for number in range(100_000):
        writer.write(b"X-Header-%d: %s\r\n" % (number, b"v" * 100))
        if number % 1000 == 0:
            await writer.drain()
    writer.write(b"Content-Length: 0\r\n\r\n")
    await writer.drain()


async def long_header(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(_OK + b"X-Long: ")
    await _flood(writer, _BLOCK)


async def long_status(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"HTTP/1.1 200 ")
    await _flood(writer, _BLOCK)


async def endless_hints(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Informational answers, of which HTTP allows any number before the real one."""
    await _request(reader)
    await _flood(writer, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 500)


async def endless_trailers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(_OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
    await _flood(writer, b"X-Trailer: %s\r\n" % (b"t" * 1000))


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(64 * 1024 * 1024))


HANGING: dict[str, Behaviour] = {
    "silent": silent,
    "deaf": deaf,
    "dripping head": dripping_head,
    "dripping body": dripping_body,
    "dripping chunks": dripping_chunks,
}
HANGING_IN_TLS: dict[str, Behaviour] = {"deaf in TLS": deaf, "dripping in TLS": dripping_handshake}
CUT: dict[str, Behaviour] = {"huge": huge, "endless chunks": endless_chunks, "gzip bomb": gzip_bomb}
TOO_MUCH: dict[str, Behaviour] = {
    "many headers": many_headers,
    "long header": long_header,
    "long status": long_status,
    "endless hints": endless_hints,
    "endless trailers": endless_trailers,
}


async def _drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    for byte in data:
        if writer.is_closing():
            return
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(_PAUSE)


async def _flood(writer: asyncio.StreamWriter, block: bytes, times: int | None = None) -> None:
    sent = 0
    while not writer.is_closing() and (times is None or sent < times):
        writer.write(block)
        await writer.drain()
        await asyncio.sleep(0)  # drain alone does not let others have a turn
        sent += 1


BEHIND_TLS = {**HANGING, **CUT, **TOO_MUCH}  # those that hang in it are apart


class Listening:
    """Where it listens, and how many have come."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.accepted = 0


@asynccontextmanager
async def listening(
    behave: Behaviour, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Listening]:
    """In this very loop. Whoever is still being answered at the end is dropped."""
    state = Listening(port)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        state.accepted += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await behave(reader, writer)
                writer.close()
        finally:
            tasks.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(serve, host, port, ssl=tls)
    state.port = int(server.sockets[0].getsockname()[1])
    try:
        yield state
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
