"""Take jobs from the queue, and give back what was taken by a call whose answer never came."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from bpc_worker.ids import nonce
from bpc_worker.jobs.errors import JobError, Unavailable
from bpc_worker.jobs.model import Claim
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Caps, Ends, Look
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.job_rows import NO_ENDS, told
from bpc_worker.postgres.queue.probes import Probes
from bpc_worker.postgres.sql_files import prepared, query

_DOUBT_PAUSE = 1.0


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
        """Behind a pooler without the ends: its session has no lock_timeout, and waits for a locked row."""
        if ends and not self._link.dsn.prepared_statements:
            look = await self.take(limit=limit, idle=idle, fresh=fresh, caps=caps, ends=(), now=now)
            return replace(look, ended=False)
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
