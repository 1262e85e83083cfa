"""Take jobs from the queue, and give back what was taken by a call whose answer never came."""

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from bpc_worker.ids import nonce
from bpc_worker.jobs.errors import JobError, Unavailable
from bpc_worker.jobs.model import Claim
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import PLAIN_TERMS, Caps, ClaimTerms, Ends, Look
from bpc_worker.observability import log
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.job_rows import told
from bpc_worker.postgres.queue.probes import Probes, RingPosition
from bpc_worker.postgres.queue.scans import LONG, Scans
from bpc_worker.postgres.sql_files import prepared, query

_log = log.get("claims")

_DOUBT_PAUSE = 1.0
_INLINE_BYTES = 32 * 1024  # a larger payload does not travel with its claim
_SCOUT_PAUSE = 0.1
_LEFT_ALONE = 60.0  # seconds, for a row that cannot be taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a claim wants."""

    limit: int
    fresh: bool
    caps: Caps
    ends: Ends
    terms: ClaimTerms


@dataclass(slots=True)
class _UnconfirmedClaim:
    """About a claim without an answer: a session that stood still may carry it out after we gave it up.

    Asked about at once, then for one lease after the server's first answer.
    """

    ask_again_at: float = 0.0
    ends_at: float = math.inf


class _Known(NamedTuple):
    """What an answer says beside its claims."""

    ended: int
    seen: int
    live: list[list[object]] | None
    ring_at: UUID | None
    unserved: int | None
    head: UUID | None  # the job that is first in the order, taken or not
    next_due: float | None


# An answer's first row is what is known, the others are claims: whose turn each had, and its own columns.
_TURN = len(_Known._fields)
_CLAIM = _TURN + 1
_NAMES = [field.name for field in fields(Claim)]
_PRIORITY, _SCHEDULED_AT, _JOB_ID = (
    _CLAIM + _NAMES.index(name) for name in ("priority", "scheduled_at", "job_id")
)
_NOT_OF_RING = 2  # from this turn on


def _in_answer(row: tuple[Any, ...]) -> tuple[int, int, datetime, int]:
    """Who had a turn comes first. Ids are compared as numbers: they do that slowly themselves."""
    return row[_TURN], row[_PRIORITY], row[_SCHEDULED_AT], row[_JOB_ID].int


class Claims:
    def __init__(self, link: Link, aside: Link, settings: QueueSettings) -> None:
        self._link = link
        self._aside = aside  # for what takes its time
        self._settings = settings
        self._probes = Probes(settings.queues, settings.types, ring_start=settings.ring_start)
        self._unconfirmed: dict[UUID, _UnconfirmedClaim] = {}
        self._passed_over: dict[UUID, float] = {}  # until when
        self._scans = Scans()
        self._scouting: asyncio.Task[None] | None = None

    async def take(self, asked: Asked, *, now: datetime | None) -> Look:
        if asked.terms.careful:
            return await self._take_one(asked, now=now)
        look, _ = await self._look(asked, now=now)
        return look

    async def _take_one(self, asked: Asked, *, now: datetime | None) -> Look:
        """The first job that is due. If it is refused, nobody here asks for that row again for a while."""
        _, head = await self._look(replace(asked, limit=0, ends=()), now=now)
        try:
            look, _ = await self._look(replace(asked, limit=1, ends=()), now=now)
        except JobError as error:
            if head is None or isinstance(error, Unavailable):
                raise
            self._passed_over[head] = time.monotonic() + _LEFT_ALONE
            _log.error(
                "job_passed_over", job_id=str(head), error_code=error.code, error_message=error.message
            )
            return Look(more=True, passed_over=1)
        return look

    async def _look(self, asked: Asked, *, now: datetime | None) -> tuple[Look, UUID | None]:
        is_slow = now is None and self._scans.are_slow  # a clock of somebody's own wants exact answers
        if asked.fresh and is_slow and self._probes.fall_back():
            return await self._look_while_slow(replace(asked, fresh=False), now=now)
        began_at = time.monotonic()
        look, head = await self._ask(asked, now=now)
        seconds = time.monotonic() - began_at
        if asked.fresh and (seconds > LONG or self._scans.long_ones):
            self._scans.took(seconds, claimed=len(look.claims))
        return look, head

    async def _look_while_slow(self, asked: Asked, *, now: datetime | None) -> tuple[Look, UUID | None]:
        """Where jobs were found before. Whether there are any elsewhere is known a little later."""
        if self._scouting is None and not self._scans.due_in:
            self._scouting = asyncio.create_task(self._find_places(now))
        look, head = await self._ask(asked, now=now)
        if look.claims:
            return look, head
        again_in = max(_SCOUT_PAUSE, self._scans.due_in)
        return replace(look, next_due_in=min(again_in, look.next_due_in or again_in)), head

    async def _find_places(self, now: datetime | None) -> None:
        """On a line of its own, so that no claim waits behind it."""
        began_at = time.monotonic()
        plain = Asked(limit=0, fresh=True, caps={}, ends=(), terms=PLAIN_TERMS)
        params = self._probes.places_only() | self._terms(plain) | {"now": now}
        try:
            rows = await self._aside.tuples(
                prepared("jobs/claim"), params, timeout=self._settings.call_timeout
            )
            self._probes.record_places(_Known(*rows[0][:_TURN]).live or ())
        except JobError as error:
            _log.warning("places_not_found", error_code=error.code, error_message=error.message)
        finally:
            self._scans.took(time.monotonic() - began_at)
            self._scouting = None

    async def _ask(self, asked: Asked, *, now: datetime | None) -> tuple[Look, UUID | None]:
        params = self._probes.plan(asked.caps, limit=asked.limit, fresh=asked.fresh)
        name = "jobs/claim_with_ends" if asked.ends else "jobs/claim"
        rows = await self.answered(name, params | self._terms(asked) | {"now": now})
        known = _Known(*rows[0][:_TURN])
        taken = sorted(rows[1:], key=_in_answer)
        claims = [Claim(*row[_CLAIM:]) for row in taken]
        round_ends = sum(row[_TURN] < _NOT_OF_RING for row in taken)
        ring = None
        if known.seen and known.ring_at is not None:
            ring = RingPosition(known.ring_at, known.unserved or 0)
        self._probes.record_result(known.live, claims[round_ends:], claims[:round_ends], ring)
        look = Look(
            claims=claims,
            more=known.seen > len(claims),
            next_due_in=known.next_due,
            ended=known.ended == len(asked.ends),
        )
        return look, known.head

    def _terms(self, asked: Asked) -> dict[str, object]:
        now = time.monotonic()
        if self._passed_over:
            self._passed_over = {job: until for job, until in self._passed_over.items() if until > now}
        return {
            "owner": self._settings.owner,
            "lease_seconds": self._settings.lease_seconds,
            "nonce": nonce(),
            "ahead": asked.terms.ahead,
            "claim_bytes": asked.terms.most_bytes,
            "inline_bytes": 0 if asked.terms.careful else _INLINE_BYTES,
            "passed_over": list(self._passed_over),
            "ends": told(asked.ends) if asked.ends else None,
        }

    async def answered(self, name: str, params: Mapping[str, object]) -> list[tuple[Any, ...]]:
        call = params["nonce"]
        assert isinstance(call, UUID)  # noqa: S101 - ours
        self._unconfirmed[call] = _UnconfirmedClaim()  # a cancelled call is an unanswered one too
        try:
            rows = await self._link.tuples(prepared(name), params, timeout=self._settings.call_timeout)
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
