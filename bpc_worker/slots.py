"""Slots for jobs, of which those that work in children get no more than the children can use."""

from collections.abc import Callable, Collection


class Slots:
    """A job that waits for a child has no use for its slot. Some are kept for those that need none.

    `worth_holding` is how many jobs the children can be kept busy with, as far as is known at the moment.
    """

    def __init__(self, count: int, *, in_children: Collection[str], worth_holding: Callable[[], int]) -> None:
        self.count = count
        self.in_children = frozenset(in_children)
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
    def room_in_children(self) -> int:
        """How many jobs more are worth claiming for them; none while they have half of what they can use."""
        most = min(self._worth_holding(), self.count - self.count // 4)
        room = most - self._taken_for_children
        return room if room >= max(1, most // 2) else 0

    def take(self, job_type: str) -> None:
        self._taken += 1
        self._taken_for_children += job_type in self.in_children

    def leave(self, job_type: str) -> None:
        self._taken -= 1
        self._taken_for_children -= job_type in self.in_children
