"""What the engine needs from the outside, as small Protocols."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol
from uuid import UUID

import msgspec

from bpc_worker.jobs.model import Claim, Fate, JobId, LeaseToken, NewJob, Status, TenantId
from bpc_worker.jobs.settlement import Settlement


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One lease to be renewed, with the progress to be written beside it."""

    job_id: JobId
    lease_token: LeaseToken
    stage: str | None = None
    progress: str | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a renewal found: leases extended, of these those asked to cancel, and what became of the rest."""

    renewed: frozenset[LeaseToken]
    cancel_requested: frozenset[LeaseToken]
    missing: dict[LeaseToken, Fate]


@dataclass(frozen=True, slots=True)
class Reaped:
    job_id: JobId
    type: str
    queue: str
    status: Status
    lease_owner: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Enqueued:
    job_id: JobId
    added: bool  # False: the idempotency key was there already


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look at the queue brought."""

    claims: Sequence[Claim] = ()
    more: bool = False  # something was due that was not taken: look again at once
    next_due_in: float | None = None  # seconds until the next job falls due, where nothing is due now
    ended: bool = True  # every end that was given is durable; else each has to be settled otherwise
    passed_over: int = 0  # jobs that cannot be taken: left alone for a while


class PauseKind(StrEnum):
    QUEUE = "queue"
    TYPE = "type"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Nothing of this queue, type or tenant is claimed; what runs goes on."""

    kind: PauseKind
    name: str  # of a tenant: its id
    reason: str
    expires_at: datetime | None = None  # None: until somebody resumes it


class Waiting(msgspec.Struct, frozen=True):
    """Jobs of one kind that wait; of very many not all are counted."""

    queue: str
    type: str
    queued: int
    oldest_seconds: float  # how long the first of them has been due
    handled: bool = True  # a worker that has announced itself takes them


class Running(msgspec.Struct, frozen=True):
    queue: str
    type: str
    oldest_seconds: float | None  # None: none of them says when it started


class Overdue(msgspec.Struct, frozen=True):
    """A job that runs for longer than it should."""

    job_id: UUID
    type: str
    queue: str
    lease_owner: str
    running_seconds: float
    new: bool  # seen for the first time under this claim


@dataclass(frozen=True, slots=True)
class XminHolder:
    """Who keeps dead rows from being cleaned away: the oldest of a kind."""

    seconds: float  # since it does; where only the server knows, since it was first seen
    transactions: int  # that have begun since


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRules:
    interval_seconds: float
    warn_depth: int  # 0: never
    sla_factors: Mapping[str, float]  # by type
    sla_factor_of_others: float


class QueueSamples(Protocol):
    async def waiting(self, *, every_seconds: float) -> list[Waiting]:
        """Counted anew if the last count is older than that, by whoever asks first."""

    async def running(self) -> list[Running]: ...

    async def overdue(self, factors: Mapping[str, float], *, others: float) -> list[Overdue]:
        """By type how many times its expected duration a job may take."""

    async def xmin_holders(self) -> dict[str, XminHolder]:
        """By kind: transaction, prepared, slot, standby."""

    async def disabled_endpoints(self) -> int:
        """Webhooks that are switched off, of all tenants."""


class Pruned(msgspec.Struct, frozen=True):
    """What became of one page of jobs."""

    looked_at: int
    removed_jobs: int
    removed_events: int
    at_the_end: bool  # nothing more is old enough
    rest_seconds: float = 0.0  # until the next page, where there is one


@dataclass(frozen=True, slots=True)
class Ticks:
    """The store's time, and the last tick of each schedule that has had one."""

    now: datetime
    last: Mapping[str, datetime]


class Left(msgspec.Struct, frozen=True):
    """A row of a further table that a dead worker had left; of what else it says, nothing is believed."""

    status: str


Caps = Mapping[frozenset[str], int]  # of these types together, at most so many
_NO_CAPS: Caps = MappingProxyType({})
Ends = Sequence[tuple[Claim, Settlement]]  # how claims ended
CLAIM_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTerms:
    """What a claim is to leave alone."""

    ahead: bool = False  # of free slots: nothing whose attempt would be its last
    most_bytes: int = CLAIM_BYTES  # of payloads, as they are stored; the first job may be larger
    careful: bool = False  # the last claims failed: one job at most, without its payload


PLAIN_TERMS = ClaimTerms()


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a bucket gave."""

    taken: int
    wait_seconds: (
        float | None
    )  # until there is one for a job that is due and was left behind; None: there is none


class TokenStore(Protocol):
    """The buckets of limited job types, shared by all workers."""

    async def empty_look(self) -> Look | None:
        """What a look would bring, if that is nothing; None: something is due."""

    async def take(self, wanted: Mapping[str, int]) -> dict[str, Tokens]:
        """By type, for no more jobs than are due; a type of which none is due is missing."""

    async def give_back(self, unused: Mapping[str, int]) -> None: ...

    def close(self) -> None: ...


class ClaimSource(Protocol):
    """Where a process takes its jobs from."""

    async def claim(
        self,
        *,
        limit: int,
        fresh: bool = True,
        caps: Caps = _NO_CAPS,
        ends: Ends = (),
        terms: ClaimTerms = PLAIN_TERMS,
    ) -> Look:
        """Take up to `limit` due jobs that are not suspect.

        Best priority first, then oldest, but for two shares: of every four jobs one goes to the next tenants
        after the last one so served, to each as many in a row as its weight says; and by the count n of this
        store's claims, from 1 on, n mod 8 = 1 begins with the oldest due job whatever its priority.
        Not `fresh`: what the last look found empty may be passed over.
        No more than so many are taken of the types of a cap, all together; the order is kept otherwise.
        `ends` of jobs that succeeded are written in the same breath; after an error nobody knows of which.
        A large payload does not come with its claim; whoever runs the job reads it.
        """

    async def release_unconfirmed_claims(self) -> None:
        """Give back what a claim took whose answer never came; nothing to do as a rule."""


class JobStore(ClaimSource, Protocol):
    """The queue. All waiting is bounded; Unavailable means the store could not be reached in time."""

    async def enqueue(self, tenant_id: TenantId, job: NewJob, *, parent: JobId | None = None) -> Enqueued: ...

    async def enqueue_many(self, tenant_id: TenantId, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """All of them or none, in their order; an idempotency key that is there already adds nothing."""

    async def watch_suspects(self, watcher: str) -> bool:
        """Take the watch over them for a lease, where it is free and one is due here; whether it is ours."""

    async def keep_suspects(self, watcher: str, *, give_up: bool = False) -> bool:
        """Keep the watch for another lease, or give it up; whether it was ours."""

    async def claim_suspect(self, watcher: str, *, caps: Caps = _NO_CAPS, careful: bool = False) -> Look:
        """Take one suspect, best priority first, then oldest; nothing for whoever does not have the watch.

        `careful`: one that cannot be taken is passed over from then on.
        """

    async def renew(self, beats: Sequence[Heartbeat]) -> Renewal: ...

    async def begin(
        self, claims: Sequence[Claim], start: Callable[[frozenset[LeaseToken]], None] = ...
    ) -> frozenset[LeaseToken]:
        """Write that they begin; of those that are not named the row is locked or the lease lost.

        `start` is told of the others at the last moment at which a death of this process still undoes it.
        Safe to repeat.
        """

    async def cancel_requested(self, claims: Sequence[Claim]) -> frozenset[LeaseToken]:
        """Which of them somebody wants cancelled; those that are no longer held are not named."""

    async def settle(self, claim: Claim, settlement: Settlement) -> Status | None:
        """Write how the claim ended; None when the lease is lost. Safe to repeat."""

    async def settle_group(self, ends: Ends) -> dict[LeaseToken, Status]:
        """Write many at once. Those that are missing from the answer were locked or lost: settle them singly.

        Permanent: the group holds something that cannot be stored, and nothing of it was written.
        """

    async def reap(self, *, ended_for: float = 0.0) -> list[Reaped]:
        """Bring back one page of jobs whose lease ended, so many seconds ago at least.

        The attempt counts, unless it had to be begun and never was.
        """

    async def pause(self, pause: Pause) -> None:
        """Pausing what is paused changes reason and end."""

    async def resume(self, kind: PauseKind, name: str) -> bool:
        """Whether it was paused."""

    async def pulse(self) -> bool:
        """Whether the store answers and can be written."""
