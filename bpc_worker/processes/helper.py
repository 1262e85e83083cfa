"""A second process of this program, which dies with the first: orders go in, and words come back.

They talk over a socket, which is the helper's standard input to begin with: a line of JSON each. Nothing of
the orders is ever on a command line or in an environment.
"""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from bpc_worker.processes.parent import die_with

_OOM_SCORE = Path("/proc/self/oom_score_adj")
_DIES_FIRST = b"500"  # of 1000, when memory runs out


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a helper says, of whatever: each is a sign of life, too."""

    name: str
    args: tuple[object, ...] = ()
    named: Mapping[str, object] = {}


class Helper:
    """The helper, for the process that started it."""

    def __init__(self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(cls, arguments: Sequence[str], orders: bytes) -> "Helper":
        """`bpc-worker ARGUMENTS`; the orders are JSON. OSError when it cannot be started."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "bpc_worker", *arguments,
                stdin=theirs.fileno(), start_new_session=True,
            )  # fmt: skip
            reader, writer = await asyncio.open_connection(sock=ours.dup())
        writer.write(orders + b"\n")
        return cls(process, reader, writer)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def word(self) -> Word | None:
        """The next one; None when there are no more."""
        try:
            return msgspec.json.decode(await self._reader.readuntil(), type=Word)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, msgspec.DecodeError):
            return None

    async def ended(self) -> int:
        """Its exit code, as soon as there is one."""
        return await self._process.wait()

    def stop(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """It, and what is left of its session; of one that has ended nothing is left."""
        self._writer.close()
        if self._process.returncode is None:  # else the number may be somebody else's by now
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


class Starter:
    """The process that started this one, for the helper."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    @classmethod
    def hear(cls) -> tuple["Starter", bytes]:
        """With its orders; OSError where nobody of ours has started this process."""
        line = socket.socket(fileno=os.dup(0))
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)  # handlers have nothing to read there
        os.close(nowhere)
        with line.makefile("rb") as orders:
            return cls(line), orders.readline()

    @staticmethod
    def die_with(pid: int) -> None:
        """With the process of that number, which started this one; and before it, when memory runs out."""
        die_with(pid)
        with suppress(OSError):
            _OOM_SCORE.write_bytes(_DIES_FIRST)

    async def attend(self) -> None:
        """Until it hangs up, which it does when it dies: then there is nobody to work for."""
        self._line.setblocking(False)
        while await asyncio.get_running_loop().sock_recv(self._line, 1):
            pass
        os._exit(1)

    def tell(self, name: str, *args: object, **named: object) -> None:
        """From any thread, and at once: it is heard although this process should die in the next moment.

        So short a line is sent as a whole or not at all; what nobody reads for minutes is not said.
        """
        with suppress(OSError):
            self._line.send(msgspec.json.encode(Word(name, args, named)) + b"\n", socket.MSG_DONTWAIT)
