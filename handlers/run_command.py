"""RUN_COMMAND: run an allow-listed external program, JSON in, JSON out."""

import re
from uuid import UUID

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
from bpc_worker.processes import program as programs
from bpc_worker.processes.program import STDERR, STDOUT, Conversation

_OUTPUT_LIMIT = 64 * 1024
_LONGEST_ARGUMENT = 4096


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
    await _check_tenant(payload.command, command, ctx)
    _check_args(payload.command, command, payload.args)
    ctx.check_lease()
    code, said = await programs.run(
        f"command {payload.command!r}",
        command,
        args=payload.args,
        stdin=bytes(payload.stdin),
        env=programs.environment(
            command,
            BPC_JOB_ID=str(ctx.job.job_id),
            BPC_TENANT_ID=str(ctx.job.tenant_id),
            BPC_ATTEMPT=str(ctx.job.attempt),
        ),
        limit=_OUTPUT_LIMIT,
    )
    answer = None if said.cut_short(STDOUT) else answer_of(said.heard(STDOUT))
    if code is None:
        raise Retryable(Code.COMMAND_FAILED, f"command {payload.command!r}: nobody knows how it ended")
    if code != 0:
        raise failure(payload.command, code, answer, said)
    return {
        "exit_code": code,
        "answer": answer,
        "stdout": programs.text(said.heard(STDOUT)),
        "stderr": programs.text(said.heard(STDERR)),
    }


async def _check_tenant(name: str, command: Command, ctx: Context) -> None:
    """What looks like an id is one: a tenant may have another one's id for its name."""
    if command.tenants is None or str(ctx.job.tenant_id) in command.tenants:
        return
    names = {each for each in command.tenants if not _is_id(each)}
    found = await ctx.read("tenants/name", {"tenant_id": ctx.job.tenant_id}) if names else []
    if not any(row["name"] in names for row in found):
        raise Permanent(
            Code.FORBIDDEN,
            f"command {name!r} is not for this tenant; add it to commands.{name}.tenants, "
            "then queue the job again",
        )


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _check_args(name: str, command: Command, args: tuple[str, ...]) -> None:
    """Each against the pattern at its place, as a whole; the last ones may be left out. None is quoted."""
    allowed = len(command.args)
    if len(args) > allowed:
        takes = f"at most {allowed} arguments" if allowed else "no arguments"
        raise Permanent(
            Code.FORBIDDEN,
            f"command {name!r} takes {takes}, and {len(args)} are given; allow more by patterns in "
            f"commands.{name}.args, or give what it needs on standard input",
        )
    for place, (given, pattern) in enumerate(zip(args, command.args, strict=False), start=1):
        where = f"command {name!r}: argument {place}"
        if len(given) > _LONGEST_ARGUMENT:
            raise Permanent(
                Code.VALIDATION_ERROR,
                f"{where} has {len(given)} characters, and {_LONGEST_ARGUMENT} are allowed; "
                "give it on standard input",
            )
        if not re.fullmatch(pattern, given):
            raise Permanent(
                Code.VALIDATION_ERROR,
                f"{where} does not match {pattern} of commands.{name}.args; correct one of them",
            )


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
    message = f"command {name!r} {programs.how_it_ended(code)}"
    return family(
        Code.COMMAND_FAILED,
        f"{message}: {own_words.message}" if own_words.message else message,
        detail={"exit_code": code, **said.last_words()},
    )


SPEC = HandlerSpec(job_type="RUN_COMMAND", payload=RunCommand, handle=handle)
