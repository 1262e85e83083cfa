"""The words of the queue: jobs, claims, and the ways an attempt can end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import NewType
from uuid import UUID

JobId = NewType("JobId", UUID)
TenantId = NewType("TenantId", UUID)
LeaseToken = NewType("LeaseToken", UUID)

MAX_SNOOZES = 100


class Status(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    DEAD_LETTER = "DEAD_LETTER"


class Priority(IntEnum):
    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3

    @property
    def label(self) -> str:
        return self.name.lower()

    @staticmethod
    def named(given: object) -> "Priority":
        """By number or label; ValueError when there is none."""
        word = str(given).strip().lower()
        labels = {priority.label: priority for priority in Priority}
        return labels[word] if word in labels else Priority(int(word))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be queued. What is None is filled in from the type's defaults."""

    type: str
    payload: object = field(default_factory=dict)
    queue: str | None = None
    priority: Priority | None = None
    max_attempts: int | None = None
    delay_seconds: float = 0.0
    scheduled_at: datetime | None = None
    expected_duration_ms: int | None = None
    idempotency_key: str | None = None
    correlation_id: str | None = None
    traceparent: str | None = None


@dataclass(slots=True, unsafe_hash=True)
class Claim:
    """One job in the hands of one worker, once: a later claim of the same job has another token.

    The fields stand in the order in which claim.sql returns them. Nobody changes one; it is not frozen only
    because that would make it four times as expensive to make.
    """

    job_id: JobId
    lease_token: LeaseToken
    lease_owner: str
    tenant_id: TenantId
    type: str
    queue: str
    priority: int
    payload: str | None  # as text: one that cannot be decoded must not spoil a whole claim; None: read it
    attempts: int
    max_attempts: int
    snoozes: int
    scheduled_at: datetime
    created_at: datetime
    started_at: datetime
    spec_hash: bytes | None = None
    parent_job_id: JobId | None = None
    correlation_id: str | None = None
    traceparent: str | None = None
    lease_expired_before: bool = False  # its last holder died on it
    payload_bytes: int = 0  # as it is stored


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """What is stored of an error."""

    code: str
    message: str
    retryable: bool
    detail: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """It worked. `result` is the JSON text to be stored."""

    result: str | None = None
    spec_hash: bytes | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """It might work later, and not before `after_seconds`; the attempt counts."""

    error: ErrorInfo
    after_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Failed:
    """The same input can never work."""

    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class Snoozed:
    """Not now; the attempt is given back."""

    error: ErrorInfo
    seconds: float


@dataclass(frozen=True, slots=True)
class InfrastructureAway:
    """The database or the broker was away while it ran; the attempt is given back."""

    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class Released:
    """The worker stops, or has no slot: due at once, at its old place, the attempt is given back."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Somebody asked for it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is gone: the job is somebody else's, and nothing is written about it."""


Settleable = Done | Retry | Failed | Snoozed | InfrastructureAway | Released | Cancelled
Outcome = Settleable | Lost


class Fate(StrEnum):
    """What became of a claim that a renewal did not find."""

    LOCKED = "locked"  # still ours, somebody holds the row for a moment
    SETTLED = "settled"  # ended under our own token
    LOST = "lost"
