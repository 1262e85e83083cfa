"""RUN_COMMAND: run an allow-listed external program, JSON in, JSON out."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex

import msgspec

from bpc_worker import launch
from bpc_worker.handler_api import (
    Code,
    Command,
    Context,
    HandlerSpec,
    Payload,
    Permanent,
    Retryable,
)

STDOUT, STDERR = 1, 2

_OUTPUT_LIMIT = 64 * 1024
_LAST_WORDS = 2000
_LAST_WORDS_SECONDS = 1.0


class RunCommand(Payload, frozen=True):
    command: str
    args: tuple[str, ...] = ()
    stdin: msgspec.Raw = msgspec.Raw(b"null")


class Answer(msgspec.Struct):
    """What a program may say about itself, as the JSON object on its standard output."""

    permanent: bool = False
    message: str | None = None


async def handle(payload: RunCommand, ctx: Context) -> object:
    command = ctx.commands.get(payload.command)
    if command is None:
        known = ", ".join(sorted(ctx.commands)) or "none"
        raise Permanent(
            Code.FORBIDDEN,
            f"command {payload.command!r} is not in the allow-list (it has: {known})",
        )
    ctx.check_lease()
    code, said = await run(command, payload, environment(command, ctx))
    answer = None if said.cut_short(STDOUT) else answer_of(said.heard(STDOUT))
    if code != 0:
        raise failure(payload.command, code, answer, said)
    return {
        "exit_code": code,
        "answer": answer,
        "stdout": text(said.heard(STDOUT)),
        "stderr": text(said.heard(STDERR)),
    }


def environment(command: Command, ctx: Context) -> dict[str, str]:
    """Nothing of the worker's own: only what the allow-list gives, and ids to dedupe on."""
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **command.env,
        "BPC_JOB_ID": str(ctx.job.job_id),
        "BPC_TENANT_ID": str(ctx.job.tenant_id),
        "BPC_ATTEMPT": str(ctx.job.attempt),
    }


class Conversation(asyncio.SubprocessProtocol):
    """What the program says, capped, and when it ends: its own end counts, not that of its pipes."""

    def __init__(self) -> None:
        self._said = {STDOUT: bytearray(), STDERR: bytearray()}
        self._lengths = {STDOUT: 0, STDERR: 0}
        self.ended = asyncio.Event()
        self.silent = asyncio.Event()
        self._speaking = {STDOUT, STDERR}

    def heard(self, fd: int) -> bytes:
        return bytes(self._said[fd])

    def cut_short(self, fd: int) -> bool:
        return self._lengths[fd] > _OUTPUT_LIMIT

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._lengths[fd] += len(data)
        kept = self._said[fd]
        # The rest is thrown away, so that the program does not block.
        kept += data[: _OUTPUT_LIMIT - len(kept)]

    def pipe_connection_lost(self, fd: int, _: Exception | None) -> None:
        self._speaking.discard(fd)
        if not self._speaking:
            self.silent.set()

    def process_exited(self) -> None:
        self.ended.set()


async def run(command: Command, payload: RunCommand, env: Mapping[str, str]) -> tuple[int, Conversation]:
    """Exit code and what was said. Everything that the program started ends with us, whatever happens."""
    name, mark = payload.command, f"{token_hex(16)} "
    transport, program = await _start(command, payload, env, mark)
    try:
        async with asyncio.timeout(command.timeout_seconds):
            _tell(transport, bytes(payload.stdin))
            await program.ended.wait()
    except TimeoutError as error:
        message = f"command {name!r} did not end within {command.timeout_seconds:g} s"
        raise Retryable(Code.COMMAND_TIMEOUT, message, detail=last_words(program)) from error
    finally:
        await _end(transport, program)
    code = transport.get_returncode()
    if code is None:
        raise Retryable(Code.COMMAND_FAILED, f"command {name!r}: nobody knows how it ended")
    if code == launch.CANNOT_START and program.heard(STDERR).startswith(mark.encode()):
        number, _, why = text(program.heard(STDERR)).removeprefix(mark).partition(" ")
        raise _cannot_start(name, int(number), f"{command.argv[0]}: {why}")
    return code, program


async def _start(
    command: Command, payload: RunCommand, env: Mapping[str, str], mark: str
) -> tuple[asyncio.SubprocessTransport, Conversation]:
    orders = {
        "worker": os.getpid(),
        "mark": mark,
        "memory_mb": command.memory_mb,
        "cpu_seconds": command.cpu_seconds,
        "lc_ctype": env.get("LC_CTYPE"),
    }
    watcher = (sys.executable, "-I", "-S", launch.__file__, msgspec.json.encode(orders).decode())
    loop = asyncio.get_running_loop()
    try:
        return await loop.subprocess_exec(
            Conversation, *watcher, *command.argv, *payload.args,
            env=env, cwd=command.cwd, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise _cannot_start(payload.command, error.errno or 0, str(error)) from error
    except ValueError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"args: {error}") from error


def _cannot_start(name: str, number: int, why: str) -> Permanent | Retryable:
    """A machine that is short of something, or a program that is being replaced, is another matter later."""
    message = f"command {name!r} cannot be started: {why}"
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


def answer_of(stdout: bytes) -> object:
    """The program's answer when its output is one JSON value, else None."""
    try:
        answer: object = msgspec.json.decode(stdout)
        msgspec.json.encode(answer)  # what cannot be written back is not an answer
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return None if b"\\u0000" in stdout else answer  # PostgreSQL cannot store that character


def failure(name: str, code: int, answer: object, said: Conversation) -> Permanent | Retryable:
    try:
        own_words = msgspec.convert(answer, Answer)
    except msgspec.ValidationError:
        own_words = Answer()
    family = Permanent if own_words.permanent else Retryable
    message = f"command {name!r} {_how(code)}"
    return family(
        Code.COMMAND_FAILED,
        f"{message}: {own_words.message}" if own_words.message else message,
        detail={"exit_code": code, **last_words(said)},
    )


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    known = -code in {each.value for each in signal.Signals}
    return f"was ended by {signal.Signals(-code).name if known else f'signal {-code}'}"


def last_words(said: Conversation) -> dict[str, str]:
    """The end of what it wrote to standard error: why it failed, as a rule."""
    words = text(said.heard(STDERR)).strip()[-_LAST_WORDS:]
    return {"stderr": words} if words else {}


SPEC = HandlerSpec(job_type="RUN_COMMAND", payload=RunCommand, handle=handle)
