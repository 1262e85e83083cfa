"""Slots for jobs, of which those that wait for something else get no more than they can use."""

from collections.abc import Callable, Collection

from bpc_worker.ports import Caps


class _Share:
    """The slots of some types, and how many of them are worth having at the moment."""

    def __init__(self, types: Collection[str], most: Callable[[], int]) -> None:
        self.types = frozenset(types)
        self._most = most
        self.taken = 0

    @property
    def room(self) -> int:
        """None while they have half of what they can use: one claim for several is cheaper."""
        most = self._most()
        room = most - self.taken
        return room if room >= max(1, most // 2) else 0


class Slots:
    """A job that waits for a child or for a server of others has no use for its slot. Some are kept for those
    that need neither.

    `worth_holding` is how many jobs the children can be kept busy with, as far as is known at the moment.
    """

    def __init__(
        self,
        count: int,
        *,
        in_children: Collection[str],
        worth_holding: Callable[[], int],
        outside: Collection[str] = (),
    ) -> None:
        self.count = count
        self.taken = 0
        shares = (
            _Share(in_children, lambda: min(worth_holding(), count - count // 4)),
            _Share(frozenset(outside) - frozenset(in_children), lambda: max(1, count // 2)),
        )
        self._shares = [share for share in shares if share.types]
        self._of_type = {job_type: share for share in self._shares for job_type in share.types}

    @property
    def free(self) -> int:
        return self.count - self.taken

    @property
    def caps(self) -> Caps:
        """For a claim: how many jobs more of these types are worth having."""
        return {share.types: share.room for share in self._shares}

    def take(self, job_type: str) -> None:
        self.taken += 1
        share = self._of_type.get(job_type)
        if share is not None:
            share.taken += 1

    def leave(self, job_type: str) -> bool:
        """Whether a claim can now bring what the last one could not."""
        self.taken -= 1
        share = self._of_type.get(job_type)
        if share is None:
            return False
        had_room = share.room > 0
        share.taken -= 1
        return not had_room and share.room > 0
