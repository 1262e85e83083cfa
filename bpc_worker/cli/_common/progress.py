"""How far a command is that takes a while."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from bpc_worker.cli._common.output import tell

_STEPS = 10  # so often it is told where there is no terminal


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Of so many things, told how many more are done: a bar at a terminal, else a line now and then."""
    if sys.stderr.isatty():
        with click.progressbar(length=total, label=what, file=sys.stderr, show_pos=True) as bar:
            yield bar.update
        return
    done = told = 0

    def advance(more: int) -> None:
        nonlocal done, told
        done += more
        if (done - told) * _STEPS >= total or (more and done == total):
            told = done
            tell(f"{done} of {total} {what}")

    yield advance
