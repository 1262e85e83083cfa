"""Why no codes were made."""

from collections.abc import Sequence

_MOST_SHOWN = 20


class CarrierError(ValueError):
    """Everything that is wrong, a line each; nothing has been written."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class UnfinishedError(Exception):
    """Why some files are missing; the same order, made again, writes them."""


def refuse(problems: Sequence[str]) -> None:
    """All of them at once, the first ones by name; none is fine."""
    if not problems:
        return
    rest = len(problems) - _MOST_SHOWN
    raise CarrierError(*problems[:_MOST_SHOWN], *([f"and {rest} more"] if rest > 0 else []))
