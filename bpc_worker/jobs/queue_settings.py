"""What a process wants of the queue, and what a new job's row is when its producer does not say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

import msgspec

from bpc_worker.core.spec_hash import spec_hash
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob, Priority, TenantId

_FIRST = UUID(int=0)


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
    ring_start: UUID = _FIRST  # where this process begins in the ring of tenants


_PLAIN = TypeDefaults()
_MOST_INDEXED = 64 + 100 + 500


def enqueue_params(
    settings: QueueSettings, tenant_id: TenantId, job: NewJob, parent: JobId | None, *, job_id: UUID
) -> dict[str, object]:
    _refuse_what_no_index_holds(job)
    defaults = settings.type_defaults.get(job.type, _PLAIN)
    priority = defaults.priority if job.priority is None else job.priority
    return {
        "job_id": job_id,
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
