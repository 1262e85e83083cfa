"""Look at jobs: lists, one with its whole story, why it does not run, how it ended."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.operator.session import Operator
from bpc_worker.postgres.queue.job_states import JobState
from bpc_worker.rows import all_of, maybe
from bpc_worker.waiting.polling import poll

Record = TypeVar("Record")

PAGE = 500


class JobLine(msgspec.Struct, frozen=True):
    """A job in a list."""

    job_id: UUID
    tenant: str
    type: str
    queue: str
    status: str
    priority: int
    attempts: int
    max_attempts: int
    created_at: datetime
    scheduled_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    lease_owner: str | None
    fail_code: str | None
    message: str | None


class JobRow(msgspec.Struct, frozen=True):
    """Everything about a job. Its JSON is text, exactly as stored."""

    job_id: UUID
    tenant_id: UUID
    tenant: str
    type: str
    queue: str
    status: str
    priority: int
    attempts: int
    max_attempts: int
    snoozes: int
    created_at: datetime
    scheduled_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    lease_owner: str | None
    lease_expires_at: datetime | None
    last_heartbeat_at: datetime | None
    stage: str | None
    progress: str | None
    fail_code: str | None
    fail_reason: str | None
    last_error: str | None
    idempotency_key: str | None
    spec_hash: str | None
    expected_duration_ms: int | None
    parent_job_id: UUID | None
    correlation_id: str | None
    traceparent: str | None
    cancel_requested_at: datetime | None
    payload: str
    result: str | None


class Event(msgspec.Struct, frozen=True):
    job_event_id: int
    job_id: UUID
    at: datetime
    type: str
    data: str


class Relative(msgspec.Struct, frozen=True):
    job_id: UUID
    type: str
    status: str


class Reason(msgspec.Struct, frozen=True):
    """Why a job does not run; `reason` is a stable word."""

    reason: str
    message: str
    until: datetime | None
    remedy: str


class _Window(msgspec.Struct, frozen=True):
    since: datetime | None
    before: datetime


@dataclass(frozen=True, slots=True)
class Story:
    """One job, what happened to it, what came out of it, and how it stands."""

    job: JobRow
    events: list[Event]
    children: list[Relative]
    reasons: list[Reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """None: any."""

    statuses: Sequence[str] | None = None
    type: str | None = None
    queue: str | None = None
    tenant: str | None = None
    code: str | None = None
    spec_hash: bytes | None = None
    older_seconds: float | None = None
    newer_seconds: float | None = None


async def window(
    operator: Operator, older: float | None, newer: float | None
) -> tuple[datetime | None, datetime]:
    """From when to when, by the database's clock; never later than now."""
    [row] = await operator.rows("window", {"older": older, "newer": newer})
    found = msgspec.convert(row, _Window)
    return found.since, found.before


async def list_jobs(
    operator: Operator, wanted: JobFilter, *, limit: int, after: UUID | None = None
) -> AsyncIterator[JobLine]:
    """The newest first, read page by page; `after` is the last one of an earlier list."""
    since, before = await window(operator, wanted.older_seconds, wanted.newer_seconds)
    params = {
        "statuses": None if wanted.statuses is None else list(wanted.statuses),
        "type": wanted.type,
        "queue": wanted.queue,
        "tenant_id": await operator.tenant_id(wanted.tenant),
        "code": wanted.code,
        "spec_hash": wanted.spec_hash,
        "since": since,
        "before": before if wanted.older_seconds is not None else None,
    }

    async def read(last: JobLine | None, size: int) -> list[JobLine]:
        behind = after if last is None else last.job_id
        return all_of(await operator.rows("list", params | {"after": behind, "page": size}), JobLine)

    async for line in in_pages(read, limit):
        yield line


async def in_pages(
    read: Callable[[Record | None, int], Awaitable[list[Record]]], limit: int
) -> AsyncIterator[Record]:
    """At most `limit`; `read` is given the last one so far, and how many it is asked for."""
    left, last = limit, None
    while left:
        size = min(PAGE, left)
        page = await read(last, size)
        for last in page:
            yield last
        if len(page) < size:
            return
        left -= size


async def story(operator: Operator, job_id: UUID) -> Story:
    found = maybe(await operator.rows("job", {"job_id": job_id}), JobRow)
    if found is None:
        raise no_job(job_id)
    events = all_of(await operator.rows("events", {"job_id": job_id}), Event)
    children = all_of(await operator.rows("children", {"job_id": job_id}), Relative)
    return Story(found, events, children, await explain(operator, job_id))


async def explain(operator: Operator, job_id: UUID) -> list[Reason]:
    """Every reason why it does not run, the one to see to first on top."""
    reasons = all_of(await operator.rows("explain", {"job_id": job_id} | operator.patience), Reason)
    if not reasons:
        raise no_job(job_id)
    return reasons


async def wait_for_jobs(
    operator: Operator,
    job_ids: Sequence[UUID],
    *,
    seconds: float,
    ended: Callable[[JobState], None],
) -> list[JobState]:
    """Until all have ended, or `seconds` are over; `ended` is told of each that does. The rest comes back."""
    left = list(dict.fromkeys(job_ids))

    async def look() -> list[JobState]:
        found = all_of(await operator.rows("states", {"job_ids": left}), JobState)
        states = {state.job_id: state for state in found}
        for job_id in left:
            if job_id not in states:
                raise no_job(job_id)
            if states[job_id].ended:
                ended(states[job_id])
        left[:] = [job_id for job_id in left if not states[job_id].ended]
        return [states[job_id] for job_id in left]

    return await poll(look, until=lambda waiting: not waiting, seconds=seconds)


def no_job(job_id: UUID) -> Permanent:
    return Permanent(Code.NOT_FOUND, f"no job {job_id}; see `bpc-worker jobs list`")
