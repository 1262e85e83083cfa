"""The pipeline's helpers that need no database: words about jobs, and transactions that are run again."""

from uuid import UUID

import pytest

from bpc_worker.jobs.errors import Code, JobError, Permanent, RunAgain, Unavailable
from bpc_worker.jobs.model import Status
from bpc_worker.pipeline.jobs import how_it_stands
from bpc_worker.postgres.again import again
from bpc_worker.postgres.queue.job_states import JobFailure, JobState

FAILURE = JobFailure("VALIDATION_ERROR", "line 2: forty is no number")


def a_job(
    status: Status, *, attempts: int = 1, due: bool = True, error: JobFailure | None = None
) -> JobState:
    return JobState(
        job_id=UUID(int=1),
        type="PARSE_FACTS",
        status=status,
        attempts=attempts,
        max_attempts=5,
        due=due,
        result=None,
        last_error=error,
    )


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (a_job(Status.SUCCEEDED), "succeeded"),
        (a_job(Status.QUEUED, attempts=0), "no worker has taken it"),
        (a_job(Status.QUEUED, attempts=0), "bpc-worker run"),
        (a_job(Status.QUEUED, attempts=0, due=False), "not due yet"),
        (a_job(Status.QUEUED, attempts=2, error=FAILURE), "attempt 2 of 5 failed: VALIDATION_ERROR: line 2"),
        (a_job(Status.RUNNING, attempts=2), "still RUNNING, attempt 2"),
        (a_job(Status.CANCELLED), "was cancelled"),
        (a_job(Status.FAILED, error=FAILURE), "is FAILED: VALIDATION_ERROR: line 2: forty is no number"),
        (a_job(Status.DEAD_LETTER, attempts=5, error=FAILURE), "retry it"),
    ],
)
def test_how_a_job_stands_is_said_with_what_to_do(job: JobState, said: str) -> None:
    lines = how_it_stands(job)

    assert "job 00000000-0000-0000-0000-000000000001 (PARSE_FACTS)" in lines[0]
    assert said in " ".join(lines)


@pytest.mark.parametrize("status", Status)
def test_a_job_has_ended_when_nothing_more_happens_by_itself(status: Status) -> None:
    assert a_job(status).ended is (status not in {Status.QUEUED, Status.RUNNING})


TAKEN = Permanent(Code.VALIDATION_ERROR, "duplicate key", detail={"sqlstate": "23505"})


@pytest.mark.parametrize("met", [TAKEN, RunAgain("40001", "came first"), RunAgain("55P03", "locked")])
async def test_a_transaction_that_met_another_is_run_again(met: JobError) -> None:
    left = [met, met]

    async def work() -> str:
        if left:
            raise left.pop()
        return "done"

    assert await again(work)() == "done"


@pytest.mark.parametrize(
    "error",
    [
        Permanent(Code.NOT_FOUND, "no such"),
        Permanent(Code.VALIDATION_ERROR, "refused", detail={"sqlstate": "23001"}),
        Unavailable(Code.DB_UNAVAILABLE, "gone"),
    ],
)
async def test_everything_else_flies_at_once(error: JobError) -> None:
    runs = 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        raise error

    with pytest.raises(JobError) as caught:
        await again(work)()

    assert (caught.value, runs) == (error, 1)
