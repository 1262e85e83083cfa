"""A few child processes, each for one tenant and task: killed when their job ends, replaced when they die."""

import asyncio
import math
import os
import time
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
    TenantId,
)
from bpc_worker.observability import log
from bpc_worker.processes.confinement import Account
from bpc_worker.processes.frames import (
    HEADER,
    LARGEST_FRAME,
    ChildAnswer,
    ChildCall,
    ChildFailure,
    ZygoteOrders,
)
from bpc_worker.processes.idle import IdleChildren, Owner
from bpc_worker.processes.zygote import Child, Zygote

_log = log.get("children")
_AHEAD_SECONDS = 0.1  # of work at hand, so that no child waits for the next claim
_SHORTEST = 0.001
_NEWEST = 0.2  # what the last call says about how long a call takes
_IDLE_TO_BUSY = 7  # parse, compile, sign and draw of two tenants need not take turns at being forked


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    processes: int = 2  # at work at a time
    memory_mb: int = 1024
    cpu_seconds: int = 300
    idle_seconds: float = 2.0
    account: Account | None = None  # whose children are, where the worker is root


class Children:
    """Lives in the handlers' event loop."""

    def __init__(self, limits: ChildLimits, tasks: Iterable[AnyChildTask] = ()) -> None:
        self._limits = limits
        self._tasks = tuple(dict.fromkeys(task.name for task in tasks))
        self._free = asyncio.Semaphore(limits.processes)
        self.idle = IdleChildren(_IDLE_TO_BUSY * limits.processes, limits.idle_seconds)
        self._starting = asyncio.Lock()
        self._zygote: Zygote | None = None
        self._call_seconds = _AHEAD_SECONDS  # until there is something to go by

    @property
    def max_useful_jobs(self) -> int:
        """How many calls keep every child busy: one in work and one at hand, or several short ones.

        Whoever holds more only keeps them from other workers, and lets their time run out.
        """
        ahead = math.ceil(_AHEAD_SECONDS / self._call_seconds)
        return self._limits.processes * (1 + ahead)

    async def run(
        self, task: ChildTask[Request, Response], request: Request, *, tenant_id: TenantId, job_type: str
    ) -> Response:
        """In a child that has worked for nobody but this tenant, on nothing but this task of this type."""
        owner = Owner(tenant_id, job_type, task.name)
        async with self._free:  # whoever waits has made no copy of a large request yet
            answer = await self._answer(owner, _message(task, request))
        return response(task, answer)

    async def _answer(self, owner: Owner, message: bytes) -> ChildAnswer:
        child = self.idle.take(owner) or await self._fork()
        asked_at = time.monotonic()
        try:
            answer = await _ask(child, message)
        except BaseException:  # cancelled in the middle, or died: what it would still say is worthless
            await child.end()
            raise
        finally:
            took = max(_SHORTEST, time.monotonic() - asked_at)
            self._call_seconds += _NEWEST * (took - self._call_seconds)
        if answer.last:
            _log.info("child_replaced", reason="it has grown by an eighth of worker.child_memory_mb")
            await child.end()
        else:
            self.idle.put(owner, child)
        return answer

    async def _fork(self) -> Child:
        """A zygote that was found dead costs nobody anything who was in none of its children."""
        for _ in range(2):
            with suppress(ConnectionError):
                return await (await self._living_zygote()).fork()
        raise Retryable(Code.CHILD_DIED, "the zygote was killed before it could fork a child")

    async def _living_zygote(self) -> Zygote:
        async with self._starting:
            if self._zygote is not None and not self._zygote.is_alive:
                dead, self._zygote = self._zygote, None
                _log.warning("zygote_replaced", reason=await dead.close())
            if self._zygote is None:
                self._zygote = await Zygote.start(self._orders())
            return self._zygote

    def _orders(self) -> ZygoteOrders:
        limits = self._limits
        return ZygoteOrders(
            worker=os.getpid(), memory_mb=limits.memory_mb, cpu_seconds=limits.cpu_seconds,
            tasks=self._tasks, account=limits.account,
        )  # fmt: skip

    async def close(self) -> None:
        self.idle.clear()
        async with self._starting:
            if self._zygote is not None:
                await self._zygote.close()


def _message(task: ChildTask[Request, Response], request: Request) -> bytes:
    return msgspec.msgpack.encode(ChildCall(task.name, msgspec.msgpack.encode(request)))


async def _ask(child: Child, message: bytes) -> ChildAnswer:
    try:
        child.calls.write(HEADER.pack(len(message)))
        child.calls.write(message)  # as it is: it may be large
        await child.calls.drain()
        (length,) = HEADER.unpack(await child.answers.readexactly(HEADER.size))
        if length > LARGEST_FRAME:
            raise Retryable(Code.CHILD_DIED, f"the child's answer of {length} bytes is too large")
        return msgspec.msgpack.decode(await child.answers.readexactly(length), type=ChildAnswer)
    except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError) as error:
        raise Retryable(Code.CHILD_DIED, f"the child process ended ({await child.end()})") from error


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
