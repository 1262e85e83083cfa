"""Slots for jobs, of which those that work in children get no more than the children can use."""

from collections.abc import Callable, Collection

from bpc_worker.ports import Caps


class Slots:
    """A job that waits for a child has no use for its slot. Some are kept for those that need none.

    `worth_holding` is how many jobs the children can be kept busy with, as far as is known at the moment.
    """

    def __init__(self, count: int, *, in_children: Collection[str], worth_holding: Callable[[], int]) -> None:
        self.count = count
        self._in_children = frozenset(in_children)
        self._worth_holding = worth_holding
        self._taken = 0
        self._taken_for_children = 0

    @property
    def taken(self) -> int:
        return self._taken

    @property
    def free(self) -> int:
        return self.count - self._taken

    @property
    def caps(self) -> Caps:
        """For a claim: how many jobs more are worth having for the children."""
        return {self._in_children: self._room} if self._in_children else {}

    @property
    def _room(self) -> int:
        """None while they have half of what they can use: one claim for several is cheaper."""
        most = min(self._worth_holding(), self.count - self.count // 4)
        room = most - self._taken_for_children
        return room if room >= max(1, most // 2) else 0

    def take(self, job_type: str) -> None:
        self._taken += 1
        self._taken_for_children += job_type in self._in_children

    def leave(self, job_type: str) -> bool:
        """Whether a claim can now bring what the last one could not."""
        self._taken -= 1
        if job_type not in self._in_children:
            return False
        had_room = self._room > 0
        self._taken_for_children -= 1
        return not had_room and self._room > 0
