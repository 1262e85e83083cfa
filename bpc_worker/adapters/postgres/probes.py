"""What to ask of the queue: which places to probe, from when on, and whose turn it is. No IO."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from bpc_worker.jobs.model import Claim, Priority

Turn = Literal["ring", "oldest"]

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_NOBODY = UUID(int=0)
_RING_EVERY = 4
_OLDEST_EVERY = 8
_RING_PROBES = 256  # a claim that goes round the tenants asks about this many places
_FEWEST_HOPS = 8


@dataclass(frozen=True, slots=True)
class Probe:
    """One place of the index: nothing there is due before `since`, as far as we know."""

    queue: str
    type: str
    priority: int
    since: datetime = _BEGINNING


class Probes:
    """Remembers, between two polls, where there was nothing and how far the rest has been emptied.

    A transaction held open elsewhere keeps the index entries of finished jobs alive, and every claim from
    the beginning would read them all again. What is remembered may be wrong soon (a late commit, a requeue),
    so it is dropped at every poll and every wake-up.
    """

    def __init__(self, queues: Iterable[str], types: Iterable[str]) -> None:
        types = tuple(types)
        self._all = tuple(
            Probe(queue, job_type, int(priority))
            for priority in Priority
            for queue in queues
            for job_type in types
        )
        self._now = self._all
        self._claims = 0
        self._ring_at = _NOBODY

    def forget(self) -> None:
        self._now = self._all

    def next_turn(self) -> Turn | None:
        """By the count n of our claims: every fourth goes round the tenants, every eighth to the oldest."""
        self._claims += 1
        if self._claims % _RING_EVERY == 0:
            return "ring"
        return "oldest" if self._claims % _OLDEST_EVERY == 1 else None

    def params(self, leaving_out: Collection[str] = ()) -> dict[str, object]:
        """For claim.sql."""
        asked = [probe for probe in self._now if probe.type not in leaving_out] if leaving_out else self._now
        return {
            "queues": [probe.queue for probe in asked],
            "types": [probe.type for probe in asked],
            "priorities": [probe.priority for probe in asked],
            "since": [probe.since for probe in asked],
            "ring_after": self._ring_at,
            "hops": max(_FEWEST_HOPS, _RING_PROBES // max(1, len(asked))),
        }

    def learn(self, live: Collection[int], claims: Iterable[Claim], *, turn: Turn | None) -> None:
        """After a claim that asked for all: at which places, counted from 1, something was due."""
        if not live:
            return
        heads = (
            {} if turn == "ring" else _heads(claims)
        )  # the ring's job may stand behind others at its place
        # The levels above the last one that was needed have been looked through; in that one, and below,
        # something may be due that a full claim did not get to see.
        last = max(self._now[place - 1].priority for place in live)
        self._now = tuple(
            replace(probe, since=heads.get((probe.queue, probe.type, probe.priority), probe.since))
            for place, probe in enumerate(self._now, start=1)
            if place in live or probe.priority >= last
        )

    def ring_went_to(self, tenant_id: UUID) -> None:
        self._ring_at = tenant_id


def _heads(claims: Iterable[Claim]) -> dict[tuple[str, str, int], datetime]:
    """The oldest job claimed at each place: what was due there before it is gone."""
    heads: dict[tuple[str, str, int], datetime] = {}
    for claim in claims:
        place = (claim.queue, claim.type, claim.priority)
        heads[place] = min(heads.get(place, claim.scheduled_at), claim.scheduled_at)
    return heads
