"""Jobs that begin in the store before their handler starts: what a kill leaves unbegun costs no attempt."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from bpc_worker.jobs.errors import JobError, Retryable, Unavailable
from bpc_worker.jobs.model import Claim, LeaseToken
from bpc_worker.jobs.store import JobStore
from bpc_worker.observability import log
from bpc_worker.waiting.retries import Retries

_log = log.get("runner")

# What one statement has begun and no handler has seen yet is what a kill can cost: no more than these.
_AT_A_TIME = 4


class Beginner(Protocol):
    """A job that waits for its beginning to be written."""

    @property
    def claim(self) -> Claim: ...

    def start_handler(self) -> None:
        """With all others that were prepared, at the next word to their thread."""

    def give_back_unless_started(self) -> bool: ...


class Beginnings:
    """Few by one statement, and what comes while it is under way by the next ones."""

    def __init__(
        self,
        store: JobStore,
        *,
        start_prepared: Callable[[], None],
        on_database: Callable[[JobError | None], None],
    ) -> None:
        self._store = store
        self._start_prepared = start_prepared
        self._on_database = on_database
        self._waiting: list[Beginner] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, jobs: Iterable[Beginner]) -> None:
        self._waiting.extend(jobs)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:_AT_A_TIME], self._waiting[_AT_A_TIME:]
                begun = await self._begun([job.claim for job in group])
                for job in group:
                    if job.claim.lease_token in begun:
                        job.start_handler()
                    else:  # its row is locked, or somebody else's by now: the settle tells
                        job.give_back_unless_started()
                self._start_prepared()
        finally:
            self._writing = None

    async def _begun(self, claims: Sequence[Claim]) -> frozenset[LeaseToken]:
        """Nothing of it where nobody knows: then no handler starts."""
        try:
            begun = await _RETRIES.run(self._store.begin, claims)
        except JobError as error:
            self._on_database(error)
            _log.warning(
                "begin_failed", error_code=error.code, error_message=error.message, count=len(claims)
            )
            return frozenset()
        self._on_database(None)
        return begun


def _transient(error: BaseException) -> bool:
    """An outage is not waited for here: the settle that gives the job back does."""
    return isinstance(error, Retryable) and not isinstance(error, Unavailable)


_RETRIES = Retries(when=_transient, first_pause=0.1, longest_pause=1.0, tries=3)
