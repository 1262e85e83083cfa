"""Valid by default: a test names the one thing it is about."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from bpc_worker.jobs.model import Claim, ErrorInfo, JobId, LeaseToken, TenantId

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def a_claim(**changes: object) -> Claim:
    claim = Claim(
        job_id=JobId(uuid4()),
        lease_token=LeaseToken(uuid4()),
        lease_owner="worker-1",
        tenant_id=TenantId(uuid4()),
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
