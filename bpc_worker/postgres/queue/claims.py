"""Take jobs from the queue, and give back what was taken by a call whose answer never came."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from bpc_worker.ids import nonce
from bpc_worker.jobs.errors import JobError, Unavailable
from bpc_worker.jobs.model import Claim, Priority
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Caps, Ends, Look
from bpc_worker.postgres.arrays import arrays
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.job_rows import NO_ENDS, told
from bpc_worker.postgres.sql_files import prepared, query

Turn = Literal["ring", "oldest"]

_NOBODY = UUID(int=0)
_RING_EVERY = 4
_OLDEST_EVERY = 8
_RING_PROBES = 256  # a claim that goes round the tenants asks about this many places
_FEWEST_HOPS = 8
_WINDOW_MORE = 10
_DOUBT_PAUSE = 1.0


class Place(NamedTuple):
    """Where the index has the jobs of one kind, oldest first."""

    queue: str
    type: str
    priority: int


class Row(NamedTuple):
    """Where a job stands at its place; as PostgreSQL wrote it, or as psycopg read it."""

    scheduled_at: datetime | str
    job_id: UUID | str


_BEGINNING = Row("-infinity", _NOBODY)


class ClaimPlan(NamedTuple):
    """What the next claim asks for."""

    turn: Turn | None
    params: dict[str, object]


class Probes:
    """Remembers, between two polls, where something was due and how far that has been taken.

    A transaction held open elsewhere keeps the index entries of finished jobs alive, and every claim from
    the beginning would read them all again. What is remembered may be wrong soon (a late commit, a requeue),
    so it is dropped at every poll and every wake-up. Then the claim itself looks for places.
    """

    def __init__(self, queues: Sequence[str], types: Sequence[str]) -> None:
        self._types = tuple(types)
        self._names = arrays({"queues": queues, "types": types})
        self._before_all = arrays(_at({Place(queue, "", -1): _BEGINNING for queue in queues}))
        self._everywhere = [
            Place(queue, job_type, int(priority))
            for priority in Priority
            for queue in queues
            for job_type in types
        ]
        self._since: dict[Place, Row] = {}
        self._caps: Caps = {}
        self._pots = arrays(_pots({}, types))  # of these caps
        self._claims = 0
        self._ring_at = _NOBODY  # the last tenant that was so served

    def plan(self, caps: Caps, *, limit: int, fresh: bool) -> ClaimPlan:
        """The next claim. `fresh`: what was remembered is dropped.

        With a few more than wanted: others may hold some of them. What exceeds a pot is looked at too.
        """
        if fresh:
            self._since.clear()
        turn = self._next_turn()
        places = self._since or self._everywhere
        window = limit + _WINDOW_MORE
        surplus = sum(
            min(window, most) * sum(place.type in types for place in places) for types, most in caps.items()
        )
        if caps != self._caps:
            self._caps, self._pots = dict(caps), arrays(_pots(caps, self._types))
        params = {
            "limit": limit,
            "window": window,
            "reach": window + surplus,
            "turn": turn,
            "ring_after": self._ring_at,
            "hops": max(_FEWEST_HOPS, _RING_PROBES // max(1, len(places))),
            "scan": not self._since,
            **(arrays(_at(self._since)) if self._since else self._before_all),
            **self._names,
            **self._pots,
        }
        return ClaimPlan(turn, params)

    def _next_turn(self) -> Turn | None:
        """By the count n of our claims: every fourth goes round the tenants, every eighth to the oldest."""
        self._claims += 1
        if self._claims % _RING_EVERY == 0:
            return "ring"
        if len(self._since) == 1:
            return None  # the oldest comes first there in any case
        return "oldest" if self._claims % _OLDEST_EVERY == 1 else None

    def since(self, place: Place) -> Row:
        return self._since.get(place, _BEGINNING)

    def record_result(
        self,
        turn: Turn | None,
        live: Iterable[Sequence[object]] | None,
        claims: Sequence[Claim],
        ring_at: UUID | None,
    ) -> None:
        """After a claim: the places where something is due, if it looked for them, and what it took there.

        `ring_at`: the tenant that the ring came to; None where nobody had a job, and nobody was passed over.
        """
        if ring_at is not None:
            self._ring_at = ring_at
        if live is not None:
            self._since = {Place(*found[:3]): Row(*found[3:]) for found in live}  # type: ignore[arg-type]
        if turn != "ring":  # the ring's job may stand behind others at its place
            self._since |= _heads([claim for claim in claims if not claim.suspect])


def _pots(caps: Caps, types: Sequence[str]) -> dict[str, Sequence[object]]:
    """For each type the number, from 1, of the cap that counts it."""
    numbers = {name: number for number, names in enumerate(caps, start=1) for name in names}
    full = {name for names, most in caps.items() for name in names if most <= 0}
    return {
        "open_types": [name for name in types if name not in full],
        "pot": [numbers.get(name) for name in types],
        "pots": list(caps.values()),
    }


def _at(places: Mapping[Place, Row]) -> dict[str, Sequence[object]]:
    return {
        "at_queues": [place.queue for place in places],
        "at_types": [place.type for place in places],
        "at_priorities": [place.priority for place in places],
        "since": [row.scheduled_at for row in places.values()],
        "since_ids": [row.job_id for row in places.values()],
    }


def _heads(claims: Iterable[Claim]) -> dict[Place, Row]:
    """The oldest job claimed at each place: what was due there before it is gone."""
    heads: dict[Place, Row] = {}
    for claim in claims:
        place, row = Place(claim.queue, claim.type, claim.priority), Row(claim.scheduled_at, claim.job_id)
        if place not in heads or row < heads[place]:
            heads[place] = row
    return heads


@dataclass(slots=True)
class _UnconfirmedClaim:
    """About a claim without an answer: a session that stood still may carry it out after we gave it up.

    Asked about at once, then for one lease after the server's first answer.
    """

    ask_again_at: float = 0.0
    ends_at: float = math.inf


class _Known(NamedTuple):
    """What stands in front of every claim in an answer."""

    ended: int
    seen: int
    live: list[list[object]] | None
    ring_at: UUID | None
    next_due: float | None


_KNOWN = len(_Known._fields)


class Claims:
    def __init__(self, link: Link, settings: QueueSettings) -> None:
        self._link = link
        self._settings = settings
        self._probes = Probes(settings.queues, settings.types)
        self._unconfirmed: dict[UUID, _UnconfirmedClaim] = {}

    async def take(
        self, *, limit: int, idle: bool, fresh: bool, caps: Caps, ends: Ends, now: datetime | None
    ) -> Look:
        turn, params = self._probes.plan(caps, limit=limit, fresh=fresh)
        given = {"idle": idle, "now": now, "nonce": nonce(), "ends": told(ends) if ends else NO_ENDS}
        rows = await self._answered(params | self._terms | given)
        known = _Known(*rows[0][:_KNOWN])
        claims = [Claim(*row[_KNOWN:]) for row in rows if row[_KNOWN] is not None]
        self._probes.record_result(turn, known.live, claims, known.ring_at if known.seen else None)
        return Look(
            claims=claims,
            more=known.seen > len(claims),
            next_due_in=known.next_due,
            ended=known.ended == len(ends),
        )

    @property
    def _terms(self) -> dict[str, object]:
        return {"owner": self._settings.owner, "lease_seconds": self._settings.lease_seconds}

    async def _answered(self, params: Mapping[str, object]) -> list[tuple[Any, ...]]:
        call = params["nonce"]
        assert isinstance(call, UUID)  # noqa: S101 - ours
        self._unconfirmed[call] = _UnconfirmedClaim()  # a cancelled call is an unanswered one too
        try:
            rows = await self._link.tuples(
                prepared("jobs/claim"), params, timeout=self._settings.call_timeout
            )
        except JobError as error:
            if not isinstance(error, Unavailable):
                del self._unconfirmed[call]  # the server refused it: nothing was claimed
            raise
        del self._unconfirmed[call]
        return rows

    async def release_unconfirmed(self) -> None:
        for call, doubt in tuple(self._unconfirmed.items()):
            now = time.monotonic()
            if now < doubt.ask_again_at:
                continue
            params = {"owner": self._settings.owner, "nonce": call}
            await self._link.run(query("jobs/forget_claim"), params, timeout=self._settings.call_timeout)
            doubt.ask_again_at = now + _DOUBT_PAUSE
            doubt.ends_at = min(doubt.ends_at, now + self._settings.lease_seconds)
            if now >= doubt.ends_at:
                del self._unconfirmed[call]
