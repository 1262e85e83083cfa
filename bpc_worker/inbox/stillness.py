"""A file is left alone until it stands still: the same size, time and identity in two looks."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from bpc_worker.inbox.places import Meaning, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something in the inbox, or taken out of it by a producer that did not come to an end."""

    place: Place
    meaning: Meaning
    looks: Hashable  # whatever changes when somebody writes to it
    taken: bool = False


class Stillness:
    """Remembers one look."""

    def __init__(self) -> None:
        self._before: dict[tuple[Place, bool], Hashable] = {}

    def settled(self, found: Iterable[Found]) -> list[Found]:
        """What looks as it did before; what a producer has begun comes first."""
        now = {(each.place, each.taken): each for each in found}
        still = [each for key, each in now.items() if key in self._before and self._before[key] == each.looks]
        self._before = {key: each.looks for key, each in now.items()}
        return sorted(still, key=lambda each: not each.taken)
