"""What does a client of PostgreSQL do when the network fails? A proxy that fails on command.

It lives in a thread of its own. Its controls may be called from any other thread, and have taken
effect when they return. (A client in the same process must not hold the interpreter while it waits
for the proxy, as psycopg's old `cancel` does; `cancel_safe` is fine.)
"""

import asyncio
import contextlib
import os
import signal
import socket
import struct
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Final, Self, TypeVar

T = TypeVar("T")

CONTROL_LIMIT: Final = 10.0
# SSLRequest and GSSENCRequest. What passes has to be read here, so the answer is no.
ENCRYPTION_REQUESTS: Final = (struct.pack("!i", 80877103), struct.pack("!i", 80877104))
NO_ENCRYPTION: Final = b"N"
COMMITTED: Final = b"C" + struct.pack("!i", 11) + b"COMMIT\0"
RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class TcpProxy:
    """Listens on 127.0.0.1 for a PostgreSQL server; a host that is a folder holds its socket."""

    def __init__(self, target_host: str, target_port: int) -> None:
        self.port = 0
        self._target = (target_host, target_port)
        self._faults = _Faults()
        self._links: dict[asyncio.Task[None], _Link] = {}
        self._bugs: list[BaseException] = []
        self._listener: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcp-proxy", daemon=True)

    @property
    def commits_lost(self) -> int:
        """How often a server has committed and its client was not told."""
        return self._faults.commits_lost

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONTROL_LIMIT)
        self._loop.close()
        for bug in self._bugs:
            raise bug

    def pause(self) -> None:
        """Hold everything, both ways: bytes, greetings and the end of connections."""
        self._call(self._set_flowing(flowing=False))

    def resume(self) -> None:
        self._call(self._set_flowing(flowing=True))

    def refuse(self, refusing: bool) -> None:  # noqa: FBT001 - it refuses, or it does not
        """Hang up on whoever calls from now on; or answer again."""
        self._call(self._set_refusing(refusing=refusing))

    def sever(self) -> None:
        """Reset every connection there is."""
        self._call(self._sever())

    def lose_commit_answers(self, count: int, only_after: bytes | None = None) -> None:
        """Let the server commit `count` times, but reset the client instead of telling it.

        With `only_after`, only transactions that have sent these bytes since their BEGIN are hit.
        """
        self._call(self._set_losses(count, only_after))

    def kill_client(self, kill: "Kill") -> None:
        """End the client's process at one moment of one of its transactions."""
        self._call(self._set_kill(kill))

    def _call(self, control: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(control, self._loop).result(CONTROL_LIMIT)

    async def _open(self) -> None:
        self._faults.flowing.set()
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            await self._sever()
            await self._listener.wait_closed()

    async def _set_flowing(self, *, flowing: bool) -> None:
        if flowing:
            self._faults.flowing.set()
        else:
            self._faults.flowing.clear()

    async def _set_refusing(self, *, refusing: bool) -> None:
        self._faults.refusing = refusing

    async def _set_losses(self, count: int, only_after: bytes | None) -> None:
        self._faults.commits_to_lose = count
        self._faults.only_after = only_after

    async def _set_kill(self, kill: "Kill") -> None:
        self._faults.kill = kill

    async def _sever(self) -> None:
        for task, link in self._links.items():
            link.reset()
            task.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._faults.refusing:
            writer.close()
            return
        link = _Link(_Peer(reader, writer), self._faults)
        task = self._loop.create_task(link.run(self._target))
        self._links[task] = link
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._links[task]
        bug = None if task.cancelled() else task.exception()
        if bug is not None:
            self._bugs.append(bug)


@dataclass(slots=True)
class Kill:
    """SIGKILL for the process `pid`, in its `nth` transaction that begins with these bytes.

    "before": the BEGIN does not reach the server; "in": neither does the statement with `inside`, the others
    before it did; "after": the server has committed, and the client is not told. `alone`: the statement that
    begins so is a transaction by itself, without BEGIN and COMMIT.
    """

    pid: int
    moment: str
    nth: int
    begins: bytes
    inside: bytes = b""
    alone: bool = False
    struck: bool = False
    seen: int = 0

    def strike(self) -> None:
        self.struck = True
        os.kill(self.pid, signal.SIGKILL)


@dataclass(slots=True)
class _Faults:
    """What shall go wrong, and what did. Only the proxy's thread writes here."""

    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    refusing: bool = False
    commits_to_lose: int = 0
    only_after: bytes | None = None
    commits_lost: int = 0
    kill: Kill | None = None

    def concern(self, transaction: bytes) -> bool:
        return self.commits_to_lose > 0 and (self.only_after or b"") in transaction


@dataclass(frozen=True, slots=True)
class _Peer:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def first_message(self) -> bytes:
        """The only kind of message without a letter in front."""
        length = await self.reader.readexactly(4)
        return length + await self.reader.readexactly(int.from_bytes(length) - 4)

    async def message(self) -> bytes:
        head = await self.reader.readexactly(5)
        return head + await self.reader.readexactly(int.from_bytes(head[1:]) - 4)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        connection: socket.socket = self.writer.get_extra_info("socket")
        with contextlib.suppress(OSError):  # closed already
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class _Link:
    """One client, its connection to the server, and what is known of their conversation.

    Questions that are answered up to a ReadyForQuery are numbered, and so are the answers: that
    tells which belong together, also when a client asks several before it listens.
    """

    def __init__(self, client: _Peer, faults: _Faults) -> None:
        self._client = client
        self._server: _Peer | None = None
        self._faults = faults
        self._asked = 0
        self._answered = 0
        self._prepared: dict[bytes, bytes] = {}
        self._transaction: list[bytes] | None = None  # statements and their values since BEGIN
        self._commits: set[int] = set()  # the numbers of the questions whose answer may be lost
        self._withheld: list[bytes] = []
        self._condemned = False  # this is the transaction in which the client is to be killed
        self._doomed = False

    async def run(self, target: tuple[str, int]) -> None:
        """Return when one side has hung up, and the other was told."""
        pumps: list[asyncio.Task[None]] = []
        try:
            self._server = server = await _connect(*target)
            both_ways = (self._questions(server), self._answers(server))
            pumps = [asyncio.create_task(way) for way in both_ways]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # nobody is there, which the client learns from being hung up on
        finally:
            await self._end(pumps)

    def reset(self) -> None:
        for peer in (self._client, self._server):
            if peer is not None:
                peer.reset()

    async def _end(self, pumps: list[asyncio.Task[None]]) -> None:
        for pump in pumps:
            pump.cancel()
        results = await asyncio.gather(*pumps, return_exceptions=True)
        for peer in (self._client, self._server):
            if peer is not None:
                await peer.close()
        for result in results:
            if not isinstance(result, OSError | EOFError | asyncio.CancelledError | None):
                raise result

    async def _questions(self, server: _Peer) -> None:
        first = await self._held(self._client.first_message())
        while first[4:] in ENCRYPTION_REQUESTS:
            await self._client.send(NO_ENCRYPTION)
            first = await self._held(self._client.first_message())
        self._asked = 1  # the welcome ends in a ReadyForQuery, too
        await server.send(first)
        while True:
            message = await self._held(self._client.message())
            self._note(message)
            if self._doomed and self._faults.kill is not None:
                return self._faults.kill.strike()
            await server.send(message)

    async def _answers(self, server: _Peer) -> None:
        try:
            while True:
                message = await self._held(server.message())
                number, is_last = self._answered + 1, message[:1] == b"Z"
                self._answered += is_last
                self._withheld.append(message)
                if number not in self._commits:
                    await self._release()
                elif is_last and self._condemned and (kill := self._faults.kill) and self._ended_for(kill):
                    return kill.strike()
                elif is_last and COMMITTED in self._withheld and self._faults.commits_to_lose > 0:
                    self._faults.commits_to_lose -= 1
                    self._faults.commits_lost += 1
                    return self._client.reset()
                elif is_last:
                    await self._release()
        except EOFError:
            await self._release()

    def _ended_for(self, kill: Kill) -> bool:
        return kill.alone or COMMITTED in self._withheld

    async def _release(self) -> None:
        message = b"".join(self._withheld)
        self._withheld.clear()
        await self._client.send(message)

    async def _held(self, message: Coroutine[None, None, bytes]) -> bytes:
        """Pass on a message, or the news that there will be none, when the line is not paused."""
        try:
            arrived = await message
        except (EOFError, OSError):
            await self._faults.flowing.wait()
            raise
        await self._faults.flowing.wait()
        return arrived

    def _note(self, message: bytes) -> None:
        """Learn from what the client says: which question is it, and does it end a transaction?"""
        body = message[5:]
        match message[:1]:
            case b"Q":  # Query
                self._asked += 1
                self._note_statement(body, message, answer=self._asked)
            case b"P":  # Parse: a name for a statement, perhaps used in many transactions
                name, text, _ = body.split(b"\0", 2)
                self._prepared[name] = text
            case b"B":  # Bind; the answer follows the next Sync
                _, name, _ = body.split(b"\0", 2)
                self._note_statement(self._prepared.get(name, b""), message, answer=self._asked + 1)
            case b"S" | b"F":  # Sync, FunctionCall
                self._asked += 1
            case _:
                pass

    def _note_statement(self, text: bytes, message: bytes, *, answer: int) -> None:
        command = text.lstrip().upper()
        if self._faults.kill is not None:
            self._note_for(self._faults.kill, text, command, answer)
        if command.startswith((b"BEGIN", b"START TRANSACTION")):
            self._transaction = []
        if self._transaction is not None:
            self._transaction += [text, message]
        if command.startswith(b"COMMIT"):
            if self._faults.concern(b"\0".join(self._transaction or [])):
                self._commits.add(answer)
            self._transaction = None

    def _note_for(self, kill: Kill, text: bytes, command: bytes, answer: int) -> None:
        if command.startswith(kill.begins):
            kill.seen += 1
            self._condemned = kill.seen == kill.nth
        if not self._condemned or kill.struck:
            return
        ends = command.startswith(kill.begins if kill.alone else b"COMMIT")
        if ends and kill.moment == "after":
            self._commits.add(answer)
        begins = kill.moment == "before" and command.startswith(kill.begins)
        self._doomed = self._doomed or begins or (kill.moment == "in" and kill.inside in text)


async def _connect(host: str, port: int) -> _Peer:
    if host.startswith("/"):
        return _Peer(*await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}"))
    return _Peer(*await asyncio.open_connection(host, port))
