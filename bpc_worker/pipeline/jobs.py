"""Wait for a job that was queued, and say in words why it has not ended."""

from collections.abc import Callable
from uuid import UUID

from bpc_worker.jobs.model import Status
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.queue.job_states import JobState
from bpc_worker.rows import as_uuid, one
from bpc_worker.waiting.polling import poll


async def job_state(pipeline: PipelineSession, job_id: UUID) -> JobState:
    async with pipeline.reading() as tx:
        params = {"tenant_id": pipeline.tenant_id, "job_id": job_id}
        return one(await tx.query("jobs/state", params), JobState, "job")


async def find_job(pipeline: PipelineSession, job_type: str, idempotency_key: str) -> UUID | None:
    async with pipeline.reading() as tx:
        params = {"tenant_id": pipeline.tenant_id, "type": job_type, "idempotency_key": idempotency_key}
        found = await tx.query("jobs/find_key_state", params)
    return as_uuid(found[0]["job_id"]) if found else None


async def wait_for_job(
    pipeline: PipelineSession,
    job_id: UUID,
    *,
    seconds: float,
    looked: Callable[[JobState], None] | None = None,
) -> JobState:
    """The job once it has ended, or as it is after `seconds`; `looked` is told of every look."""

    async def look() -> JobState:
        state = await job_state(pipeline, job_id)
        if looked is not None:
            looked(state)
        return state

    return await poll(look, until=lambda state: state.ended, seconds=seconds)


def how_it_stands(state: JobState) -> list[str]:
    """In words, with what to do about it."""
    name = f"job {state.job_id} ({state.type})"
    error = "" if state.last_error is None else f": {state.last_error.code}: {state.last_error.message}"
    match state.status:
        case Status.SUCCEEDED:
            return [f"{name} succeeded"]
        case Status.QUEUED if state.attempts == 0 and state.due:
            return [
                f"{name} is still QUEUED: no worker has taken it",
                f"see why with `bpc-worker jobs explain {state.job_id}`; the job stays",
                "start a worker with `bpc-worker run`, or run what is due with `bpc-worker once`",
            ]
        case Status.QUEUED:
            tried = (
                f"attempt {state.attempts} of {state.max_attempts} failed{error}" if error else "not due yet"
            )
            return [f"{name} is QUEUED: {tried}", "a worker tries it again by itself"]
        case Status.RUNNING:
            return [f"{name} is still RUNNING, attempt {state.attempts}", "wait longer with --timeout"]
        case Status.CANCELLED:
            return [f"{name} was cancelled; queue it again if that was a mistake"]
        case Status.FAILED | Status.DEAD_LETTER:
            mend = f"mend the cause, then retry it: bpc-worker jobs retry {state.job_id}"
            return [f"{name} is {state.status}{error}", mend]
