"""Rule texts: a file, a folder of parts, standard input, or a package that comes with the worker."""

import re
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path

from bpc_worker.core.rules.source import Limits
from bpc_worker.files.reading import read_at_most, take_at_most

_SUFFIX = ".rules"
_BARE = re.compile(r"[a-z][a-z0-9_]*")


class RuleFileError(Exception):
    """A rule text that cannot be read, and why."""


def shipped() -> dict[str, str]:
    """The texts that come with the worker, by name."""
    found = sorted((entry.name, entry) for entry in (files("bpc_worker.files") / "rule_packages").iterdir())
    return {
        name.removesuffix(_SUFFIX): _text(entry)
        for name, entry in found
        if name.endswith(_SUFFIX) or (entry.is_dir() and _parts(entry))
    }


def read_rules(given: str) -> str:
    """`-`: standard input; a file or a folder of parts; else the shipped package of that name."""
    try:
        if given == "-":
            return take_at_most(sys.stdin.buffer, Limits().source_bytes).decode("utf-8")
        if not Path(given).exists() and _BARE.fullmatch(given):
            return _shipped(given)
        return _text(Path(given))
    except OSError as error:
        raise RuleFileError(f"{given}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RuleFileError(f"{given}: not UTF-8 at byte {error.start}") from error


def _text(entry: Traversable) -> str:
    """Of a folder: its parts one after another, in the order of their names."""
    if not entry.is_dir():
        return _read(entry).decode("utf-8")
    parts = _parts(entry)
    if not parts:
        raise RuleFileError(f"{entry}: a folder without a {_SUFFIX} file")
    joined = BytesIO(b"\n".join(map(_read, parts)))
    return take_at_most(joined, Limits().source_bytes).decode("utf-8")


def _parts(folder: Traversable) -> list[Traversable]:
    found = [entry for entry in folder.iterdir() if entry.name.endswith(_SUFFIX)]
    return sorted(found, key=lambda entry: entry.name)


def _read(entry: Traversable) -> bytes:
    return read_at_most(entry, Limits().source_bytes) if isinstance(entry, Path) else entry.read_bytes()


def _shipped(name: str) -> str:
    known = shipped()
    if name not in known:
        raise RuleFileError(f"{name}: no such file, and no shipped package; there are {', '.join(known)}")
    return known[name]
