"""Between our words and the columns of `jobs`: parameters of statements, and what their rows mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.adapters.ids import uuid7
from bpc_worker.adapters.postgres.arrays import array
from bpc_worker.core.spec_hash import spec_hash
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Code, Permanent, RunAgain
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
from bpc_worker.ports import Enqueued


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
    max_queued: int = 0  # 0: no limit


_PLAIN = TypeDefaults()
_MOST_INDEXED = 64 + 100 + 500


def enqueue_params(
    settings: QueueSettings, tenant_id: TenantId, job: NewJob, parent: JobId | None
) -> dict[str, object]:
    _refuse_what_no_index_holds(job)
    defaults = settings.type_defaults.get(job.type, _PLAIN)
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


def _refuse_what_no_index_holds(job: NewJob) -> None:
    """Of far too much, PostgreSQL's index complains before the table's own rules can say what is wrong."""
    length = len(job.type) + len(job.queue or "") + len(job.idempotency_key or "")
    if length > _MOST_INDEXED:
        raise Permanent(
            Code.VALIDATION_ERROR,
            f"type, queue and idempotency_key are {length} characters long together; "
            "at most 64, 100 and 500 are allowed",
        )


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


NOT_HELD = "22012"


def settle_params(
    ends: Sequence[tuple[Claim, Settlement]], *, now: datetime | None, or_fail: bool = False
) -> dict[str, object]:
    """`or_fail`: where the lease is gone, the statement fails with NOT_HELD, and with it its transaction."""
    return {"now": now, "or_fail": or_fail} | told(ends)


def told(ends: Sequence[tuple[Claim, Settlement]]) -> dict[str, object]:
    """One array per column."""
    claims, settlements = [claim for claim, _ in ends], [settlement for _, settlement in ends]
    errors = [settlement.error for settlement in settlements]
    return {
        "job_id": array(claim.job_id for claim in claims),
        "lease_token": array(claim.lease_token for claim in claims),
        "lease_owner": array(claim.lease_owner for claim in claims),
        "status": array(settlement.status.value for settlement in settlements),
        "refund": array(settlement.refund for settlement in settlements),
        "snoozes": array(settlement.snoozes for settlement in settlements),
        "delay_seconds": array(settlement.delay_seconds for settlement in settlements),
        "error": array(error and _error_json(error) for error in errors),
        "fail_code": array(error and error.code for error in errors),
        "fail_reason": array(error and error.message for error in errors),
        "result": array(settlement.result for settlement in settlements),
        "spec_hash": array(settlement.spec_hash for settlement in settlements),
        "event": array(settlement.event for settlement in settlements),
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


def fate(row: Mapping[str, object] | None, token: LeaseToken) -> Fate:
    if row is None or row["lease_token"] != token:
        return Fate.LOST
    if not row["leased"]:
        return Fate.SETTLED
    return Fate.LOCKED if row["unexpired"] else Fate.LOST


def as_uuid(value: object) -> UUID:
    if not isinstance(value, UUID):
        raise TypeError(f"expected a uuid, found {type(value).__name__}")
    return value
