"""What to ask of the queue: which places to probe, from when on, and whose turn it is. No IO."""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple
from uuid import UUID

from bpc_worker.adapters.postgres.arrays import array
from bpc_worker.jobs.model import Claim, Priority

Turn = Literal["ring", "oldest"]

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_NOBODY = UUID(int=0)
_RING_EVERY = 4
_OLDEST_EVERY = 8
_RING_PROBES = 256  # a claim that goes round the tenants asks about this many places
_FEWEST_HOPS = 8


class Place(NamedTuple):
    """Where the index has the jobs of one kind, oldest first."""

    queue: str
    type: str
    priority: int


class Asked:
    """Some places, and the parameters that name them."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.places = tuple(places)
        self.params = {
            "queues": array(place.queue for place in self.places),
            "types": array(place.type for place in self.places),
            "priorities": array(place.priority for place in self.places),
            "hops": max(_FEWEST_HOPS, _RING_PROBES // max(1, len(self.places))),
        }


class Probes:
    """Remembers, between two polls, where there was nothing and how far the rest has been emptied.

    A transaction held open elsewhere keeps the index entries of finished jobs alive, and every claim from
    the beginning would read them all again. What is remembered may be wrong soon (a late commit, a requeue),
    so it is dropped at every poll and every wake-up.
    """

    def __init__(self, queues: Sequence[str], types: Sequence[str]) -> None:
        self._all = Asked(
            Place(queue, job_type, int(priority))
            for priority in Priority
            for queue in queues
            for job_type in types
        )
        self._worthwhile = self._all
        self._since: dict[Place, datetime] = {}
        self._claims = 0
        self._ring_at = _NOBODY

    def forget(self) -> None:
        self._worthwhile = self._all
        self._since.clear()

    def next_turn(self) -> Turn | None:
        """By the count n of our claims: every fourth goes round the tenants, every eighth to the oldest."""
        self._claims += 1
        if self._claims % _RING_EVERY == 0:
            return "ring"
        return "oldest" if self._claims % _OLDEST_EVERY == 1 else None

    def asked(self, turn: Turn | None) -> Asked:
        """Whoever has a turn may be anywhere; a claim in order needs only what was worth while last time."""
        return self._all if turn is not None else self._worthwhile

    def params(self, asked: Asked) -> dict[str, object]:
        """For claim.sql."""
        since = array(self._since.get(place, _BEGINNING) for place in asked.places)
        return asked.params | {"since": since, "ring_after": self._ring_at}

    def learn(
        self, asked: Asked, live: Collection[int], claims: Iterable[Claim], *, turn: Turn | None
    ) -> None:
        """After a claim: in which of the places asked, counted from 1, something was due."""
        if not live:
            return
        if turn != "ring":  # the ring's job may stand behind others at its place
            self._since |= _heads(claims)
        # The levels above the last one that was needed have been looked through. In that one something may
        # be due that a full claim did not get to see; the levels below are for a claim that was not full.
        last = max(asked.places[number - 1].priority for number in live)
        worthwhile = tuple(
            place
            for number, place in enumerate(asked.places, start=1)
            if number in live or place.priority == last
        )
        if worthwhile != self._worthwhile.places:
            self._worthwhile = Asked(worthwhile)

    def ring_went_to(self, tenant_id: UUID) -> None:
        self._ring_at = tenant_id


def _heads(claims: Iterable[Claim]) -> dict[Place, datetime]:
    """The oldest job claimed at each place: what was due there before it is gone."""
    heads: dict[Place, datetime] = {}
    for claim in claims:
        place = Place(claim.queue, claim.type, claim.priority)
        if place not in heads or claim.scheduled_at < heads[place]:
            heads[place] = claim.scheduled_at
    return heads
