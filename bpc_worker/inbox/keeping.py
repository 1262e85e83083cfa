"""Documents too large to travel inside a job are kept beside the inbox, each under the key of its job."""

from uuid import UUID

from bpc_worker.jobs.model import NewJob

MOST_INSIDE = 1024 * 1024


def kept_name(tenant_id: UUID, job: NewJob) -> str:
    """One name per tenant and idempotency key, and back with `kept_key`."""
    return f"{tenant_id} {job.idempotency_key}"


def kept_key(name: str) -> tuple[UUID, str] | None:
    """None for what somebody else has put there."""
    tenant_id, _, key = name.partition(" ")
    try:
        return UUID(tenant_id), key
    except ValueError:
        return None
