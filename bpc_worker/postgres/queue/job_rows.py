"""Between our words and the columns of `jobs`: parameters of statements, and what their rows mean."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent, RunAgain
from bpc_worker.jobs.model import (
    Claim,
    ErrorInfo,
    Fate,
    JobId,
    LeaseToken,
    Status,
)
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.jobs.store import Enqueued
from bpc_worker.rows import as_uuid


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


class _End(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A row of `told` in sql/fragments/told.sql; what is missing is as it is there for a success."""

    job_id: UUID
    lease_token: UUID
    owner: str
    status: str = "SUCCEEDED"
    refund: int = 0
    snoozes: int = 0
    delay_seconds: float | None = None
    error: str | None = None
    fail_code: str | None = None
    fail_reason: str | None = None
    result: str | None = None
    spec_hash: str | None = None
    event: str | None = None


def settle_params(
    ends: Sequence[tuple[Claim, Settlement]], *, now: datetime | None, or_fail: bool = False
) -> dict[str, object]:
    """`or_fail`: where the lease is gone, the statement fails with NOT_HELD, and with it its transaction."""
    return {"now": now, "or_fail": or_fail, "ends": told(ends)}


def told(ends: Sequence[tuple[Claim, Settlement]]) -> str:
    return msgspec.json.encode([_end(claim, settlement) for claim, settlement in ends]).decode()


def _end(claim: Claim, settlement: Settlement) -> _End:
    error, spec_hash = settlement.error, settlement.spec_hash
    return _End(
        job_id=claim.job_id,
        lease_token=claim.lease_token,
        owner=claim.lease_owner,
        status=settlement.status.value,
        refund=settlement.refund,
        snoozes=settlement.snoozes,
        delay_seconds=settlement.delay_seconds,
        error=None if error is None else _error_json(error),
        fail_code=None if error is None else error.code,
        fail_reason=None if error is None else error.message,
        result=settlement.result,
        spec_hash=None if spec_hash is None else rf"\x{spec_hash.hex()}",
        event=settlement.event,
    )


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
