"""Slots for jobs, of which some get no more than they can use; and jobs that are claimed ahead of them."""

import math
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from bpc_worker.engine.clock import Clock
from bpc_worker.jobs.model import Claim
from bpc_worker.jobs.store import Caps

_IO_BOUND_TO_OTHERS = 4  # a request under way is a socket and a little memory
_LEAST_IO_BOUND = 32
_AT_A_TIME = 5  # claims that fill all io-bound slots: one for each that is free costs more than the job

_MOST_AHEAD = 32  # slots: where there are more, a claim is a small part of what its jobs cost
_LONGEST_JOB = 0.05  # however slow the database is: who waits for slower ones, waits for long
_PATIENCE = 0.1


class _Share:
    """The slots of some types, and how many of them are worth having at the moment."""

    def __init__(self, types: Collection[str], most: Callable[[], int], *, part: int) -> None:
        self.types = frozenset(types)
        self._most = most
        self._part = part
        self.taken = 0
        self.was_capped = False  # the last claim might have brought more

    @property
    def room(self) -> int:
        """Several are claimed at a time: none before one `part` of them, of so many, is free."""
        most = self._most()
        room = max(0, most - self.taken)
        return room if room >= max(1, most // self._part) else 0


class Slots:
    """A job that waits for a child has no use for its slot: some are kept for those that do not. A job that
    waits for a server of others takes none of them: such jobs have slots of their own, and many, because
    servers of others may take their time.

    `max_useful_jobs` is how many jobs the children can be kept busy with, as far as is known at the moment.
    """

    def __init__(
        self,
        count: int,
        *,
        in_children: Collection[str],
        max_useful_jobs: Callable[[], int],
        io_bound: Collection[str] = (),
        types: Collection[str] = (),
    ) -> None:
        self.count = count
        self.taken = 0
        promised = max(_LEAST_IO_BOUND, _IO_BOUND_TO_OTHERS * count)
        most_io_bound = promised + promised // _AT_A_TIME  # so that this many can hang before others wait
        children = _Share(in_children, lambda: min(max_useful_jobs(), count - count // 4), part=2)
        io_bound = frozenset(io_bound) - children.types
        self._io_bound = _Share(io_bound, lambda: most_io_bound, part=_AT_A_TIME + 1)
        self._others = frozenset(types) - io_bound  # all that need a slot of the count
        self._shares = [share for share in (children, self._io_bound) if share.types]
        self._of_type = {job_type: share for share in self._shares for job_type in share.types}

    @property
    def free(self) -> int:
        return self.count - self.in_use

    def room(self, held: int, ahead: int = 0) -> int:
        """For how many more jobs, with so many held and so many slots that should be free by then.

        What waits to be settled takes no slot; but were the database slow, it must not pile up.
        """
        return min(self.free + ahead, 2 * (self.count + ahead) - (held - self.io_bound))

    @property
    def oversubscribed(self) -> int:
        """How many have been taken that there are not."""
        return max(0, self.in_use - self.count)

    @property
    def in_use(self) -> int:
        """How many of the taken ones are of the count."""
        return self.taken - self._io_bound.taken

    @property
    def io_bound(self) -> int:
        """How many of the taken ones are beside the count."""
        return self._io_bound.taken

    def is_io_bound(self, job_type: str) -> bool:
        return job_type in self._io_bound.types

    @property
    def caps(self) -> Caps:
        """For a claim: how many jobs more of these types are worth having."""
        return {share.types: share.room for share in self._shares}

    @property
    def io_bound_only(self) -> tuple[int, Caps]:
        """For a claim while all slots of the count are taken: nothing that needs one of them."""
        room = self._io_bound.room if self._others and self._io_bound.types else 0
        return room, {self._io_bound.types: room, self._others: 0}

    def record_claim(self, caps: Caps, claimed: Sequence[str]) -> bool:
        """Note which caps kept a claim from more than these; whether one of them has room again."""
        for types, cap in caps.items():
            share = self._of_type.get(next(iter(types)))
            if share is None or share.types != types:
                continue  # all that need a slot of the count
            share.was_capped = sum(job_type in types for job_type in claimed) >= cap
        return any(share.was_capped and share.room > 0 for share in self._shares)

    def take(self, job_type: str) -> None:
        self.taken += 1
        share = self._of_type.get(job_type)
        if share is not None:
            share.taken += 1

    def leave(self, job_type: str) -> bool:
        """Whether a claim can now bring what the last one could not.

        Told at every job that leaves until there is a claim: room comes by itself, too, as calls get shorter.
        """
        self.taken -= 1
        share = self._of_type.get(job_type)
        if share is None:
            return False
        share.taken -= 1
        return share.was_capped and share.room > 0


class Claimed(NamedTuple):
    claim: Claim
    sent_at: float  # when it was asked for


class Taken(NamedTuple):
    has_room: bool  # again, where a cap kept the claim from more
    expected_free_slots: int  # when the next claim is answered, judged by this one


class Left(NamedTuple):
    """A slot by its job."""

    has_room: bool  # there was none before
    uncapped: bool  # a claim can now bring what a cap kept from the last one
    starting: list[Claimed]  # in its place


class ClaimsAhead:
    """While jobs are over sooner than a claim is answered, the next claim need not wait for their slots.

    Some jobs take longer than those before them: then those that came early wait here, and not for long.
    """

    def __init__(self, slots: Slots, clock: Clock) -> None:
        self._slots = slots
        self._clock = clock
        self._waiting: deque[Claimed] = deque()
        self._began_at = -math.inf

    @property
    def by_halves(self) -> int:
        """Half of the slots, where there are so many that no claim goes ahead of them: while the jobs of one
        half run, the claim for the other is on its way. 0 where claims go ahead.
        """
        return self._slots.count // 2 if self._slots.count > _MOST_AHEAD else 0

    def take(self, claims: Sequence[Claim], caps: Caps, sent_at: float) -> Taken:
        """Slots for the jobs that a claim brought, with these caps, which was sent then.

        No claim is ahead of its slot where an attempt would be the last: whoever is killed before the job
        began would have used it up. Where one was, there are more.
        """
        expected = self._expected_free_slots(sent_at)
        types = [claim.type for claim in claims]
        for job_type in types:
            self._slots.take(job_type)
        if any(claim.attempts >= claim.max_attempts for claim in claims):
            expected = 0
        return Taken(self._slots.record_claim(caps, types), expected)

    def _expected_free_slots(self, sent_at: float) -> int:
        now = self._clock()
        # Those that began last had the time of one claim, or a little more where it waited for them.
        in_time = now - self._began_at < min(2 * (now - sent_at), _LONGEST_JOB)
        is_free = in_time and self._slots.in_use == 0 and not self.by_halves
        return self._slots.count if is_free else 0

    def start_now(self, new: Sequence[Claimed]) -> list[Claimed]:
        """Those of new claims that begin now; the others wait."""
        in_slots = [each for each in new if not self._slots.is_io_bound(each.claim.type)]
        if in_slots:
            self._began_at = self._clock()
        oversubscribed = self._slots.oversubscribed
        if oversubscribed <= 0:
            return list(new)
        late = in_slots[-oversubscribed:]
        self._waiting.extend(late)
        those = {id(each) for each in late}  # to compare them takes its time
        return [each for each in new if id(each) not in those]

    def leave(self, job_type: str, held: int) -> Left:
        """With so many jobs held: what the next claim may bring now, and those that need wait no longer."""
        was_full = self._slots.room(held) <= 0
        uncapped = self._slots.leave(job_type)
        starting = []
        while self._waiting and self._slots.oversubscribed < len(self._waiting):
            starting.append(self._waiting.popleft())
        return Left(was_full and self._slots.room(held) > 0, uncapped, starting)

    def expire(self, *, at_once: bool = False) -> list[Claim]:
        """Those that have waited for too long: others may have a slot for them."""
        if not at_once and self._clock() - self._began_at < _PATIENCE:
            return []
        leaving = [each.claim for each in self._waiting]
        self._waiting.clear()
        for claim in leaving:
            self._slots.leave(claim.type)
        return leaving
