"""What a process tries that somebody has taken over: the network, and the memory of the worker behind it.

`python -I reach.py PID` prints as JSON how each attempt ended: the name of an error, or what was reached.
Only the standard library: it is a program of RUN_COMMAND as well as the work of a child.
"""

import ctypes
import errno
import json
import os
import platform
import socket
import sys
from collections.abc import Callable
from pathlib import Path

_PTRACE_SEIZE = 0x4206
_IO_URING_SETUP, _PIDFD_GETFD = 425, 438
_PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270}[platform.machine()]
_libc = ctypes.CDLL(None, use_errno=True)


TRIES = (
    *("socket", "socket6", "unix", "datagrams", "io_uring"),
    *("ptrace", "environ", "mem", "process_vm_readv", "pidfd_getfd"),
)


def attempts(worker: int) -> dict[str, str]:
    tries: dict[str, Callable[[], object]] = {
        "socket": lambda: socket.socket(socket.AF_INET),
        "socket6": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
        "unix": lambda: socket.socket(socket.AF_UNIX),
        "datagrams": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
        "io_uring": lambda: _call(_IO_URING_SETUP, 1, bytes(120)),
        "ptrace": lambda: _checked(_libc.ptrace(_PTRACE_SEIZE, worker, None, None)),
        "environ": lambda: Path(f"/proc/{worker}/environ").read_bytes(),
        "mem": lambda: Path(f"/proc/{worker}/mem").open("rb").close(),
        "process_vm_readv": lambda: _call(_PROCESS_VM_READV, worker, None, 0, None, 0, 0),
        "pidfd_getfd": lambda: _call(_PIDFD_GETFD, os.pidfd_open(worker), 0, 0),
    }
    return {name: _end(act) for name, act in tries.items()}


def _end(act: Callable[[], object]) -> str:
    try:
        return f"reached: {act()!r}"[:200]
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def _call(number: int, *arguments: object) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments))


def _checked(returned: int) -> int:
    if returned < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return returned


def pair_of_streams() -> bool:
    """What asyncio needs for itself, and what leads nowhere else."""
    here, there = socket.socketpair()
    here.sendall(b"x")
    return there.recv(1) == b"x"


def everything(worker: int) -> dict[str, str]:
    told = {"NoNewPrivs", "CapPrm", "CapEff", "Seccomp"}
    lines = [line.partition(":") for line in Path("/proc/self/status").read_text().splitlines()]
    return attempts(worker) | {
        "uid": str(os.getuid()),
        "groups": str(os.getgroups()),
        "pair": str(pair_of_streams()),
        "oom": Path("/proc/self/oom_score_adj").read_text().strip(),
        **{name: value.strip() for name, _, value in lines if name in told},
    }


if __name__ == "__main__":
    print(json.dumps(everything(int(sys.argv[1]))))
