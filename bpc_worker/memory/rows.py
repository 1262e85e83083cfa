"""One job as the table of PostgreSQL has it: the same columns, and the same refusals."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bpc_worker.ids import uuid7
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import Claim, ErrorInfo, JobId, LeaseToken, NewJob, Status, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings, enqueue_params
from bpc_worker.memory import json_values

_TYPE = re.compile(r"[A-Z][A-Z0-9_]{2,63}", re.ASCII)
_LONGEST_QUEUE = 100
_LONGEST_TEXT = 500
_MOST_ATTEMPTS = 1_000_000
_FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_DAY = datetime(9999, 1, 1, tzinfo=UTC)
_SUSPECT_ATTEMPTS = 2


@dataclass(slots=True, kw_only=True, eq=False)
class Row:
    """Named as the columns are; JSON columns hold the value, but the payload its text."""

    sequence: int  # first in, first out among equals
    job_id: JobId
    tenant_id: TenantId
    type: str
    queue: str
    priority: int
    payload: str
    max_attempts: int
    scheduled_at: datetime
    created_at: datetime
    status: Status = Status.QUEUED
    attempts: int = 0
    snoozes: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    lease_owner: str | None = None
    lease_token: LeaseToken | None = None
    lease_expires_at: datetime | None = None
    last_heartbeat_at: datetime | None = None
    last_error: dict[str, object] | None = None
    fail_code: str | None = None
    fail_reason: str | None = None
    stage: str | None = None
    progress: object = None
    expected_duration_ms: int | None = None
    idempotency_key: str | None = None
    spec_hash: bytes | None = None
    result: object = None
    parent_job_id: JobId | None = None
    correlation_id: str | None = None
    traceparent: str | None = None
    cancel_requested_at: datetime | None = None

    @property
    def key(self) -> tuple[TenantId, str, str] | None:
        return None if self.idempotency_key is None else (self.tenant_id, self.type, self.idempotency_key)

    @property
    def suspect(self) -> bool:
        """Its last holder died on it, and not for the first time."""
        return self.fail_code == Code.LEASE_EXPIRED and self.attempts >= _SUSPECT_ATTEMPTS

    def begin(self, owner: str, token: LeaseToken, now: datetime, lease: timedelta) -> Claim:
        lease_expired_before = self.fail_code == Code.LEASE_EXPIRED
        self.status = Status.RUNNING
        self.attempts += 1
        self.lease_owner, self.lease_token, self.lease_expires_at = owner, token, now + lease
        self.last_heartbeat_at = self.started_at = now
        self.stage = self.progress = None
        return Claim(
            job_id=self.job_id,
            lease_token=token,
            lease_owner=owner,
            tenant_id=self.tenant_id,
            type=self.type,
            queue=self.queue,
            priority=self.priority,
            payload=self.payload,
            attempts=self.attempts,
            max_attempts=self.max_attempts,
            snoozes=self.snoozes,
            scheduled_at=self.scheduled_at,
            created_at=self.created_at,
            started_at=now,
            spec_hash=self.spec_hash,
            parent_job_id=self.parent_job_id,
            correlation_id=self.correlation_id,
            traceparent=self.traceparent,
            lease_expired_before=lease_expired_before,
        )

    def fail(self, error: ErrorInfo, now: datetime, *, reason: str | None = None) -> None:
        self.fail_code, self.fail_reason = error.code, reason or error.message
        self.last_error = {
            "code": error.code,
            "message": error.message,
            "retryable": error.retryable,
            "attempt": self.attempts,
            "at": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "detail": None if error.detail is None else dict(error.detail),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    job_id: JobId
    at: datetime
    type: str
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One attempt that went wrong."""

    job_id: JobId
    type: str
    attempt: int
    code: str
    message: str
    at: datetime


def new_row(
    sequence: int,
    settings: QueueSettings,
    tenant_id: TenantId,
    job: NewJob,
    *,
    parent: JobId | None,
    now: datetime,
) -> Row:
    columns = enqueue_params(settings, tenant_id, job, parent, job_id=uuid7())
    payload = json_values.printed(json_values.stored(str(columns.pop("payload")), what="the payload"))
    delay = columns.pop("delay_seconds")
    columns["scheduled_at"] = job.scheduled_at or now + timedelta(seconds=float(str(delay)))
    row = Row(sequence=sequence, payload=payload, created_at=now, **columns)  # type: ignore[arg-type]  # its columns
    _refuse_what_the_table_refuses(row)
    return row


def _refuse_what_the_table_refuses(row: Row) -> None:
    duration = row.expected_duration_ms
    allowed = {
        "type": _TYPE.fullmatch(row.type) is not None,
        "queue": 1 <= len(row.queue) <= _LONGEST_QUEUE,
        "max_attempts": 1 <= row.max_attempts <= _MOST_ATTEMPTS,
        "scheduled_at": _FIRST_DAY <= row.scheduled_at < _LAST_DAY,
        "expected_duration_ms": duration is None or duration > 0,
        "idempotency_key": row.idempotency_key is None or 1 <= len(row.idempotency_key) <= _LONGEST_TEXT,
        "correlation_id": len(row.correlation_id or "") <= _LONGEST_TEXT,
        "traceparent": len(row.traceparent or "") <= _LONGEST_TEXT,
    }
    for column, fits in allowed.items():
        if not fits:
            raise Permanent(Code.VALIDATION_ERROR, f"new row violates the check of {column}")
