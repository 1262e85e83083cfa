"""Put a file or folder somewhere else, never over something that is there."""

import errno
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

_LONGEST_NAME = 255
_LONGEST_ENDING = 20


def free_name(path: Path) -> Path:
    """The path, or where it is taken, one beside it that says when."""
    found = path
    while os.path.lexists(found):
        ending = path.suffix if len(path.suffix) <= _LONGEST_ENDING else ""
        stamp = f"~{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
        found = path.with_name(_shortened(path.name.removesuffix(ending), stamp + ending))
    return found


def named_beside(path: Path, ending: str) -> Path:
    return path.with_name(_shortened(path.name, ending))


def _shortened(start: str, end: str) -> str:
    """Both, and no longer than a name may be."""
    room = _LONGEST_NAME - len(os.fsencode(end))
    kept = os.fsencode(start)[: max(1, room)]
    return os.fsdecode(kept) + end


def move(source: Path, target: Path) -> None:
    """At once; to another file system by a copy that appears when it is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _carry(source, target)


def _carry(source: Path, target: Path) -> None:
    part = target.with_name(_shortened(f".{target.name}", ".part"))
    if source.is_dir() and not source.is_symlink():
        shutil.rmtree(part, ignore_errors=True)  # of a copy that was cut short
        shutil.copytree(source, part, symlinks=True)
        part.rename(target)
        shutil.rmtree(source)
    else:
        shutil.copy2(source, part, follow_symlinks=False)
        _flush(part)
        part.rename(target)
        source.unlink()


def _flush(path: Path) -> None:
    if path.is_symlink():
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
