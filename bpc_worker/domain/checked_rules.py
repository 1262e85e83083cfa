"""Rule texts, parsed and checked once per process that compiles."""

from functools import lru_cache

from bpc_worker.core.rules.module import load
from bpc_worker.files.rules import shipped

checked_rules = lru_cache(maxsize=16)(load)


def check_shipped() -> None:
    """Those that come with the worker: nobody's input, so children can have them from their fork on."""
    for text in shipped().values():
        checked_rules(text)
