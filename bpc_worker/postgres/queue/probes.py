"""What to ask of the queue: which places to probe, from when on, and whose turn it is. No IO."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from bpc_worker.jobs.model import Claim, Priority
from bpc_worker.jobs.store import Caps
from bpc_worker.postgres.arrays import array

Turn = Literal["ring", "oldest"]

_NOBODY = UUID(int=0)
_RING_EVERY = 4
_OLDEST_EVERY = 8
_RING_PROBES = 256  # a claim that goes round the tenants asks about this many places
_FEWEST_HOPS = 8
_WINDOW_MORE = 10


class Place(NamedTuple):
    """Where the index has the jobs of one kind, oldest first."""

    queue: str
    type: str
    priority: int


class Row(NamedTuple):
    """Where a job stands at its place."""

    scheduled_at: datetime | str
    job_id: UUID


_BEGINNING = Row("-infinity", _NOBODY)


class Pots:
    """For each place the number, from 1, of the cap that counts it."""

    def __init__(self, types: tuple[frozenset[str], ...], places: Iterable[Place]) -> None:
        numbers = {name: number for number, names in enumerate(types, start=1) for name in names}
        self.types = types
        self.of_places = [numbers.get(place.type) for place in places]
        self.counts = [self.of_places.count(number) for number in range(1, len(types) + 1)]
        self.text = array(self.of_places)


class Places:
    """Some places, and the parameters that name them."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.all = tuple(places)
        self.names = {
            "queues": array(place.queue for place in self.all),
            "types": array(place.type for place in self.all),
            "priorities": array(place.priority for place in self.all),
            "hops": max(_FEWEST_HOPS, _RING_PROBES // max(1, len(self.all))),
        }
        self.from_the_beginning = _since(_BEGINNING for _ in self.all)
        self._pots: Pots | None = None

    def pots(self, caps: Iterable[frozenset[str]]) -> "Pots":
        """The last ones are kept: caps change their numbers, hardly ever their types."""
        types = tuple(caps)
        if self._pots is None or self._pots.types != types:
            self._pots = Pots(types, self.all)
        return self._pots


class Asked:
    """The places of one claim, with what may be taken from those that share a pot."""

    def __init__(self, places: Places, caps: Caps, turn: Turn | None, *, complete: bool) -> None:
        self.places = places.all
        self.turn = turn
        self.complete = complete  # no place was left out because of a cap
        self._names = places.names
        self.from_the_beginning = places.from_the_beginning
        self._pots = places.pots(caps)
        self._most = [*caps.values()]

    @property
    def only_place(self) -> Place | None:
        return self.places[0] if len(self.places) == 1 and self.complete else None

    def most_of_only(self, limit: int) -> int:
        """What may be taken at the only place."""
        number = self._pots.of_places[0]
        return limit if number is None else min(limit, self._most[number - 1])

    def params(self, limit: int) -> dict[str, object]:
        """With a few more than wanted: others may hold some of them. What exceeds a pot is looked at too."""
        window = limit + _WINDOW_MORE
        surplus = sum(
            min(window, most) * places for most, places in zip(self._most, self._pots.counts, strict=True)
        )
        numbers = {"window": window, "reach": window + surplus}
        return self._names | numbers | {"pot": self._pots.text, "pots": array(self._most)}


class Probes:
    """Remembers, between two polls, where there was nothing and how far the rest has been emptied.

    A transaction held open elsewhere keeps the index entries of finished jobs alive, and every claim from
    the beginning would read them all again. What is remembered may be wrong soon (a late commit, a requeue),
    so it is dropped at every poll and every wake-up.
    """

    def __init__(self, queues: Sequence[str], types: Sequence[str]) -> None:
        self._all = Places(
            Place(queue, job_type, int(priority))
            for priority in Priority
            for queue in queues
            for job_type in types
        )
        self.names = {"queues": array(queues), "types": array(types)}
        self._worthwhile = self._due = self._all
        self._since: dict[Place, Row] = {}
        self._claims = 0
        self.ring_at = _NOBODY  # the last tenant that was so served

    def forget(self) -> None:
        self._worthwhile = self._due = self._all
        self._since.clear()

    def next_turn(self) -> Turn | None:
        """By the count n of our claims: every fourth goes round the tenants, every eighth to the oldest."""
        self._claims += 1
        if self._claims % _RING_EVERY == 0:
            return "ring"
        if len(self._due.all) == 1:
            return None  # the oldest comes first there in any case
        return "oldest" if self._claims % _OLDEST_EVERY == 1 else None

    def asked(self, turn: Turn | None, caps: Caps) -> Asked:
        """Whoever has a turn may be wherever something is due; a claim in order needs less than that."""
        places = self._due if turn is not None else self._worthwhile
        full = {job_type for types, most in caps.items() for job_type in types if most <= 0}
        if not full:
            return Asked(places, caps, turn, complete=True)
        left = Places(place for place in places.all if place.type not in full)
        return Asked(left, {types: most for types, most in caps.items() if most > 0}, turn, complete=False)

    def params(self, asked: Asked, *, limit: int) -> dict[str, object]:
        """For claim.sql."""
        since = asked.from_the_beginning
        if self._since:
            since = _since(self.since(place) for place in asked.places)
        return asked.params(limit) | since | {"ring_after": self.ring_at}

    def params_of_only(self, asked: Asked, *, limit: int) -> dict[str, object]:
        """For claim_at_place.sql."""
        place = asked.places[0]
        since, since_id = self.since(place)
        return place._asdict() | {
            "limit": asked.most_of_only(limit),
            "since": since,
            "since_id": since_id,
            "ring_after": self.ring_at,
            "hops": _RING_PROBES,
        }

    def since(self, place: Place) -> Row:
        return self._since.get(place, _BEGINNING)

    def learn(
        self,
        asked: Asked,
        live: Collection[int],
        claims: Iterable[Claim],
        *,
        heads: Collection[int] | None = None,
    ) -> None:
        """After a claim: in which of the places asked, counted from 1, something was seen to be due.

        After a search for the oldest the `heads` tell where something is due at all.
        """
        if heads and asked.complete:
            self._due = Places(asked.places[number - 1] for number in heads)
        if not live:
            return
        if asked.turn != "ring":  # the ring's job may stand behind others at its place
            self._since |= _heads(claims)
        if not asked.complete:
            return
        # The levels above the last one that was needed have been looked through. In that one something may
        # be due that a full claim did not get to see; the levels below are for a claim that was not full.
        last = max(asked.places[number - 1].priority for number in live)
        worthwhile = tuple(
            place
            for number, place in enumerate(asked.places, start=1)
            if number in live or (place.priority == last and (heads is None or number in heads))
        )
        if worthwhile != self._worthwhile.all:
            self._worthwhile = Places(worthwhile)


def _since(rows: Iterable[Row]) -> dict[str, object]:
    rows = tuple(rows)
    return {"since": array(row.scheduled_at for row in rows), "since_ids": array(row.job_id for row in rows)}


def _heads(claims: Iterable[Claim]) -> dict[Place, Row]:
    """The oldest job claimed at each place: what was due there before it is gone."""
    heads: dict[Place, Row] = {}
    for claim in claims:
        place, row = Place(claim.queue, claim.type, claim.priority), Row(claim.scheduled_at, claim.job_id)
        if place not in heads or row < heads[place]:
            heads[place] = row
    return heads
