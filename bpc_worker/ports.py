"""What the engine needs from the outside, as small Protocols."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

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


class JobStore(Protocol):
    """The queue. All waiting is bounded; Unavailable means the store could not be reached in time."""

    async def enqueue(self, tenant_id: TenantId, job: NewJob, *, parent: JobId | None = None) -> Enqueued: ...

    async def claim(self, *, limit: int, idle: bool) -> list[Claim]:
        """Take up to `limit` due jobs; one suspect alone when this worker is idle."""

    async def undo_unheard_claims(self) -> None:
        """Give back what a claim took whose answer never came; nothing to do as a rule."""

    async def suspect_waiting(self) -> bool:
        """Whether a suspect has waited so long that a busy worker should empty itself for it."""

    async def renew(self, beats: Sequence[Heartbeat]) -> Renewal: ...

    async def settle(self, claim: Claim, settlement: Settlement) -> Status | None:
        """Write how the claim ended; None when the lease is lost. Safe to repeat."""

    async def reap(self) -> list[Reaped]:
        """Bring back one page of jobs whose lease has ended."""

    async def pulse(self) -> bool:
        """Whether the store answers and can be written."""
