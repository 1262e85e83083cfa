"""What can happen to a row between claims: settled, reaped, cancelled, queued again, discarded."""

from datetime import datetime, timedelta

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import ErrorInfo, Status
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.memory import json_values
from bpc_worker.memory.rows import Row
from bpc_worker.memory.table import Table

_MOST_SNOOZES_KEPT = 1000
_BY_HAND = (Status.DEAD_LETTER, Status.FAILED)
_EXPIRED = ErrorInfo(
    Code.LEASE_EXPIRED, "the worker died, froze or lost the database, and its lease ended", retryable=True
)

_NEVER_BEGUN = ErrorInfo(
    Code.LEASE_EXPIRED,
    "the worker was lost before the job began, so that the attempt does not count",
    retryable=True,
)


def check(settlement: Settlement) -> object:
    """The result to be stored; Permanent where the settlement holds something that cannot be."""
    error = settlement.error
    if error is not None and "\x00" in error.code + error.message:
        raise Permanent(Code.VALIDATION_ERROR, "the error holds a NUL character, which cannot be stored")
    return None if settlement.result is None else json_values.stored(settlement.result, what="the result")


def settle(table: Table, row: Row, settlement: Settlement, now: datetime) -> Status:
    """What would wait again is CANCELLED when that was asked for, a dead letter when no attempt is left."""
    result = check(settlement)
    owner, attempt, error = row.lease_owner, row.attempts, settlement.error
    verdict = _verdict(row, settlement)
    if error is not None:
        row.fail(error, now)
        table.remember_failure(row, now, error)
    row.attempts = max(attempt - settlement.refund, 0)
    row.snoozes = min(settlement.snoozes, _MOST_SNOOZES_KEPT)
    row.result = result
    row.spec_hash = row.spec_hash or settlement.spec_hash
    if verdict is Status.SUCCEEDED:
        row.fail_code = row.fail_reason = None
    delay_seconds = settlement.delay_seconds
    due_at = row.scheduled_at if delay_seconds is None else now + timedelta(seconds=delay_seconds)
    _leave(table, row, verdict, now, due_at)
    if verdict is not Status.SUCCEEDED:
        event = {Status.CANCELLED: "job:cancelled", Status.DEAD_LETTER: "job:dead_lettered"}.get(verdict)
        delay = {"delay_s": delay_seconds or 0.0} if verdict is Status.QUEUED else {}
        code = None if error is None else error.code
        table.note(
            row, now, event or str(settlement.event), attempt=attempt, code=code, locked_by=owner, **delay
        )
    return verdict


def _verdict(row: Row, settlement: Settlement) -> Status:
    if settlement.status not in (Status.QUEUED, Status.DEAD_LETTER):
        return settlement.status
    if row.cancel_requested_at is not None:
        return Status.CANCELLED
    if settlement.status is Status.QUEUED and row.attempts - settlement.refund < row.max_attempts:
        return Status.QUEUED
    return Status.DEAD_LETTER


def reap(table: Table, row: Row, now: datetime, delay: timedelta) -> Status:
    owner, stage, attempt, given_back = row.lease_owner, row.stage, row.attempts, row.never_begun
    verdict = Status.QUEUED if attempt - given_back < row.max_attempts else Status.DEAD_LETTER
    if row.cancel_requested_at is not None:
        verdict = Status.CANCELLED
    error = _NEVER_BEGUN if given_back else _EXPIRED
    blamed = row.fail_code, row.fail_reason
    row.fail(ErrorInfo(error.code, error.message, True, {"locked_by": owner}), now, reason="lease expired")
    if given_back:
        row.fail_code, row.fail_reason = blamed
        row.attempts, row.snoozes = max(attempt - 1, 0), row.snoozes + 1
    else:
        table.remember_failure(row, now, error)
        row.snoozes = 0
    row.lease_token = None  # shuts out the old holder
    _leave(table, row, verdict, now, now + delay)
    event = {Status.QUEUED: "reaper:requeued", Status.CANCELLED: "job:cancelled"}.get(
        verdict, "reaper:dead_lettered"
    )
    reason = "never_begun" if given_back else "lease_expired"
    details = {"reason": reason, "locked_by": owner, "attempt": attempt, "stage": stage}
    table.note(row, now, event, table="jobs", details=details)
    return verdict


def _leave(table: Table, row: Row, verdict: Status, now: datetime, due_at: datetime) -> None:
    row.status = verdict
    row.lease_owner = row.lease_expires_at = None
    if verdict is Status.QUEUED:
        row.finished_at = None
        row.scheduled_at = due_at
        table.put(row)
    else:
        row.finished_at = now


def cancel(table: Table, row: Row, now: datetime) -> Status:
    """What waits is cancelled at once; what runs is asked to stop; what has ended stays what it is."""
    if row.status is Status.QUEUED:
        row.cancel_requested_at = now
        _discard(table, row, now)
    elif row.status is Status.RUNNING:
        row.cancel_requested_at = row.cancel_requested_at or now
        table.note(row, now, "job:cancel_requested")
    return row.status


def requeue(table: Table, row: Row, now: datetime, *, keep_attempts: bool) -> None:
    _must_have_failed(row, "retried")
    table.note(
        row, now, "job:requeued", **{"from": row.status.value}, attempts=row.attempts, code=row.fail_code
    )
    if not keep_attempts or row.attempts >= row.max_attempts:
        row.attempts = 0
    row.snoozes = 0
    row.lease_token = row.started_at = row.finished_at = row.cancel_requested_at = None
    row.fail_code = row.fail_reason = row.stage = row.progress = None
    row.status, row.scheduled_at = Status.QUEUED, now
    table.put(row)


def discard(table: Table, row: Row, now: datetime) -> None:
    _must_have_failed(row, "discarded")
    _discard(table, row, now)


def _discard(table: Table, row: Row, now: datetime) -> None:
    table.note(
        row, now, "job:cancelled", **{"from": row.status.value}, attempts=row.attempts, code=row.fail_code
    )
    table.heaps.remove(row)
    row.status, row.finished_at = Status.CANCELLED, now


def _must_have_failed(row: Row, what: str) -> None:
    if row.status not in _BY_HAND:
        raise Permanent(
            Code.VALIDATION_ERROR,
            f"job {row.job_id} is {row.status}: only DEAD_LETTER and FAILED can be {what}",
        )
