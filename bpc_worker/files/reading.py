"""Read a file that may be larger than it should, or no file at all."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def read_at_most(path: Path, limit: int) -> bytes:
    """What a person named: a file, a pipe, a device. OSError (EFBIG) when it has more bytes."""
    with path.open("rb") as file:
        return take_at_most(file, limit)


def read_regular(path: Path, limit: int) -> bytes:
    """What somebody else put into a folder: a regular file, neither a link nor something that never ends."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # never waits for a pipe's other end
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file")
        return take_at_most(file, limit)


def take_at_most(file: BinaryIO, limit: int) -> bytes:
    data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"More than {limit} bytes")
    return data
