"""Where the next claim looks: the places where something was due, and how far that has been taken."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from bpc_worker.jobs.model import Claim, Priority
from bpc_worker.jobs.store import Caps
from bpc_worker.jobs.turns import Turns
from bpc_worker.postgres.arrays import arrays

_NOBODY = UUID(int=0)
_RING_PROBES = 256  # a claim that goes round the tenants asks about this many places
_FEWEST_HOPS = 8
_REMEMBERED = 16  # places


class Place(NamedTuple):
    """Where the index has the jobs of one kind, oldest first."""

    queue: str
    type: str
    priority: int


class Row(NamedTuple):
    """Where a job stands at its place; as PostgreSQL wrote it, or as psycopg read it."""

    scheduled_at: datetime | str
    job_id: UUID | str


class RingPosition(NamedTuple):
    """The tenant that was served last, and how many jobs it may still have before the next one."""

    tenant_id: UUID
    unserved: int = 0


_BEGINNING = Row("-infinity", _NOBODY)


class Probes:
    """Remembers, between two polls, where something was due and how far that has been taken.

    A transaction held open elsewhere keeps the index entries of finished jobs alive, and every claim from
    the beginning would read them all again. What is remembered may be wrong soon (a late commit, a requeue),
    so it is dropped at every poll and every wake-up. Then the claim itself looks for places.
    """

    def __init__(self, queues: Sequence[str], types: Sequence[str], *, ring_start: UUID) -> None:
        self._types = tuple(types)
        self._names = arrays({"types": types})
        self._before_all = arrays(_at({Place(queue, "", -1): _BEGINNING for queue in queues}))
        self._everywhere = [
            Place(queue, job_type, int(priority))
            for priority in Priority
            for queue in queues
            for job_type in types
        ]
        self._since: dict[Place, Row] = {}
        self._last_taken: dict[Place, Row] = {}  # the places that were asked last, whatever is there now
        self._caps: Caps = {}
        self._pots = self._no_pots = arrays(_pots({}, types))  # of these caps
        self._turns = Turns()
        self._ring = RingPosition(ring_start)

    def plan(self, caps: Caps, *, limit: int, fresh: bool) -> dict[str, object]:
        """What the next claim asks for. `fresh`: what was remembered is dropped.

        With a few more than wanted: others may hold some of them. What exceeds a pot is looked at too.
        """
        if fresh:
            self._since = {}
        share, from_the_oldest = self._turns.next(limit)
        if caps != self._caps:
            self._caps, self._pots = dict(caps), arrays(_pots(caps, self._types))
        capped = not self._since or any(place.type in types for types in caps for place in self._since)
        return {
            "limit": limit,
            # At one place alone the oldest comes first in any case.
            "oldest": from_the_oldest and len(self._since) != 1,
            "share": share,
            "ring_at": self._ring.tenant_id,
            "unserved": self._ring.unserved,
            "hops": max(_FEWEST_HOPS, share, _RING_PROBES // max(1, len(self._since or self._everywhere))),
            "scan": not self._since,
            **(arrays(_at(self._since)) if self._since else self._before_all),
            **self._names,
            **(self._pots if capped else self._no_pots),
        }

    def places_only(self) -> dict[str, object]:
        """To look for places, and to take nothing."""
        nothing = dict.fromkeys(("limit", "share", "unserved", "hops"), 0)
        here = {"ring_at": self._ring.tenant_id, "oldest": False, "scan": True}
        return nothing | here | self._before_all | self._names | self._pots

    def fall_back(self) -> bool:
        """To where jobs were found before, when it takes long to look for places; whether there is any."""
        self._since = self._last_taken | self._since
        return bool(self._since)

    def since(self, place: Place) -> Row:
        return self._since.get(place, _BEGINNING)

    def record_places(self, live: Iterable[Sequence[object]]) -> None:
        self._since = {Place(*found[:3]): Row(*found[3:]) for found in live}  # type: ignore[arg-type]

    def record_result(
        self,
        live: Iterable[Sequence[object]] | None,
        in_order: Sequence[Claim],
        of_ring: Sequence[Claim] = (),
        ring: RingPosition | None = None,
    ) -> None:
        """After a claim: the places where something is due, if it looked for them, and what it took.

        In order. A job of the ring may stand behind others at its place, and says nothing about them.
        """
        if ring is not None:
            self._ring = ring
        if live is not None:
            self.record_places(live)
        if in_order:
            heads = _heads(in_order)
            self._since |= heads
            self._last_taken = dict(list((self._last_taken | heads).items())[-_REMEMBERED:])
        if in_order or of_ring:  # else nobody has had a turn
            self._turns.record(len(in_order) + len(of_ring))


def _pots(caps: Caps, types: Sequence[str]) -> dict[str, Sequence[object]]:
    """For each type the number, from 1, of the cap that counts it."""
    numbers = {name: number for number, names in enumerate(caps, start=1) for name in names}
    return {"pot": [numbers.get(name) for name in types], "pots": list(caps.values())}


def _at(places: Mapping[Place, Row]) -> dict[str, Sequence[object]]:
    return {
        "at_queues": [place.queue for place in places],
        "at_types": [place.type for place in places],
        "at_priorities": [place.priority for place in places],
        "since": [row.scheduled_at for row in places.values()],
        "since_ids": [row.job_id for row in places.values()],
    }


def _heads(claims: Iterable[Claim]) -> dict[Place, Row]:
    """The first of them at each place, and so the oldest: what was due there before it is gone."""
    firsts: dict[tuple[str, str, int], Claim] = {}
    for claim in claims:
        firsts.setdefault((claim.queue, claim.type, claim.priority), claim)
    return {Place(*at): Row(claim.scheduled_at, claim.job_id) for at, claim in firsts.items()}
