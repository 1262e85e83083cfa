"""RUN_COMMAND: run an allow-listed external program, JSON in, JSON out."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
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


async def run(command: Command, payload: RunCommand, env: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and error. The whole process group ends with us, whatever happens."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command.argv, *payload.args,
            stdin=PIPE, stdout=PIPE, stderr=PIPE,
            env=env, cwd=command.cwd, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise Permanent(
            Code.CONFIG_MISSING, f"command {payload.command!r} cannot be started: {error}"
        ) from error
    try:
        async with asyncio.timeout(command.timeout_seconds):
            return await _converse(process, bytes(payload.stdin))
    except TimeoutError as error:
        raise Retryable(
            Code.COMMAND_TIMEOUT,
            f"command {payload.command!r} did not end within {command.timeout_seconds:g} s",
        ) from error
    finally:
        _kill_group(process)


async def _converse(process: Process, stdin: bytes) -> tuple[int, bytes, bytes]:
    """Its end counts, not that of its pipes: something it left in the background may hold those open."""
    assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - asked for as pipes
    stdout, stderr = bytearray(), bytearray()
    pipes = asyncio.gather(
        _write(process.stdin, stdin), _keep(process.stdout, stdout), _keep(process.stderr, stderr)
    )
    try:
        code = await process.wait()
        _kill_group(process)
        await asyncio.wait({pipes}, timeout=_LAST_WORDS_SECONDS)
    finally:
        pipes.cancel()
    return code, bytes(stdout), bytes(stderr)


def _kill_group(process: Process) -> None:
    """The program and what it left in the background, unless that has made itself independent."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _write(stream: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read what we say
        stream.write(data)
        await stream.drain()
    stream.close()


async def _keep(stream: asyncio.StreamReader, kept: bytearray) -> None:
    """The beginning of the output; the rest is read and thrown away, so that the program does not block."""
    while chunk := await stream.read(_OUTPUT_LIMIT):
        kept += chunk[: _OUTPUT_LIMIT - len(kept)]


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
