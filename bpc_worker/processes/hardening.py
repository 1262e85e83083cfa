"""What a process with secrets does so that nobody else comes to them: no core, no environment to inherit."""

import os
import resource
import sys
from collections.abc import Iterable

from bpc_worker.processes.libc import libc

_PR_SET_DUMPABLE = 4

# Not 0: the kernel gives a core to a program (`|…` in core_pattern) whatever the limit is, but for 1, which
# is too little for a file as well.
_NO_CORE = 1


def _leave_no_core() -> None:
    """Where less is allowed already, that stays. Programs that are started inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    most = _NO_CORE if hard == resource.RLIM_INFINITY else min(_NO_CORE, hard)
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))


def close_memory() -> None:
    """No core by any setting, and nobody but root may look into this process: its memory, its environment.

    Not even another process of the same account. Programs that are started do not inherit the latter.
    """
    _leave_no_core()
    if sys.platform == "linux":
        libc().prctl(_PR_SET_DUMPABLE, 0)


def forget(variables: Iterable[str]) -> None:
    """What was read from the environment is not there any more for programs that handlers start."""
    for name in variables:
        os.environ.pop(name, None)
