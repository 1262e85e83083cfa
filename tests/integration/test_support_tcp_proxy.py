"""Does the proxy break what it should break, and nothing else? A real client, a scripted server."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import LiteralString

import psycopg
import pytest

from tests.support.tcp_proxy import TcpProxy

HEAD = struct.Struct("!ci")
MARKER = b"settle"

Write = Callable[[psycopg.AsyncConnection, LiteralString], Awaitable[None]]


@dataclass
class ScriptedPostgres:
    """Agrees to every statement, and remembers those of committed transactions."""

    port: int = 0
    committed: list[bytes] = field(default_factory=list)
    refuses_to_commit: bool = False
    conversations: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.conversations.add(asyncio.create_task(self.talk(reader, writer)))

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(EOFError, OSError):
            await reader.readexactly(int.from_bytes(await reader.readexactly(4)) - 4)
            session = Session(self)
            writer.write(_message(b"R", bytes(4)) + session.ready())
            while True:
                kind, length = HEAD.unpack(await reader.readexactly(5))
                writer.write(session.answer(kind, await reader.readexactly(length - 4)))


@dataclass
class Session:
    server: ScriptedPostgres
    transaction: list[bytes] | None = None
    prepared: dict[bytes, bytes] = field(default_factory=dict)
    bound: bytes = b""

    def answer(self, kind: bytes, body: bytes) -> bytes:
        match kind:
            case b"Q":
                answer = self.run(body.rstrip(b"\0")) + self.ready()
            case b"P":
                name, text, _ = body.split(b"\0", 2)
                self.prepared[name] = text
                answer = _message(b"1")
            case b"B":
                self.bound = self.prepared[body.split(b"\0", 2)[1]]
                answer = _message(b"2")
            case b"D":
                answer = _message(b"n")
            case b"E":
                answer = self.run(self.bound)
            case b"S":
                answer = self.ready()
            case _:
                answer = b""
        return answer

    def run(self, statement: bytes) -> bytes:
        word = statement.split()[0]
        match word:
            case b"BEGIN":
                self.transaction = []
            case b"COMMIT" if self.server.refuses_to_commit:
                self.transaction = None
                return _message(b"E", b"SERROR\0VERROR\0C40001\0Mtry again\0\0")
            case b"COMMIT":
                self.server.committed += self.transaction or []
                self.transaction = None
            case _ if self.transaction is not None:
                self.transaction.append(statement)
            case _:
                self.server.committed.append(statement)
        return _message(b"C", word + b"\0")

    def ready(self) -> bytes:
        return _message(b"Z", b"I" if self.transaction is None else b"T")


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return HEAD.pack(kind, len(body) + 4) + body


@pytest.fixture
async def server() -> AsyncIterator[ScriptedPostgres]:
    scripted = ScriptedPostgres()
    async with await asyncio.start_server(scripted.accept, "127.0.0.1", 0) as listener:
        scripted.port = listener.sockets[0].getsockname()[1]
        yield scripted
        await asyncio.gather(*scripted.conversations)


@pytest.fixture
def proxy(server: ScriptedPostgres) -> Iterator[TcpProxy]:
    with TcpProxy("127.0.0.1", server.port) as running:
        yield running


@contextlib.asynccontextmanager
async def connected(proxy: TcpProxy, *, sslmode: str = "disable") -> AsyncIterator[psycopg.AsyncConnection]:
    connection = await psycopg.AsyncConnection.connect(
        host="127.0.0.1", port=proxy.port, user="tests", sslmode=sslmode, connect_timeout=10
    )
    try:
        yield connection
    finally:
        await connection.close()


async def connect_and_leave(proxy: TcpProxy) -> None:
    async with connected(proxy):
        pass


async def write_simply(connection: psycopg.AsyncConnection, statement: LiteralString) -> None:
    await connection.execute(statement)
    await connection.commit()


async def write_in_a_pipeline(connection: psycopg.AsyncConnection, statement: LiteralString) -> None:
    async with connection.pipeline():
        await write_simply(connection, statement)


@pytest.mark.parametrize("sslmode", ["disable", "prefer"])
async def test_a_healthy_line_passes_everything_on(
    proxy: TcpProxy, server: ScriptedPostgres, sslmode: str
) -> None:
    async with connected(proxy, sslmode=sslmode) as connection:
        await connection.execute("INSERT one")
        await connection.execute("INSERT two", prepare=True)
        await connection.commit()

    assert server.committed == [b"INSERT one", b"INSERT two"]


async def test_a_server_that_is_down_is_a_failed_connection() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        with TcpProxy(*silent.getsockname()) as proxy, pytest.raises(psycopg.OperationalError):
            await connect_and_leave(proxy)


async def test_a_paused_line_holds_the_bytes_until_it_is_resumed(
    proxy: TcpProxy, server: ScriptedPostgres
) -> None:
    async with connected(proxy) as connection:
        await connection.set_autocommit(True)
        proxy.pause()
        statement = asyncio.create_task(connection.execute("INSERT held"))
        done, _ = await asyncio.wait({statement}, timeout=0.2)

        assert done == set()
        assert server.committed == []

        proxy.resume()
        await statement

        assert server.committed == [b"INSERT held"]


async def test_a_connection_that_is_made_during_a_pause_is_welcomed_after_it(
    proxy: TcpProxy,
) -> None:
    proxy.pause()
    attempt = asyncio.create_task(connect_and_leave(proxy))
    done, _ = await asyncio.wait({attempt}, timeout=0.2)

    assert done == set()

    proxy.resume()
    await attempt


@pytest.mark.parametrize("paused", [False, True])
async def test_severing_ends_the_connections_there_are_and_not_the_next(
    proxy: TcpProxy, *, paused: bool
) -> None:
    async with connected(proxy) as first, connected(proxy) as second:
        if paused:
            proxy.pause()
        proxy.sever()

        for connection in (first, second):
            with pytest.raises(psycopg.OperationalError):
                await connection.execute("INSERT lost")

    proxy.resume()
    await connect_and_leave(proxy)


async def test_severing_is_a_reset_and_no_polite_end(proxy: TcpProxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(struct.pack("!ii", 8, 196608))
    await reader.readexactly(len(_message(b"R", bytes(4))))
    proxy.sever()

    with contextlib.closing(writer), pytest.raises(ConnectionResetError):
        await reader.read()


async def test_refusing_concerns_new_connections_only(proxy: TcpProxy) -> None:
    async with connected(proxy) as connection:
        proxy.refuse(True)
        await connection.execute("INSERT one")

        with pytest.raises(psycopg.OperationalError):
            await connect_and_leave(proxy)

    proxy.refuse(False)
    await connect_and_leave(proxy)


@pytest.mark.parametrize("write", [write_simply, write_in_a_pipeline])
async def test_a_lost_answer_means_committed_but_not_told(
    proxy: TcpProxy, server: ScriptedPostgres, write: Write
) -> None:
    proxy.lose_commit_answers(1)
    async with connected(proxy) as connection:
        with pytest.raises(psycopg.OperationalError):
            await write(connection, "INSERT lost")

    assert proxy.commits_lost == 1
    assert server.committed == [b"INSERT lost"]

    async with connected(proxy) as connection:
        await write(connection, "INSERT told")

    assert proxy.commits_lost == 1
    assert server.committed == [b"INSERT lost", b"INSERT told"]


@pytest.mark.parametrize("write", [write_simply, write_in_a_pipeline])
async def test_only_a_transaction_that_sent_the_marker_loses_its_answer(
    proxy: TcpProxy, write: Write
) -> None:
    proxy.lose_commit_answers(2, only_after=MARKER)
    async with connected(proxy) as marked, connected(proxy) as other:
        await write(other, "INSERT one")
        with pytest.raises(psycopg.OperationalError):
            await write(marked, "UPDATE settle")
        await write(other, "INSERT two")

    assert proxy.commits_lost == 1


async def test_a_marker_of_an_earlier_transaction_does_not_count(proxy: TcpProxy) -> None:
    async with connected(proxy) as connection:
        await write_simply(connection, "UPDATE settle")
        proxy.lose_commit_answers(1, only_after=MARKER)
        await write_simply(connection, "INSERT one")

    assert proxy.commits_lost == 0


async def test_a_marker_in_the_values_counts(proxy: TcpProxy) -> None:
    proxy.lose_commit_answers(1, only_after=MARKER)
    async with connected(proxy) as connection:
        await connection.execute("UPDATE jobs %s", ["settle"])
        with pytest.raises(psycopg.OperationalError):
            await connection.commit()

    assert proxy.commits_lost == 1


async def test_a_marker_in_a_statement_prepared_long_ago_counts(proxy: TcpProxy) -> None:
    """The text of a prepared statement travels once, but it runs in many transactions."""
    async with connected(proxy) as connection:
        await connection.execute("UPDATE settle", prepare=True)
        await connection.commit()
        proxy.lose_commit_answers(1, only_after=MARKER)
        await connection.execute("UPDATE settle", prepare=True)
        with pytest.raises(psycopg.OperationalError):
            await connection.commit()

    assert proxy.commits_lost == 1


async def test_a_commit_that_fails_is_told_and_not_counted(proxy: TcpProxy, server: ScriptedPostgres) -> None:
    proxy.lose_commit_answers(1)
    server.refuses_to_commit = True
    async with connected(proxy) as connection:
        with pytest.raises(psycopg.errors.SerializationFailure):
            await write_simply(connection, "INSERT refused")

        assert proxy.commits_lost == 0

        server.refuses_to_commit = False
        with pytest.raises(psycopg.OperationalError):
            await write_simply(connection, "INSERT lost")

    assert proxy.commits_lost == 1
    assert server.committed == [b"INSERT lost"]
