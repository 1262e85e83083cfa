"""Rule texts: a file, standard input, or a module that comes with the worker."""

import re
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from bpc_worker.core.rules.source import Limits
from bpc_worker.files.reading import read_at_most, take_at_most

_SUFFIX = ".rules"
_BARE = re.compile(r"[a-z][a-z0-9_]*")


class RuleFileError(Exception):
    """A rule text that cannot be read, and why."""


def shipped() -> dict[str, Traversable]:
    """The modules that come with the worker, by name."""
    folder = files("bpc_worker.files") / "rule_packages"
    found = sorted((entry.name, entry) for entry in folder.iterdir() if entry.name.endswith(_SUFFIX))
    return {name.removesuffix(_SUFFIX): entry for name, entry in found}


def read_rules(given: str) -> str:
    """`-`: standard input; a file; else the shipped module of that name."""
    limit = Limits().source_bytes
    try:
        if given == "-":
            data = take_at_most(sys.stdin.buffer, limit)
        elif Path(given).exists() or not _BARE.fullmatch(given):
            data = read_at_most(Path(given), limit)
        else:
            data = _shipped(given).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise RuleFileError(f"{given}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RuleFileError(f"{given}: not UTF-8 at byte {error.start}") from error


def _shipped(name: str) -> Traversable:
    known = shipped()
    if name not in known:
        raise RuleFileError(f"{name}: no such file, and no shipped module; there are {', '.join(known)}")
    return known[name]
