"""The queue in PostgreSQL: one method per file in sql/queries/jobs."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import msgspec
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from bpc_worker.adapters.ids import nonce, uuid7
from bpc_worker.adapters.postgres.link import Dsn, Link
from bpc_worker.adapters.sql_files import query
from bpc_worker.core.spec_hash import spec_hash
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Code, Permanent, Retryable, RunAgain, Unavailable
from bpc_worker.jobs.model import (
    Claim,
    ErrorInfo,
    Fate,
    JobId,
    LeaseToken,
    NewJob,
    Priority,
    Status,
    TenantId,
)
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.ports import Enqueued, Heartbeat, Reaped, Renewal

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeDefaults:
    """What a job of one type gets when its producer does not say."""

    priority: Priority = Priority.NORMAL
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    owner: str
    types: tuple[str, ...] = ()
    queues: tuple[str, ...] = ("default",)
    lease_seconds: float = 60.0
    call_timeout: float = 5.0
    backoff: Backoff = field(default_factory=Backoff)
    max_attempts_default: int = 5
    type_defaults: Mapping[str, TypeDefaults] = field(default_factory=dict)


class PostgresJobs:
    """JobStore over four connections, so that no duty waits behind another."""

    def __init__(self, dsn: Dsn, settings: QueueSettings, *, now: datetime | None = None) -> None:
        self._settings = settings
        self.now = now  # None: the database's clock; tests move their own
        self._claims, self._renewals, self._reaps = (Link(dsn) for _ in range(3))
        # A row that somebody has locked is tried again later, instead of holding up the settles behind it.
        self._settles = Link(replace(dsn, lock_timeout=min(dsn.lock_timeout, _SETTLE_LOCK_SECONDS)))
        self._unanswered: dict[UUID, _Doubt] = {}

    async def enqueue(self, tenant_id: TenantId, job: NewJob, *, parent: JobId | None = None) -> Enqueued:
        params = enqueue_params(self._settings, tenant_id, job, parent) | {"now": self.now}
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(Retryable),  # harmless: the id is made already
            wait=wait_random_exponential(multiplier=0.05, max=1.0),
            stop=stop_after_attempt(3),
            reraise=True,
        ):
            with attempt:
                return enqueued(await self._run(self._claims, "enqueue", params))
        raise AssertionError("unreachable: tenacity returns or raises")

    async def claim(self, *, limit: int, idle: bool) -> list[Claim]:
        call = nonce()
        params = self._scope() | {
            "limit": limit,
            "idle": idle,
            "owner": self._settings.owner,
            "nonce": call,
            "lease_seconds": self._settings.lease_seconds,
        }
        self._unanswered[call] = _Doubt()  # a cancelled call is an unanswered one too
        try:
            rows = await self._run(self._claims, "claim", params)
        except Retryable as error:
            if not isinstance(error, Unavailable):
                del self._unanswered[call]  # the server refused it: nothing was claimed
            raise
        del self._unanswered[call]
        return [_claim(row, self._settings.owner) for row in rows]

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
        params = self._scope() | {"patience_seconds": self._settings.lease_seconds}
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
        return {beat.lease_token: _fate(rows.get(beat.job_id), beat.lease_token) for beat in beats}

    async def settle(self, claim: Claim, settlement: Settlement) -> Status | None:
        params = settle_params(claim, settlement, now=self.now)
        rows = await self._run(self._settles, "settle", params)
        if rows:
            return Status(str(rows[0]["status"]))
        # Not ours any more, or settled by an earlier call of ours whose answer was lost.
        return settled_under(claim, await self._run(self._settles, "resolve", {"job_id": claim.job_id}))

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

    async def pulse(self) -> bool:
        [row] = await self._reaps.run(query("schema/pulse"), timeout=self._settings.call_timeout)
        return bool(row["writable"])

    def close(self) -> None:
        for link in (self._claims, self._renewals, self._settles, self._reaps):
            link.drop()

    def _scope(self) -> dict[str, object]:
        return {
            "now": self.now,
            "types": list(self._settings.types),
            "queues": list(self._settings.queues),
        }

    async def _run(self, link: Link, name: str, params: Mapping[str, object]) -> list[dict[str, object]]:
        return await link.run(query(f"jobs/{name}"), params, timeout=self._settings.call_timeout)


def enqueue_params(
    settings: QueueSettings, tenant_id: TenantId, job: NewJob, parent: JobId | None
) -> dict[str, object]:
    defaults = settings.type_defaults.get(job.type, TypeDefaults())
    priority = defaults.priority if job.priority is None else job.priority
    return {
        "job_id": uuid7(),
        "tenant_id": tenant_id,
        "type": job.type,
        "queue": job.queue or "default",
        "priority": int(priority),
        "payload": msgspec.json.encode(job.payload).decode(),
        "max_attempts": job.max_attempts or defaults.max_attempts or settings.max_attempts_default,
        "scheduled_at": job.scheduled_at,
        "delay_seconds": job.delay_seconds,
        "expected_duration_ms": job.expected_duration_ms,
        "idempotency_key": job.idempotency_key,
        "spec_hash": spec_hash(job.type, job.payload),
        "parent_job_id": parent,
        "correlation_id": job.correlation_id,
        "traceparent": job.traceparent,
    }


def enqueued(rows: Sequence[Mapping[str, object]]) -> Enqueued:
    if not rows:  # the other job with this key is being inserted this very moment
        raise RunAgain("40001", "another enqueue with the same key is under way")
    row = rows[0]
    if not row["same"]:
        raise Permanent(
            Code.IDEMPOTENCY_CONFLICT,
            f"the idempotency key is taken by job {row['job_id']} with another payload",
        )
    return Enqueued(JobId(as_uuid(row["job_id"])), bool(row["added"]))


def settle_params(claim: Claim, settlement: Settlement, *, now: datetime | None) -> dict[str, object]:
    error = settlement.error
    return {
        "now": now,
        "job_id": claim.job_id,
        "lease_token": claim.lease_token,
        "owner": claim.lease_owner,
        "status": settlement.status.value,
        "refund": settlement.refund,
        "snoozes": settlement.snoozes,
        "delay_seconds": settlement.delay_seconds,
        "error": None if error is None else _error_json(error),
        "fail_code": None if error is None else error.code,
        "fail_reason": None if error is None else error.message,
        "result": settlement.result,
        "spec_hash": settlement.spec_hash,
        "event": settlement.event,
    }


def settled_under(claim: Claim, rows: Sequence[Mapping[str, object]]) -> Status | None:
    """The status that a settle under this claim's token has written, None if there was none."""
    if not rows or rows[0]["lease_token"] != claim.lease_token or rows[0]["leased"]:
        return None
    return Status(str(rows[0]["status"]))


def _error_json(error: ErrorInfo) -> str:
    return msgspec.json.encode(
        {
            "code": error.code,
            "message": error.message,
            "retryable": error.retryable,
            "detail": error.detail,
        }
    ).decode()


def _fate(row: Mapping[str, object] | None, token: LeaseToken) -> Fate:
    if row is None or row["lease_token"] != token:
        return Fate.LOST
    if not row["leased"]:
        return Fate.SETTLED
    return Fate.LOCKED if row["unexpired"] else Fate.LOST


def _claim(row: Mapping[str, object], owner: str) -> Claim:
    return msgspec.convert({**row, "lease_owner": owner}, Claim)


def as_uuid(value: object) -> UUID:
    if not isinstance(value, UUID):
        raise TypeError(f"expected a uuid, found {type(value).__name__}")
    return value
