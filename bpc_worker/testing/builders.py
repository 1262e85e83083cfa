"""Valid by default: a test names the one thing it is about."""

from dataclasses import replace
from uuid import UUID

from bpc_worker.handler_api import JobId, NewJob, TenantId
from bpc_worker.ids import nonce
from bpc_worker.jobs.model import Claim, ErrorInfo, LeaseToken
from bpc_worker.testing.clock import NOON

A_TENANT = TenantId(UUID("00000000-0000-7000-8000-000000000001"))


def a_job(job_type: str = "TEST_NOOP", *, payload: object = None, **changes: object) -> NewJob:
    """A job to be queued; `changes` are further fields of NewJob."""
    job = NewJob(type=job_type, payload={} if payload is None else payload)
    return replace(job, **changes)  # type: ignore[arg-type]  # whatever field the test names


def a_claim(**changes: object) -> Claim:
    """A job in the hands of a worker, at its first attempt."""
    claim = Claim(
        job_id=JobId(nonce()),
        lease_token=LeaseToken(nonce()),
        lease_owner="worker-1",
        tenant_id=A_TENANT,
        type="TEST_NOOP",
        queue="default",
        priority=2,
        payload="{}",
        attempts=1,
        max_attempts=5,
        snoozes=0,
        scheduled_at=NOON,
        created_at=NOON,
        started_at=NOON,
    )
    return replace(claim, **changes)  # type: ignore[arg-type]  # whatever field the test names


def an_error(code: str = "COMMAND_FAILED") -> ErrorInfo:
    return ErrorInfo(code, "it did not work", retryable=True)


def an_id(number: int) -> UUID:
    """The same number, the same id; in order of the numbers."""
    return UUID(int=number)
