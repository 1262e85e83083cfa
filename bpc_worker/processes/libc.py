"""The C library's calls that Python has no name for. Only the standard library: the watcher imports it."""

import ctypes
import os
from functools import cache


@cache
def libc() -> ctypes.CDLL:
    """Opened once: each further time costs a freshly forked child as much as the calls themselves."""
    return ctypes.CDLL(None, use_errno=True)


def checked(returned: int, what: str) -> None:
    """OSError when a call said that it failed."""
    if returned:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
