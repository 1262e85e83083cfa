"""Put a file into a folder: whole or not at all, never through a link, never over something else."""

import os
import secrets
from pathlib import Path

from bpc_worker.files.reading import take_at_most


class ExportFileError(Exception):
    """Why nothing was written."""


def write_new(folder: Path, name: str, data: bytes) -> bool:
    """False when the file was there already with these bytes; with others it stays as it is, and this raises.

    The name is a plain one and the folder is opened once, so that nothing is written anywhere else.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ExportFileError(f"{name!r} is no name of a file: it would lie outside the folder")
    try:
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError) as error:
        raise ExportFileError(f"{folder}: {_words(error)}") from error
    try:
        return _link_new(inside, name, data)
    except OSError as error:
        raise ExportFileError(f"{folder / name}: {_words(error)}") from error
    finally:
        os.close(inside)


def _link_new(inside: int, name: str, data: bytes) -> bool:
    """Under another name first: the right one appears when the bytes are safe, and only if it is free."""
    unfinished = f".bpc-{secrets.token_hex(8)}.part"
    number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=inside)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(number)
        try:
            os.link(unfinished, name, src_dir_fd=inside, dst_dir_fd=inside, follow_symlinks=False)
        except FileExistsError:
            if _is_there(inside, name, data):
                return False
            raise
    finally:
        os.unlink(unfinished, dir_fd=inside)
    os.fsync(inside)
    return True


def _is_there(inside: int, name: str, data: bytes) -> bool:
    """The same bytes in a regular file; a link, even to the same bytes, is something else."""
    try:
        number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=inside)
        with os.fdopen(number, "rb") as file:
            return take_at_most(file, len(data)) == data
    except OSError:
        return False


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, FileExistsError):
        return "something else is there, and is not overwritten; name another file"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
