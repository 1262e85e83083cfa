"""The zygote and its children, as their worker sees them."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from contextlib import ExitStack, suppress
from io import FileIO
from itertools import count

import msgspec

from bpc_worker.handler_api import Code, Retryable
from bpc_worker.processes.ends import how_ended
from bpc_worker.processes.frames import FROM_ZYGOTE, End, Ended, Fork, Ready, ZygoteOrders

_LONGEST_MESSAGE = 1024
_LONGEST_START = 60.0
_LAST_MOMENT = 0.5
_PATIENCE = 3.0  # less than a cancelled handler has: then the zygote goes, and its children with it
_ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": os.defpath}  # nothing of ours: no DSN, no key

_Answers = tuple[asyncio.StreamReader, asyncio.BaseTransport]


class Child:
    """Two pipes, and how it ended as soon as it has."""

    def __init__(self, zygote: "Zygote", number: int, calls: asyncio.StreamWriter, answers: _Answers) -> None:
        self._zygote = zygote
        self.number = number
        self.calls = calls
        self.answers, self._answering = answers
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def is_alive(self) -> bool:
        return not self.ended.done()

    def close(self) -> None:
        """Nobody asks it any more, nor listens."""
        self.calls.close()
        self._answering.close()

    def end_soon(self) -> None:
        """Kill it; its last moments may be beside its successor's first."""
        self.close()
        if self.is_alive:
            self._zygote.kill(self)

    async def end(self) -> str:
        """Kill it, see it gone, and say how: one that had ended by itself keeps its own end."""
        if self.answers.at_eof():  # its pipes go a moment before it does
            await asyncio.wait((self.ended,), timeout=_LAST_MOMENT)
        self.end_soon()
        await asyncio.wait((self.ended,), timeout=_PATIENCE)
        if self.is_alive:
            self._zygote.give_up()  # it was stopped, say
        return self.ended.result()


class Zygote:
    """Lives in the handlers' event loop. When it dies, so do its children, and another one is started."""

    def __init__(self, process: Process, control: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._process = process
        self._control = control
        self._ready: asyncio.Future[bool] = loop.create_future()
        self._numbers = count(1)
        self._children: dict[int, Child] = {}
        self.is_alive = True
        control.setblocking(False)
        loop.add_reader(control, self._hear)

    @classmethod
    async def start(cls, orders: ZygoteOrders) -> "Zygote":
        """As soon as it has imported what it is to; CHILD_DIED when it does not get so far."""
        if sys.platform != "linux":
            raise Retryable(
                Code.CHILD_DIED, f"children are confined on Linux only, and this is {sys.platform}"
            )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ExitStack() as undo, theirs:
            undo.callback(ours.close)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-m", "bpc_worker.child", msgspec.json.encode(orders).decode(),
                stdin=theirs.fileno(), stdout=DEVNULL, stderr=DEVNULL,
                env=_ENVIRONMENT, start_new_session=True,
            )  # fmt: skip
            undo.pop_all()
        zygote = cls(process, ours)
        try:
            await asyncio.wait((zygote._ready,), timeout=_LONGEST_START)
        except BaseException:
            await zygote.close()
            raise
        if not zygote._ready.done() or not zygote._ready.result():
            raise Retryable(Code.CHILD_DIED, f"no children: their zygote ended ({await zygote.close()})")
        return zygote

    @property
    def pid(self) -> int:
        return self._process.pid

    async def fork(self) -> Child:
        """A new child; ConnectionError when it turns out that the zygote is dead."""
        with ExitStack() as theirs, ExitStack() as ours:
            asked, calls = _pipe(reading=theirs, writing=ours)
            answers, said = _pipe(reading=ours, writing=theirs)
            writer = await _writer(calls)
            ours.callback(writer.close)
            child = Child(self, next(self._numbers), writer, await _reader(answers))
            ours.callback(child.close)
            self._send(Fork(child.number), asked.fileno(), said.fileno())
            ours.pop_all()
        self._children[child.number] = child
        return child

    def kill(self, child: Child) -> None:
        with suppress(ConnectionError):  # then it dies by that
            self._send(End(child.number))

    async def close(self) -> str:
        """End all children, then the zygote; how that ended."""
        children = list(self._children.values())
        for child in children:
            child.end_soon()
        if children:
            await asyncio.wait([child.ended for child in children], timeout=_PATIENCE)
        self.give_up()
        return how_ended(await self._process.wait())

    def _send(self, message: Fork | End, *descriptors: int) -> None:
        if not self.is_alive:
            raise ConnectionError("the zygote is dead")
        try:
            socket.send_fds(self._control, [msgspec.msgpack.encode(message)], descriptors)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError) as error:
            self.give_up()
            raise ConnectionError("the zygote does not read its orders") from error

    def _hear(self) -> None:
        try:
            said = self._control.recv(_LONGEST_MESSAGE)
        except BlockingIOError:
            return
        except ConnectionResetError:
            said = b""
        if not said:
            self.give_up()
            return
        match FROM_ZYGOTE.decode(said):
            case Ready():
                self._ready.set_result(True)
            case Ended(number, how):
                self._children.pop(number).ended.set_result(how)

    def give_up(self) -> None:
        """It is dead, or is now: the system ends its children with it."""
        if not self.is_alive:
            return
        self.is_alive = False
        asyncio.get_running_loop().remove_reader(self._control)
        self._control.close()
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                # Not by its own `kill`: of a dead one that takes the exit code from whoever waits for it.
                os.kill(self._process.pid, signal.SIGKILL)
        for child in self._children.values():
            child.ended.set_result("with its zygote")
        self._children.clear()
        if not self._ready.done():
            self._ready.set_result(False)


def _pipe(*, reading: ExitStack, writing: ExitStack) -> tuple[FileIO, FileIO]:
    """Its two ends, each closed by whoever has it."""
    read, write = os.pipe()
    return reading.enter_context(FileIO(read, "rb")), writing.enter_context(FileIO(write, "wb"))


async def _writer(calls: FileIO) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), calls
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _reader(answers: FileIO) -> _Answers:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), answers
    )
    return reader, transport
