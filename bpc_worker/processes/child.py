"""A process that does CPU-heavy or hostile work, without secrets: a fork of the zygote."""

import gc
import math
import os
import resource
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

import msgspec

from bpc_worker.handler_api import ChildTask, Code, JobError
from bpc_worker.observability.tracebacks import type_and_place
from bpc_worker.processes import confinement, hardening
from bpc_worker.processes.frames import ChildAnswer, ChildCall, ChildFailure, ZygoteOrders, frame, read_frame
from bpc_worker.processes.parent import die_with

_MEGABYTE = 1024 * 1024
_NICENESS = 5  # the worker, and a database beside it, go first when they have something to do
_PART_TO_GROW = 8  # of its memory: several wait for calls, and one that grew had a call worth a fork
_STATM = Path("/proc/self/statm")


def live(orders: ZygoteOrders, *, zygote: int, calls: int, answers: int) -> None:
    """From the fork to the last call; what the zygote had open is closed already."""
    die_with(zygote)
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (orders.memory_mb * _MEGABYTE,) * 2)
    os.nice(_NICENESS)
    confinement.become(orders.account)  # the zygote's filter of system calls is its own as well
    die_with(zygote)
    hardening.close_memory()  # a change of account may have opened it
    gc.enable()
    with os.fdopen(calls, "rb") as asked, os.fdopen(answers, "wb", buffering=0) as said:
        serve(asked, said, orders.cpu_seconds)


def _size() -> int:
    """Bytes of address space, which is what the limit counts; 0 where nobody says."""
    try:
        return int(_STATM.read_bytes().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _limit_cpu(seconds: int) -> None:
    """From now on: the system counts a process's whole life, a call is to be charged for itself only."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = math.ceil(used.ru_utime + used.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, resource.RLIM_INFINITY))


def serve(calls: BinaryIO, answers: BinaryIO, cpu_seconds: int) -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    born = _size()
    grown = born + (limit - born) // _PART_TO_GROW
    while (body := read_frame(calls)) is not None:
        _limit_cpu(cpu_seconds)
        said = answer(body)
        answers.write(frame(msgspec.structs.replace(said, last=_size() > grown)))


def answer(body: bytes) -> ChildAnswer:
    """The answer to one call; whatever goes wrong becomes an error with a code."""
    try:
        call = msgspec.msgpack.decode(body, type=ChildCall)
        task = find_task(call.task)
        request = msgspec.msgpack.decode(call.body, type=task.request)
        return ChildAnswer(body=msgspec.msgpack.encode(task.run(request)))
    except JobError as error:
        return ChildAnswer(error=_failure(error))
    except MemoryError:
        return _failed(Code.CHILD_DIED, "out of memory")
    except Exception as error:  # noqa: BLE001 - a bug in a task must not cost the child
        return _failed(Code.INTERNAL_ERROR, type_and_place(error))


def find_task(name: str) -> ChildTask[msgspec.Struct, msgspec.Struct]:
    module, _, attribute = name.partition(":")
    task = getattr(import_module(module), attribute, None)
    if not isinstance(task, ChildTask) or task.name != name:
        raise LookupError(f"{name} is not a ChildTask of that name")
    return task


def _failure(error: JobError) -> ChildFailure:
    detail = None
    if error.detail is not None:
        detail = {key: msgspec.Raw(msgspec.msgpack.encode(value)) for key, value in error.detail.items()}
    return ChildFailure(error.code, error.message, error.retryable, detail)


def _failed(code: str, message: str) -> ChildAnswer:
    return ChildAnswer(error=ChildFailure(code, message, retryable=True))
