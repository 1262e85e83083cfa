"""Write a new file that is there as a whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, on disk under its name after the block; FileExistsError when the name is taken."""
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists already")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
        os.link(part, path)  # unlike a rename, it never replaces what somebody else put there meanwhile
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def pieces(file: BinaryIO, size: int = 8192) -> Iterator[bytes]:
    """From its first byte on."""
    file.seek(0)
    while piece := file.read(size):
        yield piece
