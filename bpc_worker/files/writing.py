"""Write a file that is there as a whole or not at all, never through a link: the one place that does."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from bpc_worker.files.reading import take_at_most

_UNFINISHED = ".bpc-"
_CREATED = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP})


class ExportFileError(Exception):
    """Why nothing was written."""


@contextmanager
def whole_file(
    path: Path, *, mode: int | None = None, replace: bool = False, durable: bool = True
) -> Iterator[BinaryIO]:
    """A file to write to, on disk under its name after the block; what went wrong leaves nothing behind.

    `mode`: exactly that from its first moment; None: what the umask leaves. Unless `replace`, a name that is
    taken is a FileExistsError. The folder is opened once, so that nothing is written anywhere else. Without
    `durable` the disk is not waited for: one of many files, whose writer calls `os.sync` after the last.
    """
    if not replace and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    unfinished = f"{_UNFINISHED}{secrets.token_hex(8)}.part"
    try:
        number = os.open(unfinished, _CREATED, 0o666 if mode is None else 0o600, dir_fd=folder)
        with os.fdopen(number, "wb") as file:
            if mode is not None:
                os.fchmod(number, mode)
            yield file
            file.flush()
            if durable:
                os.fsync(number)
        (_rename if replace else _link)(unfinished, path.name, folder)
        if durable:
            os.fsync(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(unfinished, dir_fd=folder)
        os.close(folder)


def _rename(unfinished: str, name: str, folder: int) -> None:
    os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)


def _link(unfinished: str, name: str, folder: int) -> None:
    """Unlike a rename, it never replaces what somebody else put there meanwhile."""
    try:
        os.link(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        os.close(os.open(name, _CREATED, 0o600, dir_fd=folder))  # the name first, then what belongs there
        _rename(unfinished, name, folder)


def replace_whole(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """The file with these bytes, whole at any moment; what was there before is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, mode=mode, replace=True) as file:
        file.write(content)


def write_new(folder: Path, name: str, data: bytes, *, durable: bool = True) -> bool:
    """False when the file was there already with these bytes; with others it stays as it is, and this raises.

    The name is a plain one: nothing is written outside the folder.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ExportFileError(f"{name!r} is no name of a file: it would lie outside the folder")
    try:
        with whole_file(folder / name, durable=durable) as file:
            file.write(data)
    except FileExistsError as error:
        if _is_there(folder / name, data):
            return False
        message = "something else is there, and is not overwritten; name another file"
        raise ExportFileError(f"{folder / name}: {message}") from error
    except (OSError, ValueError) as error:
        where = folder / name if folder.is_dir() else folder
        raise ExportFileError(f"{where}: {getattr(error, 'strerror', None) or error}") from error
    return True


def remove_unfinished(folder: Path) -> None:
    """What writers left there who were killed; only where nobody else writes now."""
    for left in folder.glob(f"{_UNFINISHED}*.part"):
        left.unlink(missing_ok=True)


def _is_there(path: Path, data: bytes) -> bool:
    """The same bytes in a regular file; a link, even to the same bytes, is something else."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(number, "rb") as file:
            return take_at_most(file, len(data)) == data
    except OSError:
        return False


def pieces(file: BinaryIO, size: int = 8192) -> Iterator[bytes]:
    """From its first byte on."""
    file.seek(0)
    while piece := file.read(size):
        yield piece
