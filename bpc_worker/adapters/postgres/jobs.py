"""The queue in PostgreSQL: one method per file in sql/queries/jobs."""

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import msgspec
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from bpc_worker.adapters.ids import nonce
from bpc_worker.adapters.postgres.bulk import Bulk
from bpc_worker.adapters.postgres.capacity import Capacity
from bpc_worker.adapters.postgres.job_rows import (
    QueueSettings,
    as_uuid,
    enqueue_params,
    enqueued,
    fate,
    settle_group_params,
    settle_params,
    settled_under,
)
from bpc_worker.adapters.postgres.link import Dsn, Link
from bpc_worker.adapters.postgres.probes import Probes
from bpc_worker.adapters.postgres.samples import Samples
from bpc_worker.adapters.sql_files import Prepared, prepared, query
from bpc_worker.jobs.errors import Retryable, Unavailable
from bpc_worker.jobs.model import Claim, Fate, JobId, LeaseToken, NewJob, Status, TenantId
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.ports import Caps, Enqueued, Heartbeat, Look, Pause, PauseKind, Reaped, Renewal

REAP_PAGE = 100
_DOUBT_PAUSE = 1.0
_SETTLE_LOCK_SECONDS = 0.1


@dataclass(slots=True)
class _Doubt:
    """About a claim without an answer: a session that stood still may carry it out after we gave it up.

    Asked about at once, then for one lease after the server's first answer.
    """

    ask_again_at: float = 0.0
    ends_at: float = math.inf


@dataclass(frozen=True, slots=True)
class _Known:
    """The first row of a claim's answer."""

    seen: int
    live: list[int]
    ring_at: UUID | None
    heads: list[int] | None
    next_due: float | None


def _again() -> AsyncRetrying:
    """For what can be repeated without harm: the ids are made already."""
    return AsyncRetrying(
        retry=retry_if_exception_type(Retryable),
        wait=wait_random_exponential(multiplier=0.05, max=1.0),
        stop=stop_after_attempt(3),
        reraise=True,
    )


class PostgresJobs:
    """JobStore over four connections, so that no duty waits behind another."""

    def __init__(self, dsn: Dsn, settings: QueueSettings, *, now: datetime | None = None) -> None:
        self._settings = settings
        self.now = now  # None: the database's clock; tests move their own
        self._claims, self._renewals, self._reaps = (Link(dsn) for _ in range(3))
        # A row that somebody has locked is tried again later, instead of holding up the settles behind it.
        self._settles = Link(replace(dsn, lock_timeout=min(dsn.lock_timeout, _SETTLE_LOCK_SECONDS)))
        self._unanswered: dict[UUID, _Doubt] = {}
        self._probes = Probes(settings.queues, settings.types)
        most, limit = settings.max_queued, settings.call_timeout
        self._capacity = Capacity(self._claims, most=most, call_timeout=limit)
        self.samples = Samples(self._reaps, call_timeout=limit, max_queued=most, now=now)
        self._bulks, self._one_bulk = Link(dsn), asyncio.Lock()  # connected by the first bulk

    async def enqueue(self, tenant_id: TenantId, job: NewJob, *, parent: JobId | None = None) -> Enqueued:
        params = enqueue_params(self._settings, tenant_id, job, parent) | {"now": self.now}
        async for attempt in _again():
            with attempt:
                if parent is None and not await self._is_known(params):  # follow-ups are always taken
                    await self._capacity.check(tenant_id, 1)
                done = enqueued(await self._run(self._claims, "enqueue", params))
                self._capacity.added(tenant_id, int(done.added))
                return done
        raise AssertionError("unreachable: tenacity returns or raises")

    async def _is_known(self, params: Mapping[str, object]) -> bool:
        """A key that is there already adds nothing, however full the queue is."""
        if not self._settings.max_queued or params["idempotency_key"] is None:
            return False
        return bool(await self._run(self._claims, "find_key", params))

    async def enqueue_many(self, tenant_id: TenantId, jobs: Sequence[NewJob]) -> list[Enqueued]:
        if not jobs:
            return []
        bulk = Bulk(self._settings, tenant_id, jobs)
        async for attempt in _again():
            with attempt:
                async with self._one_bulk:
                    if self._settings.max_queued and (new := await bulk.new(self._bulks)):
                        await self._capacity.check(tenant_id, new)
                    done = await bulk.send(self._bulks, now=self.now)
                    self._capacity.added(tenant_id, sum(each.added for each in done))
                    return done
        raise AssertionError("unreachable: tenacity returns or raises")

    async def claim(self, *, limit: int, idle: bool, fresh: bool = True, caps: Caps | None = None) -> Look:
        if fresh:
            self._probes.forget()
        turn, call = self._probes.next_turn(), nonce()
        asked = self._probes.asked(turn, caps or {})
        params = self._probes.params(asked, limit=limit) | {
            "now": self.now,
            "limit": limit,
            "turn": turn,
            "owner": self._settings.owner,
            "nonce": call,
            "lease_seconds": self._settings.lease_seconds,
        }
        parts = [*(["turns"] if turn is not None else []), *(["suspects"] if idle else [])]
        known, claims = await self._claimed(call, prepared("jobs/claim", *parts), params)
        if known.ring_at is not None:
            self._probes.ring_went_to(known.ring_at)
        if known.heads is not None:
            self._probes.learn_heads(asked, known.heads)
        self._probes.learn(asked, known.live, claims)
        return Look(claims=claims, more=known.seen > len(claims), next_due_in=known.next_due)

    async def _claimed(
        self, call: UUID, statement: Prepared, params: Mapping[str, object]
    ) -> tuple["_Known", list[Claim]]:
        self._unanswered[call] = _Doubt()  # a cancelled call is an unanswered one too
        try:
            first, *rows = await self._claims.tuples(statement, params, timeout=self._settings.call_timeout)
        except Retryable as error:
            if not isinstance(error, Unavailable):
                del self._unanswered[call]  # the server refused it: nothing was claimed
            raise
        del self._unanswered[call]
        return _Known(*first[:5]), [Claim(*row[5:]) for row in rows]

    async def undo_unheard_claims(self) -> None:
        for call, doubt in tuple(self._unanswered.items()):
            now = time.monotonic()
            if now < doubt.ask_again_at:
                continue
            await self._run(self._claims, "forget_claim", {"owner": self._settings.owner, "nonce": call})
            doubt.ask_again_at = now + _DOUBT_PAUSE
            doubt.ends_at = min(doubt.ends_at, now + self._settings.lease_seconds)
            if now >= doubt.ends_at:
                del self._unanswered[call]

    async def suspect_waiting(self) -> bool:
        params = {
            "now": self.now,
            "types": list(self._settings.types),
            "queues": list(self._settings.queues),
            "patience_seconds": self._settings.lease_seconds,
        }
        [row] = await self._run(self._claims, "suspect_waiting", params)
        return bool(row["waiting"])

    async def renew(self, beats: Sequence[Heartbeat]) -> Renewal:
        params = {
            "now": self.now,
            "job_ids": [beat.job_id for beat in beats],
            "lease_tokens": [beat.lease_token for beat in beats],
            "stages": [beat.stage for beat in beats],
            "progress": [beat.progress for beat in beats],
            "lease_seconds": self._settings.lease_seconds,
        }
        rows = await self._run(self._renewals, "renew", params)
        renewed = frozenset(LeaseToken(as_uuid(row["lease_token"])) for row in rows)
        cancel = frozenset(LeaseToken(as_uuid(row["lease_token"])) for row in rows if row["cancel_requested"])
        missing = [beat for beat in beats if beat.lease_token not in renewed]
        return Renewal(renewed, cancel, await self._fates(missing) if missing else {})

    async def _fates(self, beats: Sequence[Heartbeat]) -> dict[LeaseToken, Fate]:
        params = {"now": self.now, "job_ids": [beat.job_id for beat in beats]}
        rows = {row["job_id"]: row for row in await self._run(self._renewals, "inspect", params)}
        return {beat.lease_token: fate(rows.get(beat.job_id), beat.lease_token) for beat in beats}

    async def settle(self, claim: Claim, settlement: Settlement) -> Status | None:
        params = settle_params(claim, settlement, now=self.now)
        rows = await self._run(self._settles, "settle", params)
        if rows:
            return Status(str(rows[0]["status"]))
        # Not ours any more, or settled by an earlier call of ours whose answer was lost.
        return settled_under(claim, await self._run(self._settles, "resolve", {"job_id": claim.job_id}))

    async def settle_group(self, ends: Sequence[tuple[Claim, Settlement]]) -> dict[LeaseToken, Status]:
        if not ends:
            return {}
        params = settle_group_params(ends, now=self.now)
        rows = await self._settles.tuples(
            prepared("jobs/settle_group"), params, timeout=self._settings.call_timeout
        )
        return {token: Status(status) for token, status in rows}

    async def reap(self) -> list[Reaped]:
        [pulse] = await self._reaps.run(query("schema/pulse"), timeout=self._settings.call_timeout)
        params = {
            "now": self.now,
            "asked_at": self.now or pulse["now"],
            "within_seconds": self._settings.call_timeout,
            "page": REAP_PAGE,
            "backoff_base": self._settings.backoff.base,
            "backoff_max": self._settings.backoff.cap,
        }
        rows = await self._run(self._reaps, "reap", params)
        return [msgspec.convert(row, Reaped) for row in rows]

    async def pause(self, pause: Pause) -> None:
        params = {"kind": pause.kind, "name": pause.name, "reason": pause.reason}
        await self._run(self._reaps, "pause", params | {"expires_at": pause.expires_at})

    async def resume(self, kind: PauseKind, name: str) -> bool:
        [row] = await self._run(self._reaps, "resume", {"kind": kind, "name": name})
        return bool(row["resumed"])

    async def ring(self) -> None:
        await self._run(self._reaps, "ring", {})

    async def pulse(self) -> bool:
        [row] = await self._reaps.run(query("schema/pulse"), timeout=self._settings.call_timeout)
        return bool(row["writable"])

    def close(self) -> None:
        for link in (self._claims, self._renewals, self._settles, self._reaps, self._bulks):
            link.drop()

    async def _run(self, link: Link, name: str, params: Mapping[str, object]) -> list[dict[str, object]]:
        return await link.run(query(f"jobs/{name}"), params, timeout=self._settings.call_timeout)
