"""Between our words and the columns of `jobs`: parameters of statements, and what their rows mean."""

from collections.abc import Mapping, Sequence
from datetime import datetime

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
from bpc_worker.postgres.arrays import array
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


def settle_params(
    claim: Claim, settlement: Settlement, *, now: datetime | None, or_fail: bool = False
) -> dict[str, object]:
    """`or_fail`: where the lease is gone, the statement fails with NOT_HELD, and with it its transaction."""
    return {"now": now, "or_fail": or_fail} | settle_values(claim, settlement)


def settle_values(claim: Claim, settlement: Settlement) -> dict[str, object]:
    error = settlement.error
    return {
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


def settle_group_params(
    ends: Sequence[tuple[Claim, Settlement]], *, now: datetime | None
) -> dict[str, object]:
    """One array per column."""
    values = [settle_values(claim, settlement) for claim, settlement in ends]
    columns: dict[str, object] = {name: array([row[name] for row in values]) for name in values[0]}
    return {"now": now} | columns


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
