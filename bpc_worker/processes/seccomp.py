"""A filter of system calls for a process that is not trusted: no sockets, no other process's memory.

Written by hand as a classic BPF program of a few instructions, and installed by prctl; the ADR "Children
without sockets" tells why. Only the standard library: the watcher of programs imports it.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from bpc_worker.processes.libc import checked, libc

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_NUMBER, _ARCHITECTURE, _SECOND_ARGUMENT = 0, 4, 24  # where they lie in seccomp_data
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_X32 = 0x40000000  # x86_64 has every call a second time, from this number on; nobody else has so many
_KIND_OF_SOCKET, _STREAM = 0xF, 1


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int  # the kernel's name of its calls
    sockets: tuple[int, ...]  # socket, io_uring_setup (which makes sockets without a call)
    socketpair: int
    memory: tuple[int, ...]  # ptrace, process_vm_readv, process_vm_writev, pidfd_getfd


_MACHINES = {
    "x86_64": _Machine(0xC000003E, (41, 425), 53, (101, 310, 311, 438)),
    "aarch64": _Machine(0xC00000B7, (198, 425), 199, (117, 270, 271, 438)),
}

Instruction = tuple[int, int, int, int]  # code, steps over if true, steps over if not, operand


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def why_not() -> str | None:
    """Why processes go without a filter here; None: they have one."""
    machine = os.uname().machine
    if machine not in _MACHINES:
        return f"there is no filter for {machine}, only for {' and '.join(_MACHINES)}"
    libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)  # no program: EFAULT where it would be read
    return None if ctypes.get_errno() == errno.EFAULT else "the kernel takes no filters of system calls"


def install(*, network: bool) -> None:
    """From now on, in this process and all it starts; it must have promised to get no new privileges."""
    if why_not() is not None:
        return
    code = assembled(instructions(os.uname().machine, network=network))
    program = _Program(len(code) // 8, code)
    installed = libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0)
    checked(installed, "no filter of system calls")


def instructions(machine: str, *, network: bool) -> list[Instruction]:
    """Calls of another architecture end the process: their numbers mean something else."""
    known = _MACHINES[machine]
    refused = known.memory if network else (*known.memory, *known.sockets)
    return [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, known.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
        *(each for number in refused for each in ((_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE))),
        *(() if network else _only_pairs_of_streams(known.socketpair)),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _only_pairs_of_streams(socketpair: int) -> tuple[Instruction, ...]:
    """They are pipes by another name; one of datagrams could be turned to any socket of the machine."""
    return (
        (_EQUAL, 0, 4, socketpair),
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        (_AND, 0, 0, _KIND_OF_SOCKET),
        (_EQUAL, 1, 0, _STREAM),
        (_RETURN, 0, 0, _REFUSE),
    )


def assembled(program: Iterable[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *each) for each in program)
