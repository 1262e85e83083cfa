"""Run a transaction again that met another one."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import ParamSpec, TypeVar

from bpc_worker.jobs.errors import JobError, RunAgain
from bpc_worker.waiting.retries import Retries

P = ParamSpec("P")
T = TypeVar("T")

_UNIQUE_VIOLATION = "23505"


def again(work: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[object, object, T]]:
    """For `work` that is a whole transaction, and writes nothing unless it ends well."""

    @wraps(work)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return await _RETRIES.run(work, *args, **kwargs)

    return run


def _met_another(error: BaseException) -> bool:
    """A serialization failure, a deadlock, a locked row; or a number that somebody else took first."""
    if isinstance(error, RunAgain):
        return True
    return isinstance(error, JobError) and (error.detail or {}).get("sqlstate") == _UNIQUE_VIOLATION


_RETRIES = Retries(when=_met_another, first_pause=0.02, longest_pause=0.5, tries=20)
