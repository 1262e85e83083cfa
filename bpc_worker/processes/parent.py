"""A process that ends with the one that started it, by SIGKILL of that one too.

Only the standard library: the watcher of programs imports it.
"""

import os
import signal
import sys

from bpc_worker.processes.libc import libc

_PR_SET_PDEATHSIG = 1


def die_with(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """By that signal, as soon as the process of this number, our parent, is gone.

    Asked again after every change of account, which takes it back.
    """
    if sys.platform == "linux":
        libc().prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)
