"""Everything wrong with a document, collected up to a limit."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from bpc_worker.documents.model import PAYLOAD_TOO_LARGE, VALIDATION_ERROR, Problem, Rejected

_STEP_SHOWN = 100
# What a message could not be stored or printed with.
_UNPRINTABLE = re.compile("[\0-\x1f\x7f\ud800-\udfff]")


class Unfit(ValueError):  # noqa: N818 - a verdict on a value, caught where the value's place is known
    """A value that cannot be taken, and what to do about it."""


class Problems:
    """The first ones are listed, the others counted: a hostile document cannot fill the memory."""

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._listed: list[Problem] = []
        self._unlisted = 0
        self._code = VALIDATION_ERROR
        self._refused: list[Problem] = []
        self._unlisted_refused = 0

    def __bool__(self) -> bool:
        return bool(self._listed or self._unlisted)

    @property
    def full(self) -> bool:
        return len(self._listed) >= self._at_most

    def add(self, where: str, message: str) -> None:
        if self.full:
            self._unlisted += 1
        else:
            self._listed.append(Problem(where=where, message=message))

    def refuse(self, where: str, message: str) -> None:
        """A value that is not taken, in a document that otherwise is."""
        if len(self._refused) >= self._at_most:
            self._unlisted_refused += 1
        else:
            self._refused.append(Problem(where=where, message=message))

    @property
    def refused(self) -> tuple[Problem, ...]:
        return (*self._refused, *_rest(self._unlisted_refused))

    def too_large(self, where: str, message: str) -> None:
        self._code = PAYLOAD_TOO_LARGE
        self.add(where, message)

    def advise(self, where: str, words: Callable[[], str]) -> None:
        """A problem whose words are costly to find: once the list is full, they are not looked for."""
        if self.full:
            self._unlisted += 1
        else:
            self.add(where, words())

    def unknown(self, where: str, name: str, known: Iterable[str]) -> None:
        """A name that means nothing here; the nearest one that does is offered."""
        self.advise(where, lambda: f"{quoted(name)} is not known here; {_advice(name, known)}")

    def rejected(self) -> Rejected:
        return Rejected(code=self._code, problems=(*self._listed, *_rest(self._unlisted)))


def _rest(unlisted: int) -> list[Problem]:
    return [Problem(where="", message=f"and {unlisted} more")] if unlisted else []


def _advice(name: str, known: Iterable[str]) -> str:
    names = tuple(known)
    near = get_close_matches(name[:_STEP_SHOWN].lower(), names, n=1)
    return f"did you mean {near[0]}?" if near else f"known are: {', '.join(names)}"


def quoted(text: str) -> str:
    """A text of the document inside a message: short, printable, in quotes."""
    cut = text if len(text) <= _STEP_SHOWN else f"{text[:_STEP_SHOWN]}…"
    return f'"{_printable(cut)}"'


def pointer(steps: Iterable[str | int]) -> str:
    """A JSON pointer; overlong steps are cut."""
    return "".join(f"/{_step(step)}" for step in steps)


def _step(step: str | int) -> str:
    text = str(step)
    cut = text if len(text) <= _STEP_SHOWN else f"{text[:_STEP_SHOWN]}…"
    return _printable(cut).replace("~", "~0").replace("/", "~1")


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
