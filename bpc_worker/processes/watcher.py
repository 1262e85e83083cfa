"""Watch over one external program: `python -I -S -c START ORDERS PROGRAM ARGUMENT…`.

It starts the program with limits, ends as the program ends, and takes everything with it that the program
left behind: what loses its parent becomes a child of this process, even if it made itself a daemon. When
the worker dies, by SIGKILL too, the system tells this process, which then ends all of them. It imports the
standard library and what needs no more: it starts in milliseconds.

ORDERS is JSON: the worker's pid, the limits memory_mb and cpu_seconds of each process, the LC_CTYPE that the
program is to have, the mark in front of why it cannot be started, and `confined`: the account that the
program runs under and whether it may use the network, or null for one that is trusted.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from bpc_worker.processes import confinement
from bpc_worker.processes.libc import libc
from bpc_worker.processes.parent import die_with

START = (
    f"import sys; sys.path.append({str(Path(__file__).parents[2])!r})\n"
    "from bpc_worker.processes.watcher import main; main()"
)
CANNOT_START = 127

_PR_SET_CHILD_SUBREAPER = 36
_MEGABYTE = 1024 * 1024
_NO_CORE = 1  # bytes: too little for a file, and the one limit that also keeps a core from a program
_WATCHED = (signal.SIGTERM, signal.SIGCHLD)


def main() -> NoReturn:
    told, program = json.loads(sys.argv[1]), sys.argv[2:]
    die_with(told["worker"], signal.SIGTERM)
    libc().prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    watcher = os.getpid()
    child = os.fork()
    if child == 0:
        _become(program, told, watcher)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):  # the program's pipes are its own: they end when it closes them
        os.dup2(nowhere, descriptor)
    _end_as(_status_of(child))


def _become(program: list[str], told: dict[str, Any], watcher: int) -> NoReturn:
    try:
        os.setpgid(0, 0)  # what it sends to its own group does not concern the watcher
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, for itself
            signal.signal(ignored, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        _limit_all(told["memory_mb"], told["cpu_seconds"])
        confinement.offer_to_the_oom_killer()
        if (confined := told["confined"]) is not None:
            confinement.confine(confined["account"], network=confined["network"])
        die_with(watcher)
        os.environ.pop("LC_CTYPE", None)  # which Python has put there
        if isinstance(given := told["lc_ctype"], str):
            os.environ["LC_CTYPE"] = given
        os.execv(program[0], program)  # noqa: S606 - no shell is what is wanted
    except OSError as error:
        os.write(2, f"{told['mark']}{error.errno} {error.strerror}".encode())
    finally:
        os._exit(CANNOT_START)


def _limit_all(memory_mb: int | None, cpu_seconds: int | None) -> None:
    _limit(resource.RLIMIT_CORE, _NO_CORE)
    if memory_mb is not None:
        _limit(resource.RLIMIT_AS, memory_mb * _MEGABYTE)
    if cpu_seconds is not None:
        _limit(resource.RLIMIT_CPU, cpu_seconds)


def _limit(what: int, most: int) -> None:
    """Where less is allowed already, that stays."""
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _status_of(child: int) -> int | None:
    """How it ended; None when the worker died, or wants it to end."""
    while signal.sigwait(_WATCHED) == signal.SIGCHLD:
        for pid, status in _dead():
            if pid == child:
                return status
    return None


def _dead() -> Iterator[tuple[int, int]]:
    """Children that have ended, adopted ones too."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


def _end_as(status: int | None) -> NoReturn:
    _kill_all()
    if status is None:
        os._exit(1)
    if os.WIFSIGNALED(status):  # so that the worker sees the same
        which = os.WTERMSIG(status)
        _limit(resource.RLIMIT_CORE, _NO_CORE)
        if which not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(which, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {which})
        os.kill(os.getpid(), which)
    os._exit(os.waitstatus_to_exitcode(status))


def _kill_all() -> None:
    """Until there is no child left: the children of those who die become ours."""
    with suppress(ChildProcessError):
        while True:
            for pid in _children():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> Iterator[int]:
    parent = str(os.getpid()).encode()
    for entry in Path("/proc").iterdir():
        with suppress(OSError, IndexError):
            if entry.name.isdigit() and _parent_in((entry / "stat").read_bytes()) == parent:
                yield int(entry.name)


def _parent_in(stat: bytes) -> bytes:
    """The name before it is in brackets, and may hold anything."""
    return stat.rpartition(b")")[2].split()[1]
