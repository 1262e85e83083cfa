"""A job as whoever waits for it sees it."""

from uuid import UUID

import msgspec

from bpc_worker.jobs.model import Status

_ENDED = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.DEAD_LETTER})


class JobFailure(msgspec.Struct, frozen=True):
    """What is stored of the last error."""

    code: str
    message: str
    detail: dict[str, object] | None = None


class JobState(msgspec.Struct, frozen=True):
    job_id: UUID
    type: str
    status: Status
    attempts: int
    max_attempts: int
    due: bool
    result: dict[str, object] | None
    last_error: JobFailure | None

    @property
    def ended(self) -> bool:
        return self.status in _ENDED

    @property
    def succeeded(self) -> bool:
        return self.status is Status.SUCCEEDED
