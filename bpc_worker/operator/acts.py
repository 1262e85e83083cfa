"""What an operator does to one job. The database decides whether it may be done, and notes who did it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from bpc_worker.jobs.errors import Code, JobError, Permanent
from bpc_worker.operator.jobs import no_job
from bpc_worker.operator.session import Operator, Row
from bpc_worker.postgres.again import again
from bpc_worker.rows import as_uuid

_NO_DATA, _CHECK_VIOLATION = "P0002", "23514"


@dataclass(frozen=True, slots=True)
class Patch:
    """One place of a payload, and what is to stand there (as JSON text)."""

    path: tuple[str, ...]
    value: str


async def retry(operator: Operator, job_id: UUID, patch: Patch | None = None) -> None:
    """A dead letter or failure runs again at once, attempts from zero."""
    if patch is None:
        await _act(operator, "retry", job_id)
    else:
        await _act(operator, "patch_and_retry", job_id, path=list(patch.path), value=patch.value)


async def cancel(operator: Operator, job_id: UUID) -> str:
    """What it is now: RUNNING until its worker hears of it. A job that has ended stays what it is."""
    [row] = await _act(operator, "cancel", job_id)
    return str(row["status"])


async def discard(operator: Operator, job_id: UUID) -> None:
    """A dead letter or failure is given up for good."""
    await _act(operator, "discard", job_id)


async def replay(operator: Operator, job_id: UUID) -> UUID:
    """The same work as a new job."""
    [row] = await _act(operator, "replay", job_id)
    return as_uuid(row["job_id"])


async def _act(operator: Operator, name: str, job_id: UUID, **params: object) -> Sequence[Row]:
    try:
        return await again(operator.rows)(name, {"job_id": job_id, **params})
    except JobError as error:
        state = (error.detail or {}).get("sqlstate")
        if state == _NO_DATA:
            raise no_job(job_id) from error
        if state == _CHECK_VIOLATION:  # it is in no state for that
            said = error.message.removesuffix(f" (SQLSTATE {_CHECK_VIOLATION})")
            raise Permanent(Code.FORBIDDEN, f"{said}; see `bpc-worker jobs show {job_id}`") from error
        raise
