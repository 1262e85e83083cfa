"""The probe port with real connections: who is answered, who is sent away, and when."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from bpc_worker.observability.http import ProbeServer

WHOLE = b"GET /livez HTTP/1.1\r\nHost: worker\r\n\r\n"
HALF = WHOLE[:-2]


@asynccontextmanager
async def probes(**limits: float) -> AsyncIterator[int]:
    server = ProbeServer(
        live=lambda: {"loop": "ok"}, ready=lambda: {"database": "away"}, metrics=lambda: b"up 1\n", **limits  # type: ignore[arg-type]  # by name
    )  # fmt: skip
    try:
        yield await server.start("127.0.0.1", 0)
    finally:
        await server.stop()


async def said(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET /livez", 200), ("HEAD /v1/health/live", 200), ("GET /readyz", 503), ("GET /healthz", 503),
        ("GET /metrics?x=1", 200), ("GET /v1/metrics", 200), ("GET /", 404), ("POST /livez", 405),
    ],
)  # fmt: skip
async def test_pages_are_read_and_nothing_else(line: str, status: int) -> None:
    async with probes() as port:
        head = await said(port, f"{line} HTTP/1.1\r\nHost: worker\r\nContent-Length: 0\r\n\r\n".encode())

    assert head.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("sent", [b"", HALF, WHOLE], ids=["nothing", "half a request", "and then nothing"])
async def test_a_connection_lasts_for_a_short_while(sent: bytes) -> None:
    async with probes(longest_seconds=0.3) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        with suppress(ConnectionResetError):  # which is an end, too
            await asyncio.wait_for(reader.read(), 10)
        writer.close()


async def test_where_there_are_too_many_the_oldest_goes_and_the_newest_is_answered() -> None:
    async with probes(most_connections=3) as port:
        waiting = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        for _, writer in waiting:
            writer.write(HALF)
        assert (await said(port, WHOLE)).startswith(b"HTTP/1.1 200 ")
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(waiting[0][0].readexactly(1), 10)
        _, last = waiting[-1]
        last.write(b"\r\n")

        assert (await asyncio.wait_for(waiting[-1][0].readline(), 10)).startswith(b"HTTP/1.1 200 ")
        for _, writer in waiting:
            writer.close()
