"""The queue in PostgreSQL: one method per file in sql/queries/jobs."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from bpc_worker.ids import uuid7
from bpc_worker.jobs.errors import Retryable
from bpc_worker.jobs.model import MAX_SNOOZES, Claim, Fate, JobId, LeaseToken, NewJob, Status, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings, enqueue_params
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.jobs.store import (
    PLAIN_TERMS,
    Caps,
    ClaimTerms,
    Ends,
    Enqueued,
    Heartbeat,
    Look,
    Pause,
    PauseKind,
    Reaped,
    Renewal,
)
from bpc_worker.observability import log
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.gate import Allowance, Rank
from bpc_worker.postgres.queue.bulk import Bulk
from bpc_worker.postgres.queue.capacity import Capacity
from bpc_worker.postgres.queue.claims import Asked, Claims
from bpc_worker.postgres.queue.job_rows import (
    enqueued,
    fate,
    settle_params,
    settled_under,
)
from bpc_worker.postgres.queue.lease_bound import LeaseBound
from bpc_worker.postgres.queue.samples import Samples
from bpc_worker.postgres.queue.server_clock import ServerClock
from bpc_worker.postgres.queue.suspects import Suspects
from bpc_worker.postgres.sql_files import prepared, query
from bpc_worker.rows import as_uuid
from bpc_worker.waiting.retries import Retries

_log = log.get("reaper")
REAP_PAGE = 100
_SETTLE_LOCK_SECONDS = 0.1
_UPKEEP_SHARE = 0.9  # of our patience: the server gives up first, and its answer says so


# For what can be repeated without harm: the ids are made already.
_REPEATABLE = Retries(
    when=lambda error: isinstance(error, Retryable), first_pause=0.05, longest_pause=1.0, tries=3
)


def _tokens(rows: Iterable[Mapping[str, object]]) -> frozenset[LeaseToken]:
    return frozenset(LeaseToken(as_uuid(row["lease_token"])) for row in rows)


def _held(claims: Sequence[Claim]) -> dict[str, object]:
    return {
        "job_ids": [claim.job_id for claim in claims],
        "lease_tokens": [claim.lease_token for claim in claims],
    }


class PostgresJobs:
    """JobStore over a connection for each duty, made when first needed, so that none waits behind another."""

    def __init__(self, dsn: Dsn, settings: QueueSettings, *, now: datetime | None = None) -> None:
        self._settings = settings
        self.now = now  # None: the database's clock; tests move their own
        brief = dsn.for_answers_within(settings.call_timeout)
        self._renewals, self._bulks = Link(brief, Allowance(rank=Rank.LEASES)), Link(dsn)
        self.reaps, self._enqueues = Link(brief), Link(brief)
        # A row that somebody has locked is tried again later, instead of holding up the settles behind it.
        brisk = replace(brief, lock_timeout=min(dsn.lock_timeout, _SETTLE_LOCK_SECONDS))
        self._looks, self._settles = (
            Link(brisk, Allowance(rank=Rank.CLAIMS)),
            Link(brisk, Allowance(rank=Rank.LEASES)),
        )
        self.upkeep = Link(brief)  # for what is done for the queue as a whole: no job waits for it
        self.claims = Claims(self._looks, self.upkeep, settings)
        self._suspects = Suspects(self.upkeep, self.claims, settings)
        most, limit = settings.max_queued, settings.call_timeout
        self._capacity = Capacity(self._enqueues, most=most, call_timeout=limit)
        self.samples = Samples(
            self.upkeep, call_timeout=limit, lease_seconds=settings.lease_seconds, max_queued=most, now=now
        )
        self._leases = LeaseBound(settings.lease_seconds)
        self._one_bulk = asyncio.Lock()
        self._server_clock = ServerClock(settings.lease_seconds)

    async def enqueue(self, tenant_id: TenantId, job: NewJob, *, parent: JobId | None = None) -> Enqueued:
        params = enqueue_params(self._settings, tenant_id, job, parent, job_id=uuid7()) | {"now": self.now}
        try:
            return await self._enqueue(tenant_id, params, parent)
        except Retryable:  # only now: what goes well at once, as nearly all does, pays for no further tries
            return await _REPEATABLE.run(self._enqueue, tenant_id, params, parent)

    async def _enqueue(
        self, tenant_id: TenantId, params: Mapping[str, object], parent: JobId | None
    ) -> Enqueued:
        if parent is None and self._settings.max_queued and not await self._is_known(params):
            await self._capacity.check(tenant_id, 1)  # follow-ups are always taken
        statement, limit = prepared("jobs/enqueue"), self._settings.call_timeout
        rows = await self._enqueues.tuples(statement, params, timeout=limit)
        done = enqueued([dict(zip(("job_id", "added", "same"), row, strict=True)) for row in rows])
        self._capacity.added(tenant_id, int(done.added))
        return done

    async def _is_known(self, params: Mapping[str, object]) -> bool:
        """A key that is there already adds nothing, however full the queue is."""
        if params["idempotency_key"] is None:
            return False
        return bool(await self._run(self._enqueues, "find_key", params))

    async def enqueue_many(self, tenant_id: TenantId, jobs: Sequence[NewJob]) -> list[Enqueued]:
        if not jobs:
            return []
        return await _REPEATABLE.run(self._send, tenant_id, Bulk(self._settings, tenant_id, jobs))

    async def _send(self, tenant_id: TenantId, bulk: Bulk) -> list[Enqueued]:
        async with self._one_bulk:
            if self._settings.max_queued and (new := await bulk.new(self._bulks)):
                await self._capacity.check(tenant_id, new)
            done = await bulk.send(self._bulks, now=self.now)
            self._capacity.added(tenant_id, sum(each.added for each in done))
            return done

    def claim(
        self,
        *,
        limit: int,
        fresh: bool = True,
        caps: Caps | None = None,
        ends: Ends = (),
        terms: ClaimTerms = PLAIN_TERMS,
    ) -> Coroutine[Any, Any, Look]:
        asked = Asked(limit=limit, fresh=fresh, caps=caps or {}, ends=ends, terms=terms)
        return self.claims.take(asked, now=self.now)

    async def release_unconfirmed_claims(self) -> None:
        await self.claims.release_unconfirmed()

    async def watch_suspects(self, watcher: str) -> bool:
        return await self._suspects.watch(watcher, now=self.now)

    async def keep_suspects(self, watcher: str, *, give_up: bool = False) -> bool:
        return await self._suspects.keep(watcher, give_up=give_up, now=self.now)

    async def claim_suspect(self, watcher: str, *, caps: Caps | None = None, careful: bool = False) -> Look:
        return await self._suspects.claim(watcher, caps=caps or {}, careful=careful, now=self.now)

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
        renewed = _tokens(rows)
        cancel = _tokens(row for row in rows if row["cancel_requested"])
        missing = [beat for beat in beats if beat.lease_token not in renewed]
        return Renewal(renewed, cancel, await self._fates(missing) if missing else {})

    async def _fates(self, beats: Sequence[Heartbeat]) -> dict[LeaseToken, Fate]:
        params = {"now": self.now, "job_ids": [beat.job_id for beat in beats]}
        rows = {row["job_id"]: row for row in await self._run(self._renewals, "inspect", params)}
        return {beat.lease_token: fate(rows.get(beat.job_id), beat.lease_token) for beat in beats}

    async def begin(
        self, claims: Sequence[Claim], start: Callable[[frozenset[LeaseToken]], None] = lambda _: None
    ) -> frozenset[LeaseToken]:
        rows = await self._renewals.committing(
            query("jobs/begin"),
            _held(claims),
            lambda rows: start(_tokens(rows)),
            timeout=self._settings.call_timeout,
        )
        return _tokens(rows)

    async def cancel_requested(self, claims: Sequence[Claim]) -> frozenset[LeaseToken]:
        return _tokens(await self._run(self._renewals, "cancel_requested", _held(claims)))

    async def settle(self, claim: Claim, settlement: Settlement) -> Status | None:
        params = settle_params([(claim, settlement)], now=self.now)
        rows = await self._run(self._settles, "settle", params)
        if rows:
            return Status(str(rows[0]["status"]))
        # Not ours any more, or settled by an earlier call of ours whose answer was lost.
        return settled_under(claim, await self._run(self._settles, "resolve", {"job_id": claim.job_id}))

    async def settle_group(self, ends: Ends) -> dict[LeaseToken, Status]:
        if not ends:
            return {}
        params = settle_params(ends, now=self.now)
        rows = await self._settles.tuples(
            prepared("jobs/settle_group"), params, timeout=self._settings.call_timeout
        )
        return {token: Status(status) for token, status in rows}

    async def reap(self, *, ended_for: float = 0.0) -> list[Reaped]:
        asked_at = await self._time()
        spared = ended_for if self.now else ended_for + self._server_clock.jumped(asked_at)
        since = (
            None if spared else self._leases.since(asked_at)
        )  # an outage may have kept others from looking
        page = await self._reap(asked_at, spared, since=since)
        if len(page) < REAP_PAGE and not spared:  # else some were seen, and left
            self._leases.saw_the_end(asked_at)
        return page or await self._reap_whatever_is_left(spared)

    async def _reap_whatever_is_left(self, spared: float) -> list[Reaped]:
        asked_at, began = await self._time(), time.monotonic()
        if not self._leases.all_is_due(asked_at):
            return []
        try:
            page = await self._reap(asked_at, spared, since=None)
        except Retryable as error:  # too much to pass over; what has ended lately was looked for a moment ago
            _log.warning("reap_of_all_failed", error_code=error.code, error_message=error.message)
            page = []
        if len(page) < REAP_PAGE:
            self._leases.looked_at_all(asked_at, seconds=time.monotonic() - began)
        return page

    async def _time(self) -> datetime:
        """The server's."""
        [pulse] = await self.reaps.run(query("schema/pulse"), timeout=self._settings.call_timeout)
        return self.now or msgspec.convert(pulse["now"], datetime)

    async def _reap(self, asked_at: datetime, spared: float, *, since: datetime | None) -> list[Reaped]:
        params = {
            "now": self.now,
            "asked_at": asked_at,
            "since": since,
            "within_seconds": self._settings.call_timeout,
            "ended_for": spared,
            "page": REAP_PAGE,
            "max_snoozes": MAX_SNOOZES,
            "backoff_base": self._settings.backoff.base,
            "backoff_max": self._settings.backoff.cap,
        }
        rows = await self._run(self.reaps, "reap", params)
        return [msgspec.convert(row, Reaped) for row in rows]

    async def pause(self, pause: Pause) -> None:
        params = {"kind": pause.kind, "name": pause.name, "reason": pause.reason}
        await self._run(self.reaps, "pause", params | {"expires_at": pause.expires_at})

    async def resume(self, kind: PauseKind, name: str) -> bool:
        [row] = await self._run(self.reaps, "resume", {"kind": kind, "name": name})
        return bool(row["resumed"])

    async def ring(self) -> None:
        await self._run(self.reaps, "ring", {})

    async def pulse(self) -> bool:
        [row] = await self.reaps.run(query("schema/pulse"), timeout=self._settings.call_timeout)
        return bool(row["writable"])

    def close(self) -> None:
        own = (self._looks, self._renewals, self._settles, self._enqueues, self._bulks)
        for link in (*own, self.reaps, self.upkeep):
            link.drop()

    async def _run(self, link: Link, name: str, params: Mapping[str, object]) -> list[dict[str, object]]:
        return await link.run(query(f"jobs/{name}"), params, timeout=self._settings.call_timeout)
