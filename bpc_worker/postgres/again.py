"""Run a transaction again that met another one."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from bpc_worker.jobs.errors import JobError, RunAgain

T = TypeVar("T")

_MOST_RUNS = 20
_UNIQUE_VIOLATION = "23505"


async def again(work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, a whole transaction that writes nothing unless it ends well."""
    async for run in AsyncRetrying(
        retry=retry_if_exception(_met_another),
        wait=wait_random_exponential(multiplier=0.02, max=0.5),
        stop=stop_after_attempt(_MOST_RUNS),
        reraise=True,
    ):
        with run:
            return await work()
    raise AssertionError("unreachable: tenacity returns or raises")


def _met_another(error: BaseException) -> bool:
    """A serialization failure, a deadlock, a locked row; or a number that somebody else took first."""
    if isinstance(error, RunAgain):
        return True
    return isinstance(error, JobError) and (error.detail or {}).get("sqlstate") == _UNIQUE_VIOLATION
