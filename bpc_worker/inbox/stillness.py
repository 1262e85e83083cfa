"""A file is left alone until it stands still: the same size, time and identity in two looks."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from bpc_worker.inbox.layout import Meaning, Place


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
        """What looks as it did before: first what a producer has begun, then of every tenant in turn."""
        now = {(each.place, each.taken): each for each in found}
        still = [each for key, each in now.items() if key in self._before and self._before[key] == each.looks]
        self._before = {key: each.looks for key, each in now.items()}
        begun = [each for each in still if each.taken]
        return begun + _in_turn([each for each in still if not each.taken])


def _in_turn(found: Sequence[Found]) -> list[Found]:
    """A tenant with ten thousand files does not keep the others waiting."""
    tenants: dict[str, list[Found]] = {}
    for each in found:
        tenants.setdefault(each.place[0], []).append(each)
    return [each for turn in zip_longest(*tenants.values()) for each in turn if each is not None]
