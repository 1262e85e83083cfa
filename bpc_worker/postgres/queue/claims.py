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
from bpc_worker.postgres.arrays import array
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.all_due import FEW, LONG, Tries, in_turn
from bpc_worker.postgres.queue.probes import Asked, Probes, Turn
from bpc_worker.postgres.sql_files import Prepared, prepared, query

_DOUBT_PAUSE = 1.0


@dataclass(slots=True)
class _Doubt:
    """About a claim without an answer: a session that stood still may carry it out after we gave it up.

    Asked about at once, then for one lease after the server's first answer.
    """

    ask_again_at: float = 0.0
    ends_at: float = math.inf


class _Known(NamedTuple):
    """What stands in front of the claims in an answer."""

    ended: int
    seen: int
    live: list[int]
    ring_at: UUID | None
    heads: list[int] | None
    next_due: float | None


class Claims:
    def __init__(self, link: Link, settings: QueueSettings) -> None:
        self._link = link
        self._settings = settings
        self._probes = Probes(settings.queues, settings.types)
        self._unanswered: dict[UUID, _Doubt] = {}
        self._tries = Tries()

    async def take(
        self, *, limit: int, idle: bool, fresh: bool, caps: Caps, ends: Ends, now: datetime | None
    ) -> Look:
        """Behind a pooler without the ends: its session has no lock_timeout, and waits for a locked row.

        Nor is all that is due tried there: nothing keeps such a session from reading the whole table for it.
        """
        if ends and not self._link.dsn.prepared_statements:
            look = await self.take(limit=limit, idle=idle, fresh=fresh, caps=caps, ends=(), now=now)
            return replace(look, ended=False)
        if fresh:
            self._probes.forget()
        turn = self._probes.next_turn()
        call = {"now": now, "nonce": nonce(), **self._terms, **(_ended(ends) if ends else {})}
        most = min([limit, *caps.values()])
        is_worth_a_try = fresh and not ends and most > 0 and self._link.dsn.prepared_statements
        if is_worth_a_try and self._tries.next():
            all_due = await self._take_all_due(turn, call, most=most, idle=idle)
            if all_due is not None:
                return all_due
        return await self._take_in_order(turn, call, limit=limit, idle=idle, caps=caps, ends=ends)

    async def _take_all_due(
        self, turn: Turn | None, call: dict[str, object], *, most: int, idle: bool
    ) -> Look | None:
        """None where much is queued, where more is due than fits, or a suspect: somebody has to be chosen."""
        statement = prepared("jobs/claim_all_due", *(["suspects"] if idle else []))
        began = time.monotonic()
        try:
            rows = await self._answered(statement, call | self._probes.names | {"few": FEW, "most": most})
        except BaseException:  # it may have taken too long: the next claim asks in order
            self._tries.tell(paid=False)
            raise
        seen, next_due = rows[0][:2]
        fitted = seen is not None and seen <= most
        self._tries.tell(paid=fitted and time.monotonic() - began < LONG)
        if not fitted:
            return None
        claims = in_turn([Claim(*row[2:]) for row in rows if row[2] is not None], turn, self._probes.ring_at)
        if turn == "ring" and claims:
            self._probes.ring_at = claims[0].tenant_id
        return Look(claims=claims, more=seen > len(claims), next_due_in=next_due)

    async def _take_in_order(
        self,
        turn: Turn | None,
        call: dict[str, object],
        *,
        limit: int,
        idle: bool,
        caps: Caps,
        ends: Ends,
    ) -> Look:
        asked = self._probes.asked(turn, caps)
        if asked.only_place is not None and turn != "oldest" and not idle:
            return await self._take_at_place(asked, call, limit=limit, ends=ends)
        call |= self._probes.params(asked, limit=limit) | {"limit": limit, "turn": turn}
        parts = [("turns", turn is not None), ("suspects", idle), ("ends", bool(ends))]
        statement = prepared("jobs/claim", *(part for part, is_needed in parts if is_needed))
        first, *rows = await self._answered(statement, call)
        known, claims = _Known(*first[:6]), [Claim(*row[6:]) for row in rows]
        if known.ring_at is not None:
            self._probes.ring_at = known.ring_at
        self._probes.learn(asked, known.live, claims, heads=known.heads)
        return Look(
            claims=claims,
            more=known.seen > len(claims),
            next_due_in=known.next_due,
            ended=known.ended == len(ends),
        )

    async def _take_at_place(self, asked: Asked, call: dict[str, object], *, limit: int, ends: Ends) -> Look:
        call |= self._probes.params_of_only(asked, limit=limit)
        parts = [("ring", asked.turn is not None), ("ends", bool(ends))]
        statement = prepared("jobs/claim_at_place", *(part for part, is_needed in parts if is_needed))
        rows = await self._answered(statement, call)
        if (ring_at := rows[0][1]) is not None:
            self._probes.ring_at = ring_at
        claims = [Claim(*row[2:]) for row in rows if row[2] is not None]
        if claims:
            self._probes.learn(asked, [1], claims)
        return Look(claims=claims, more=len(claims) == call["limit"], ended=rows[0][0] == len(ends))

    @property
    def _terms(self) -> dict[str, object]:
        return {"owner": self._settings.owner, "lease_seconds": self._settings.lease_seconds}

    async def _answered(self, statement: Prepared, params: Mapping[str, object]) -> list[tuple[Any, ...]]:
        call = params["nonce"]
        assert isinstance(call, UUID)  # noqa: S101 - ours
        self._unanswered[call] = _Doubt()  # a cancelled call is an unanswered one too
        try:
            rows = await self._link.tuples(statement, params, timeout=self._settings.call_timeout)
        except JobError as error:
            if not isinstance(error, Unavailable):
                del self._unanswered[call]  # the server refused it: nothing was claimed
            raise
        del self._unanswered[call]
        return rows

    async def undo_unheard(self) -> None:
        for call, doubt in tuple(self._unanswered.items()):
            now = time.monotonic()
            if now < doubt.ask_again_at:
                continue
            params = {"owner": self._settings.owner, "nonce": call}
            await self._link.run(query("jobs/forget_claim"), params, timeout=self._settings.call_timeout)
            doubt.ask_again_at = now + _DOUBT_PAUSE
            doubt.ends_at = min(doubt.ends_at, now + self._settings.lease_seconds)
            if now >= doubt.ends_at:
                del self._unanswered[call]


def _ended(ends: Ends) -> dict[str, object]:
    return {
        "ended_ids": array(claim.job_id for claim, _ in ends),
        "ended_tokens": array(claim.lease_token for claim, _ in ends),
        "results": array(settlement.result for _, settlement in ends),
        "spec_hashes": array(settlement.spec_hash for _, settlement in ends),
    }
