"""What can happen to a queue, drawn at random, and a store's answers in the words of the model."""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from hypothesis import strategies as st

from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import (
    Cancelled,
    Claim,
    Done,
    Failed,
    InfrastructureAway,
    JobId,
    NewJob,
    Priority,
    Released,
    Retry,
    Settleable,
    Snoozed,
)
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Enqueued, JobStore, Look, PauseKind, Renewal
from bpc_worker.testing import an_error
from tests.support.queue_model import Claimed, Found, Job, Wish
from tests.support.stores import tenant_number

Row = Mapping[str, object]

LEASE_SECONDS = 60.0
SETTINGS = QueueSettings(
    owner="worker-1",
    types=("TEST_NOOP", "TEST_EFFECT"),
    queues=("default", "second"),
    lease_seconds=LEASE_SECONDS,
    ring_start=UUID(int=0),
)
TENANTS = tuple(tenant_number(number) for number in (1, 2, 3))
_TYPES = (*SETTINGS.types, "OTHER_TYPE")

wishes = st.builds(
    Wish,
    tenant=st.sampled_from(TENANTS),
    type=st.sampled_from([*SETTINGS.types * 3, *_TYPES]),
    queue=st.sampled_from(SETTINGS.queues),
    priority=st.integers(0, 3),
    payload=st.integers(1, 2),
    delay=st.sampled_from([0.0] * 4 + [1.5, 40.0]),
    max_attempts=st.sampled_from([5, 3, 1]),
    key=st.sampled_from([None, None, "k", "l"]),
)
DONE = Done('{"ok": true}')
outcomes: st.SearchStrategy[Settleable] = st.sampled_from(
    [
        DONE,
        Retry(an_error()),
        Failed(an_error("NOT_FOUND")),
        Snoozed(an_error("RATE_LIMITED"), 5),
        InfrastructureAway(an_error("DB_UNAVAILABLE")),
        Released(),
        Cancelled(),
    ]
)
pausable = st.one_of(
    st.tuples(st.just(PauseKind.QUEUE), st.sampled_from(SETTINGS.queues)),
    st.tuples(st.just(PauseKind.TYPE), st.sampled_from(_TYPES)),
    st.tuples(st.just(PauseKind.TENANT), st.sampled_from([str(tenant) for tenant in TENANTS])),
)
_COMPARED = (
    "status",
    "attempts",
    "snoozes",
    "scheduled_at",
    "fail_code",
    "lease_expires_at",
    "stage",
    "events",
)
COLUMNS = (*_COMPARED[:-1], "lease_owner", "lease_token", "cancel_requested_at", "finished_at")

numbers = st.integers(0, 1_000_000)  # of a job or a claim, counted round and round


class Side(Protocol):
    """One store with a fresh queue."""

    @property
    def store(self) -> JobStore: ...

    def move_clock(self, now: datetime) -> None: ...

    def rows(self) -> Sequence[Row]:
        """COLUMNS and `events` of each, in the order in which they were queued."""

    def after_reap(self, due: Mapping[JobId, tuple[datetime, float]]) -> None:
        """From when, and after how many seconds without dice, they are due again."""

    async def cancel(self, job_id: JobId) -> str: ...

    async def requeue(self, job_id: JobId, *, keep_attempts: bool = False) -> None: ...

    async def discard(self, job_id: JobId) -> None: ...


@dataclass
class Taken:
    """A side, and what it calls the jobs and the claims that the model numbers."""

    side: Side
    jobs: list[JobId] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)


async def resume_in(kind: PauseKind, name: str, taken: Taken) -> object:
    return await taken.side.store.resume(kind, name)


def new_job(wish: Wish) -> NewJob:
    return NewJob(
        type=wish.type,
        payload={"n": wish.payload},
        queue=wish.queue,
        priority=Priority(wish.priority),
        max_attempts=wish.max_attempts,
        delay_seconds=wish.delay,
        idempotency_key=wish.key,
    )


async def enqueue_one(store: JobStore, wish: Wish) -> list[Enqueued]:
    return [await store.enqueue(wish.tenant, new_job(wish))]


async def queued_in(taken: Taken, work: Coroutine[object, object, list[Enqueued]]) -> object:
    try:
        found = await work
    except Permanent as error:
        return error.code
    taken.jobs += [each.job_id for each in found if each.added]
    return [(taken.jobs.index(each.job_id), each.added) for each in found]


def found_in(taken: Taken, look: Look) -> Found:
    first = len(taken.claims) - len(look.claims)
    claims = [
        Claimed(number, taken.jobs.index(claim.job_id), claim.attempts, claim.snoozes)
        for number, claim in enumerate(look.claims, start=first)
    ]
    seconds = None if look.next_due_in is None else round(look.next_due_in, 6)
    return Found(claims, look.more, seconds)


def fates(claims: Mapping[int, Claim], renewal: Renewal) -> dict[int, str]:
    fates = {}
    for number, claim in claims.items():
        token = claim.lease_token
        if token in renewal.renewed:
            fates[number] = "cancel" if token in renewal.cancel_requested else "renewed"
        else:
            fates[number] = str(renewal.missing[token])
    return fates


def row_of_model(job: Job) -> dict[str, object]:
    return {
        "status": job.status,
        "attempts": job.attempts,
        "snoozes": job.snoozes,
        "scheduled_at": job.scheduled_at,
        "fail_code": job.fail_code,
        "claim": job.claim,
        "lease_expires_at": job.lease_until,
        "cancel_requested": job.cancel_requested,
        "stage": job.stage,
        "finished": job.status not in ("QUEUED", "RUNNING"),
        "events": job.events,
    }


def row_of_store(row: Row, claims: Mapping[object, int]) -> dict[str, object]:
    assert (row["lease_owner"] is None) == (row["lease_expires_at"] is None) == (row["status"] != "RUNNING")
    return {name: row[name] for name in _COMPARED} | {
        "claim": None if row["lease_token"] is None else claims[row["lease_token"]],
        "cancel_requested": row["cancel_requested_at"] is not None,
        "finished": row["finished_at"] is not None,
    }


def difference(found: Sequence[Row], expected: Sequence[Row]) -> str:
    if len(found) != len(expected):
        return f"{len(found)} jobs instead of {len(expected)}"
    return "; ".join(
        f"job {number}: {name} is {row[name]}, not {wanted[name]}"
        for number, (row, wanted) in enumerate(zip(found, expected, strict=True))
        for name in wanted
        if row[name] != wanted[name]
    )
