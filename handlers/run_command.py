"""RUN_COMMAND: run an allow-listed external program, JSON in, JSON out."""

import msgspec

from bpc_worker.handler_api import (
    Code,
    Context,
    HandlerSpec,
    Payload,
    Permanent,
    Retryable,
)
from bpc_worker.processes import program as programs
from bpc_worker.processes.program import STDERR, STDOUT, Conversation

_OUTPUT_LIMIT = 64 * 1024


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
