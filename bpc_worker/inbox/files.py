"""The inbox as files. Whoever holds its lock takes something out, and puts it into done/ or rejected/.

A file that was taken lies in .taking/, out of reach of whoever replaces the one in the inbox; should its
producer die, the next one finds it there. Nothing is overwritten, and no link is followed.
"""

import errno
import fcntl
import json
import os
import signal
import stat
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bpc_worker.documents.model import KINDS
from bpc_worker.files.lock import FileLock
from bpc_worker.files.moving import free_name, move, named_beside
from bpc_worker.files.reading import read_regular
from bpc_worker.files.writing import replace_whole
from bpc_worker.inbox.layout import DECLARATION, DONE, REJECTED, Meaning, Place, Wanted, meaning
from bpc_worker.inbox.stillness import Found
from bpc_worker.jobs.errors import Code, Permanent

RECIPE = "passport.yaml"

_TAKING, _LOCK = ".taking", ".lock"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_MOST_DECLARED = 65_536
_MOST_IN_FOLDER = 1000  # of a build: what is larger is refused before it is read
_WHY = {
    errno.ELOOP: ("it is a symbolic link", "put the file itself there"),
    errno.EINVAL: ("it is no regular file", "put a regular file there"),
    errno.ENXIO: ("it is no regular file", "put a regular file there"),
    errno.EACCES: ("the producer may not read it", "let the producer's account read it, and put it back"),
    errno.EPERM: ("the producer may not read it", "let the producer's account read it, and put it back"),
}


class ChangedError(Exception):
    """Somebody writes to it, or it is gone: another look decides."""


@dataclass(slots=True)
class Look:
    found: list[Found] = field(default_factory=list)
    troubles: dict[Place, str] = field(default_factory=dict)  # what is left where it lies, and why


class Inbox:
    def __init__(self, root: Path, wanted: Wanted) -> None:
        self._root = root
        self._wanted = wanted
        self._lock: FileLock | None = None
        self._held = False

    def hold(self) -> bool:
        """Whether this process may work on the inbox; the lock ends with the process, whatever ends it."""
        if self._lock is not None and not self._lock.is_at(self._root / _LOCK):
            self.close()  # the folder was mounted anew, or tidied by somebody
        self._lock = self._lock or FileLock(self._root / _LOCK)
        self._held = self._held or self._lock.try_alone()
        return self._held

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
        self._lock, self._held = None, False

    def look(self) -> Look:
        seen = Look()
        self._look_into(self._root, (), seen, taken=False)
        if (self._root / _TAKING).exists():
            self._look_into(self._root / _TAKING, (), seen, taken=True)
        return seen

    def _look_into(self, folder: Path, place: Place, seen: Look, *, taken: bool) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                here = (*place, entry.name)
                try:
                    self._note(entry, here, seen, taken=taken)
                except FileNotFoundError:
                    continue  # gone between two looks, as things do
                except OSError as error:
                    seen.troubles[here] = error.strerror or str(error)

    def _note(self, entry: os.DirEntry[str], place: Place, seen: Look, *, taken: bool) -> None:
        path, is_folder = Path(entry.path), entry.is_dir(follow_symlinks=False)
        wanted = self._wanted.folder if is_folder else self._wanted.file
        what = meaning(place, is_folder=is_folder)
        if what is Meaning.NOTHING or not (taken or wanted(place)):
            return
        if what is Meaning.INSIDE:
            self._look_into(path, place, seen, taken=taken)
        elif what is Meaning.TOO_DEEP:
            seen.troubles[place] = "a folder in the folder of a kind is not looked into"
        elif what is not Meaning.FOLDER or os.path.lexists(path / RECIPE):
            seen.found.append(Found(place=place, meaning=what, looks=_looks(path), taken=taken))
        elif _names(path):
            kinds = ", ".join(KINDS)
            seen.troubles[place] = f"it has no {RECIPE}, and its name is no kind ({kinds}): it is waited for"

    def take(self, found: Found) -> None:
        """Out of the inbox; ChangedError when it is not what was found, or somebody still writes to it."""
        target = self.taken_at(found)
        try:
            with self._opened(found.place[:-1]) as folder:
                source = folder / found.place[-1]
                if _looks(source) != found.looks or _is_being_written(source):
                    raise ChangedError
                target.parent.mkdir(parents=True, exist_ok=True)
                if os.path.lexists(target):
                    raise ChangedError  # an earlier one of this name is not done yet
                source.rename(target)
        except FileNotFoundError as error:
            raise ChangedError from error
        self._check(found)  # it may have been replaced at the last moment, by something unfinished

    @contextmanager
    def _opened(self, place: Place) -> Iterator[Path]:
        """A folder of the inbox that stays the same one, whatever its owner puts in its place meanwhile.

        A link would lead to files of other tenants, or of the system.
        """
        number = os.open(self._root, _FOLDER)
        try:
            for name in place:
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=number)
                os.close(number)
                number = inner
            yield Path(f"/proc/self/fd/{number}")
        finally:
            os.close(number)

    @contextmanager
    def _made(self, where: str, place: Place) -> Iterator[Path]:
        """The same of a folder in done/ or rejected/, which are made; those two may be links themselves."""
        (self._root / where).mkdir(exist_ok=True)
        number = os.open(self._root / where, _FOLDER)
        try:
            for name in place:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=number)
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=number)
                os.close(number)
                number = inner
            yield Path(f"/proc/self/fd/{number}")
        finally:
            os.close(number)

    def taken_at(self, found: Found) -> Path:
        return self._root.joinpath(_TAKING, *found.place)

    def read(self, found: Found, limit: int) -> bytes:
        self._check(found)
        try:
            content = read_regular(self.taken_at(found), limit)
        except OSError as error:
            if error.errno == errno.EFBIG:
                why, do = f"it has more than {limit} bytes", "send less, or raise limits.document_bytes"
                raise Permanent(Code.PAYLOAD_TOO_LARGE, why, detail={"do": do}) from error
            if error.errno not in _WHY:
                raise
            why, do = _WHY[error.errno]
            raise Permanent(Code.VALIDATION_ERROR, why, detail={"do": do}) from error
        self._check(found)
        return content

    def _check(self, found: Found) -> None:
        try:
            if _looks(self.taken_at(found)) != found.looks:
                raise ChangedError
        except FileNotFoundError as error:
            raise ChangedError from error

    def declaration(self, place: Place) -> bytes | None:
        """What the folder of a document says about its files."""
        try:
            with self._opened(place[:-1]) as folder:
                return read_regular(folder / DECLARATION, _MOST_DECLARED)
        except FileNotFoundError:
            return None

    def finish(self, found: Found) -> None:
        """Into done/. ChangedError when something was written after it was read: that is to be read, too."""
        self._check(found)
        with self._made(DONE, found.place[:-1]) as folder:
            move(self.taken_at(found), free_name(folder / found.place[-1]))
        self._tidy(found)

    def reject(self, found: Found, refusal: dict[str, object]) -> None:
        """Into rejected/; the words first, so that whoever finds the file finds them too."""
        said = refusal | {"at": datetime.now(UTC).isoformat(timespec="milliseconds")}
        words = json.dumps(said, indent=2, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with self._made(REJECTED, found.place[:-1]) as folder:
            target = free_name(folder / found.place[-1])
            replace_whole(named_beside(target, ".error.json"), words)
            move(self.taken_at(found), target)
        self._tidy(found)

    def _tidy(self, found: Found) -> None:
        for depth in range(len(found.place) - 1, 0, -1):
            with suppress(OSError):  # something else is in it
                self._root.joinpath(_TAKING, *found.place[:depth]).rmdir()


def _looks(path: Path) -> Hashable:
    """Whatever changes when somebody writes to it, or puts something else in its place."""
    found = path.lstat()
    own = (found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns)
    if not stat.S_ISDIR(found.st_mode):
        return own
    return (own, tuple(_looks_inside(path / name) for name in _names(path)))


def _looks_inside(path: Path) -> Hashable:
    found = path.lstat()
    return (path.name, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns)


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())[:_MOST_IN_FOLDER]


def _is_being_written(path: Path) -> bool:
    """Whether anybody has it, or a file in it, open for writing, as far as the system tells.

    A read lease is only given where nobody has. File systems that know none, and files of other accounts,
    are judged by their looks alone.
    """
    is_folder = path.is_dir() and not path.is_symlink()
    return any(
        _has_writer(each) for each in ([path / name for name in _names(path)] if is_folder else [path])
    )


def _has_writer(path: Path) -> bool:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False  # whoever reads it says what is wrong
    try:
        # Whoever opens it in this moment waits for us, and the signal about it means nothing to us.
        fcntl.fcntl(number, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(number, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(number, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(number)
    return False
