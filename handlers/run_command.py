"""RUN_COMMAND: run an allow-listed external program, JSON in, JSON out."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from bpc_worker.handler_api import (
    Code,
    Command,
    Context,
    HandlerSpec,
    Payload,
    Permanent,
    Retryable,
)

_OUTPUT_LIMIT = 64 * 1024
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
    code, stdout, stderr = await run(command, payload, environment(command, ctx))
    result = {
        "exit_code": code,
        "answer": answer_of(stdout),
        "stdout": text(stdout),
        "stderr": text(stderr),
    }
    if code != 0:
        raise failure(payload.command, code, result)
    return result


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
    """What the program says, capped, and when it ends: its own end counts, not that of its pipes.

    Something that it left in the background may hold those open for as long as it likes.
    """

    def __init__(self) -> None:
        self.said = {1: bytearray(), 2: bytearray()}
        self.ended = asyncio.Event()
        self.silent = asyncio.Event()
        self._speaking = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self.said[fd]
        kept += data[
            : _OUTPUT_LIMIT - len(kept)
        ]  # the rest is thrown away, so that the program does not block

    def pipe_connection_lost(self, fd: int, _: Exception | None) -> None:
        self._speaking.discard(fd)
        if not self._speaking:
            self.silent.set()

    def process_exited(self) -> None:
        self.ended.set()


async def run(command: Command, payload: RunCommand, env: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and error. The whole process group ends with us, whatever happens."""
    try:
        transport, program = await asyncio.get_running_loop().subprocess_exec(
            Conversation, *command.argv, *payload.args, env=env, cwd=command.cwd, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise Permanent(
            Code.CONFIG_MISSING, f"command {payload.command!r} cannot be started: {error}"
        ) from error
    try:
        async with asyncio.timeout(command.timeout_seconds):
            _tell(transport, bytes(payload.stdin))
            await program.ended.wait()
    except TimeoutError as error:
        raise Retryable(
            Code.COMMAND_TIMEOUT,
            f"command {payload.command!r} did not end within {command.timeout_seconds:g} s",
        ) from error
    finally:
        await _end(transport, program)
    return transport.get_returncode() or 0, bytes(program.said[1]), bytes(program.said[2])


def _tell(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    """It need not read what we say."""
    stdin = transport.get_pipe_transport(0)
    if isinstance(stdin, asyncio.WriteTransport):
        stdin.write(data)
        stdin.close()


async def _end(transport: asyncio.SubprocessTransport, program: Conversation) -> None:
    """Nothing of it is left: neither the processes, unless one made itself independent, nor the pipes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS_SECONDS):
            await program.ended.wait()
            await program.silent.wait()
    transport.close()


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


def failure(name: str, code: int, result: Mapping[str, object]) -> Permanent | Retryable:
    try:
        said = msgspec.convert(result["answer"], Answer)
    except msgspec.ValidationError:
        said = Answer()
    family = Permanent if said.permanent else Retryable
    message = f"command {name!r} ended with exit code {code}"
    return family(
        Code.COMMAND_FAILED,
        f"{message}: {said.message}" if said.message else message,
        detail={"exit_code": code},
    )


SPEC = HandlerSpec(job_type="RUN_COMMAND", payload=RunCommand, handle=handle)
