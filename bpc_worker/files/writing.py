"""Write a file that is there as a whole or not at all, never through a link: the one place that does."""

import errno
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from bpc_worker.files.reading import take_at_most

_UNFINISHED = ".bpc-"
_ENTERED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATED = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP})
_NO_UNNAMED = frozenset({errno.ENOTSUP, errno.EISDIR, errno.EINVAL, errno.ENOENT})
_COPIED_AT_ONCE = 2**20


class ExportFileError(Exception):
    """Why nothing was written."""


class ExportRefusedError(ExportFileError):
    """Another try would not help: a name that leads elsewhere, or that is taken."""


@contextmanager
def whole_file(
    path: Path,
    *,
    mode: int | None = None,
    replace: bool = False,
    folder: int | None = None,
    durable: bool = True,
) -> Iterator[BinaryIO]:
    """A file to write to, on disk under its name after the block; what went wrong leaves nothing behind.

    `mode`: exactly that from its first moment; None: what the umask leaves. Unless `replace`, a name that is
    taken is a FileExistsError. The folder is opened once, so that nothing is written anywhere else; where it
    is open already, as `folder`, only the name of the path counts. Without `durable` the disk is not waited
    for: one of many files, whose writer calls `os.sync` after the last.
    """
    opened = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY) if folder is None else os.dup(folder)
    unfinished = None
    try:
        if not replace and _is_taken(path.name, opened):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        number = None if replace else _without_name(opened, mode)
        if number is None:
            unfinished = _unfinished()
            number = os.open(unfinished, _CREATED, _at_first(mode), dir_fd=opened)
        with os.fdopen(number, "wb") as file:
            if mode is not None:
                os.fchmod(number, mode)
            yield file
            file.flush()
            if durable:
                os.fsync(number)
            if unfinished is None:
                unfinished = _named(number, path.name, opened)
        if unfinished is not None:
            (_rename if replace else _link)(unfinished, path.name, opened)
        if durable:
            os.fsync(opened)
    finally:
        if unfinished is not None:
            with suppress(FileNotFoundError):
                os.unlink(unfinished, dir_fd=opened)
        os.close(opened)


def _unfinished() -> str:
    return f"{_UNFINISHED}{secrets.token_hex(8)}.part"


def _at_first(mode: int | None) -> int:
    return 0o666 if mode is None else 0o600


def _is_taken(name: str, folder: int) -> bool:
    with suppress(FileNotFoundError):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        return True
    return False


def _without_name(folder: int, mode: int | None) -> int | None:
    """A file that nobody sees, and that is gone with a process that is killed; None where there are none."""
    try:
        return os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, _at_first(mode), dir_fd=folder)
    except OSError as error:
        if error.errno not in _NO_UNNAMED:
            raise
        return None


def _named(number: int, name: str, folder: int) -> str | None:
    """None: it has its name. Where that cannot be given, the name of a copy that is to get it."""
    try:
        os.link(f"/proc/self/fd/{number}", name, dst_dir_fd=folder)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS | {errno.ENOENT}:
            raise
    else:
        return None
    unfinished = _unfinished()
    copy = os.open(unfinished, _CREATED, os.fstat(number).st_mode & 0o777, dir_fd=folder)
    try:
        offset = 0
        while sent := os.sendfile(copy, number, offset, _COPIED_AT_ONCE):
            offset += sent
        os.fsync(copy)
    finally:
        os.close(copy)
    return unfinished


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


def write_new(
    folder: Path, name: str, data: bytes, *, opened: int | None = None, durable: bool = True
) -> bool:
    """False when the file was there already with these bytes; with others it stays as it is, and this raises.

    The name is a plain one: nothing is written outside the folder, which may be open already.
    """
    check_name(name)
    try:
        with whole_file(folder / name, folder=opened, durable=durable) as file:
            file.write(data)
    except FileExistsError as error:
        if _is_there(folder / name if opened is None else Path(name), data, opened):
            return False
        message = "something else is there, and is not overwritten; name another file"
        raise ExportRefusedError(f"{folder / name}: {message}") from error
    except (OSError, ValueError) as error:
        where = folder / name if folder.is_dir() else folder
        raise ExportFileError(f"{where}: {getattr(error, 'strerror', None) or error}") from error
    return True


def check_name(name: str) -> None:
    """A name of one file or folder, which leads nowhere else."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ExportRefusedError(f"{name!r} is no name of a file: it would lie outside the folder")


@contextmanager
def folder_below(root: Path, steps: Sequence[str]) -> Iterator[int]:
    """A folder below another, open; made where it is missing, and entered step by step, never by a link."""
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for step in steps:
            check_name(step)
            with suppress(FileExistsError):
                os.mkdir(step, dir_fd=opened)
                os.fsync(opened)
            try:
                below = os.open(step, _ENTERED, dir_fd=opened)
            except OSError as error:
                if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
                    raise
                raise ExportRefusedError(f"{root}: {step!r} in it is a link, or no folder") from error
            os.close(opened)
            opened = below
        yield opened
    finally:
        os.close(opened)


def remove_unfinished(folder: Path) -> None:
    """What writers left there who were killed; only where nobody else writes now."""
    for left in folder.glob(f"{_UNFINISHED}*.part"):
        left.unlink(missing_ok=True)


def _is_there(path: Path, data: bytes, folder: int | None) -> bool:
    """The same bytes in a regular file; a link, even to the same bytes, is something else."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(number, "rb") as file:
            return take_at_most(file, len(data)) == data
    except OSError:
        return False


def pieces(file: BinaryIO, size: int = 8192) -> Iterator[bytes]:
    """From its first byte on."""
    file.seek(0)
    while piece := file.read(size):
        yield piece
