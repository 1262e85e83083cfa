"""Run one external program under its watcher: bytes in, capped bytes out, and nothing of it left behind."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from secrets import token_hex

import msgspec

from bpc_worker.handler_api import Command
from bpc_worker.jobs.errors import Code, Permanent, Retryable
from bpc_worker.processes import watcher

STDOUT, STDERR = 1, 2

_LAST_WORDS = 2000
_LAST_WORDS_SECONDS = 1.0


def environment(command: Command, **ids: str) -> dict[str, str]:
    """Nothing of the worker's own: only what the configuration gives, and ids to dedupe on."""
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **command.env, **ids}


class Conversation(asyncio.SubprocessProtocol):
    """What the program says, capped, and when it ends: its own end counts, not that of its pipes."""

    def __init__(self, limit: int, *, hear_out: bool) -> None:
        self._limit = limit
        self._hear_out = hear_out
        self._said = {STDOUT: bytearray(), STDERR: bytearray()}
        self._lengths = {STDOUT: 0, STDERR: 0}
        self.ended = asyncio.Event()
        self.enough = asyncio.Event()  # it has ended, or nobody wants to hear more
        self.silent = asyncio.Event()
        self._speaking = {STDOUT, STDERR}

    def heard(self, fd: int) -> bytes:
        return bytes(self._said[fd])

    def cut_short(self, fd: int) -> bool:
        return self._lengths[fd] > self._limit

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._lengths[fd] += len(data)
        kept = self._said[fd]
        # The rest is thrown away, so that the program does not block.
        kept += data[: self._limit - len(kept)]
        if self.cut_short(fd) and not self._hear_out:
            self.enough.set()

    def pipe_connection_lost(self, fd: int, _: Exception | None) -> None:
        self._speaking.discard(fd)
        if not self._speaking:
            self.silent.set()

    def process_exited(self) -> None:
        self.ended.set()
        self.enough.set()

    def last_words(self) -> dict[str, str]:
        """The end of what it wrote to standard error: why it failed, as a rule."""
        words = text(self.heard(STDERR)).strip()[-_LAST_WORDS:]
        return {"stderr": words} if words else {}


async def run(
    what: str,
    command: Command,
    *,
    args: Sequence[str] = (),
    stdin: bytes,
    env: Mapping[str, str],
    limit: int,
    hear_out: bool = True,
) -> tuple[int | None, Conversation]:
    """Exit code and what was said. Everything that the program started ends with us, whatever happens.

    Unless it is heard out, a program that says more than `limit` is ended, and has no exit code. Unless it is
    trusted, it has the rights of its account and no more, and no network unless the command says so.
    """
    mark = f"{token_hex(16)} "
    orders = _orders(command, env, mark)
    transport, program = await _start(
        what, command, args, env, orders, Conversation(limit, hear_out=hear_out)
    )
    try:
        async with asyncio.timeout(command.timeout_seconds):
            _tell(transport, stdin)
            await program.enough.wait()
        code = transport.get_returncode()
    except TimeoutError as error:
        message = f"{what} did not end within {command.timeout_seconds:g} s"
        raise Retryable(Code.COMMAND_TIMEOUT, message, detail=program.last_words()) from error
    finally:
        await _end(transport, program)
    if code == watcher.CANNOT_START and program.heard(STDERR).startswith(mark.encode()):
        number, _, why = text(program.heard(STDERR)).removeprefix(mark).partition(" ")
        raise _cannot_start(what, int(number), f"{command.argv[0]}: {why}")
    return code, program


def _orders(command: Command, env: Mapping[str, str], mark: str) -> str:
    confined = {"account": command.account, "network": command.network}
    orders = {
        "worker": os.getpid(),
        "mark": mark,
        "memory_mb": command.memory_mb,
        "cpu_seconds": command.cpu_seconds,
        "lc_ctype": env.get("LC_CTYPE"),
        "confined": None if command.trusted else confined,
    }
    return msgspec.json.encode(orders).decode()


async def _start(
    what: str,
    command: Command,
    args: Sequence[str],
    env: Mapping[str, str],
    orders: str,
    program: Conversation,
) -> tuple[asyncio.SubprocessTransport, Conversation]:
    watched = (sys.executable, "-I", "-S", "-c", watcher.START, orders)
    loop = asyncio.get_running_loop()
    try:
        return await loop.subprocess_exec(
            lambda: program, *watched, *command.argv, *args,
            env=env, cwd=command.cwd, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise _cannot_start(what, error.errno or 0, str(error)) from error
    except ValueError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"args: {error}") from error


def _cannot_start(what: str, number: int, why: str) -> Permanent | Retryable:
    """A machine that is short of something, or a program that is being replaced, is another matter later."""
    message = f"{what} cannot be started: {why}"
    if number in {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY}:
        return Retryable(Code.COMMAND_FAILED, message)
    return Permanent(Code.CONFIG_MISSING, message)


def _tell(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    """It need not read what we say."""
    stdin = transport.get_pipe_transport(0)
    if isinstance(stdin, asyncio.WriteTransport):
        stdin.write(data)
        stdin.close()


async def _end(transport: asyncio.SubprocessTransport, program: Conversation) -> None:
    """Nothing of it is left: its watcher sees to that, and is ended itself should it not manage."""
    try:
        transport.send_signal(signal.SIGTERM)
        if not await _within(program.ended) and transport.get_returncode() is None:
            os.killpg(transport.get_pid(), signal.SIGKILL)
            await _within(program.ended)
        await _within(program.silent)
    except ProcessLookupError:
        await _within(program.silent)
    finally:
        transport.close()


async def _within(happens: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS_SECONDS):
            await happens.wait()
    return happens.is_set()


def text(output: bytes) -> str:
    return output.decode("utf-8", "replace").replace("\x00", "\ufffd")


def how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    known = -code in {each.value for each in signal.Signals}
    return f"was ended by {signal.Signals(-code).name if known else f'signal {-code}'}"
