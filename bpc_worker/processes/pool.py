"""A few child processes, started when first needed, killed when their job ends, replaced when they die."""

import asyncio
import math
import os
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from bpc_worker.handler_api import (
    AnyChildTask,
    ChildTask,
    Code,
    JobError,
    Permanent,
    Request,
    Response,
    Retryable,
)
from bpc_worker.observability import log
from bpc_worker.processes.confinement import Account
from bpc_worker.processes.frames import (
    HEADER,
    LARGEST_FRAME,
    ChildAnswer,
    ChildCall,
    ChildFailure,
    ChildOrders,
)

_log = log.get("children")
_AHEAD_SECONDS = 0.1  # of work at hand, so that no child waits for the next claim
_SHORTEST = 0.001
_NEWEST = 0.2  # what the last call says about how long a call takes
_ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": os.defpath}  # nothing of ours: no DSN, no key


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    processes: int = 2
    memory_mb: int = 1024
    cpu_seconds: int = 300
    account: Account | None = None  # whose children are, where the worker is root


class Children:
    """Lives in the handlers' event loop."""

    def __init__(self, limits: ChildLimits, tasks: Iterable[AnyChildTask] = ()) -> None:
        self._limits = limits
        # Another account may not be able to read them later; else each is imported when it is needed.
        modules = dict.fromkeys(
            module for task in tasks for module in (task.name.partition(":")[0], *task.imports)
        )
        self._modules = () if limits.account is None else tuple(modules)
        self._free = asyncio.Semaphore(limits.processes)
        self._idle: list[Process] = []
        self._all: set[Process] = set()
        self._call_seconds = _AHEAD_SECONDS  # until there is something to go by

    @property
    def max_useful_jobs(self) -> int:
        """How many calls keep every child busy: one in work and one at hand, or several short ones.

        Whoever holds more only keeps them from other workers, and lets their time run out.
        """
        ahead = math.ceil(_AHEAD_SECONDS / self._call_seconds)
        return self._limits.processes * (1 + ahead)

    async def run(self, task: ChildTask[Request, Response], request: Request) -> Response:
        async with self._free:  # whoever waits has made no copy of a large request yet
            answer = await self._answer(_message(task, request))
        return response(task, answer)

    async def _answer(self, message: bytes) -> ChildAnswer:
        process = self._take_idle() or await self._start()
        asked_at = time.monotonic()
        try:
            answer = await _ask(process, message)
        except BaseException:  # cancelled in the middle, or died: what it would still say is worthless
            await self._end(process)
            raise
        finally:
            took = max(_SHORTEST, time.monotonic() - asked_at)
            self._call_seconds += _NEWEST * (took - self._call_seconds)
        if answer.last:
            _log.info("child_replaced", reason="it has grown to half of worker.child_memory_mb")
            await self._end(process)
        else:
            self._idle.append(process)
        return answer

    def _take_idle(self) -> Process | None:
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
            self._all.discard(process)
        return None

    async def _start(self) -> Process:
        limits = self._limits
        orders = ChildOrders(
            worker=os.getpid(), memory_mb=limits.memory_mb, cpu_seconds=limits.cpu_seconds,
            modules=self._modules, account=limits.account,
        )  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", "bpc_worker.child", msgspec.json.encode(orders).decode(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_ENVIRONMENT,
            start_new_session=True,
        )  # fmt: skip
        self._all.add(process)
        return process

    async def _end(self, process: Process) -> None:
        """Kill it and see it gone; quick, since nothing survives SIGKILL."""
        self._all.discard(process)
        if process.returncode is None:  # else the number may be somebody else's by now
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def close(self) -> None:
        self._idle.clear()
        for process in tuple(self._all):
            await self._end(process)


def _message(task: ChildTask[Request, Response], request: Request) -> bytes:
    return msgspec.msgpack.encode(ChildCall(task.name, msgspec.msgpack.encode(request)))


async def _ask(process: Process, message: bytes) -> ChildAnswer:
    assert process.stdin is not None  # noqa: S101 - both were asked for as pipes
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(HEADER.pack(len(message)))
        process.stdin.write(message)  # as it is: it may be large
        await process.stdin.drain()
        (length,) = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
        if length > LARGEST_FRAME:
            raise Retryable(Code.CHILD_DIED, f"the child's answer of {length} bytes is too large")
        return msgspec.msgpack.decode(await process.stdout.readexactly(length), type=ChildAnswer)
    except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError) as error:
        code = await process.wait()
        raise Retryable(Code.CHILD_DIED, f"the child process ended ({_how(code)})") from error


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    hint = ", out of CPU time" if -code == signal.SIGXCPU else ""
    return f"signal {signal.Signals(-code).name}{hint}"


def response(task: ChildTask[Request, Response], answer: ChildAnswer) -> Response:
    """What the task returned, or its error raised here."""
    if answer.error is not None:
        raise _raised(answer.error)
    return msgspec.msgpack.decode(answer.body or b"", type=task.response)


def _raised(error: ChildFailure) -> JobError:
    family = Retryable if error.retryable else Permanent
    detail = None
    if error.detail is not None:
        detail = {key: msgspec.msgpack.decode(value) for key, value in error.detail.items()}
    return family(error.code, error.message, detail=detail)
