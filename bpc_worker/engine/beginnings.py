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

# What has begun and no handler has seen yet is what a kill can cost: no more than these, and not for long.
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
                await self._begin({job.claim.lease_token: job for job in group})
        finally:
            self._writing = None

    async def _begin(self, jobs: dict[LeaseToken, Beginner]) -> None:
        claims = [job.claim for job in jobs.values()]

        def start(tokens: frozenset[LeaseToken]) -> None:
            for token in [token for token in jobs if token in tokens]:
                jobs.pop(token).start_handler()
            self._start_prepared()

        try:
            await _RETRIES.run(self._store.begin, claims, start)
        except JobError as error:
            self._failed(error, claims)
            started = [claim for claim in claims if claim.lease_token not in jobs]
            if started:  # nobody knows whether that is written
                await self._write_again(started)
        else:
            self._on_database(None)
        for job in jobs.values():  # whose row is locked, or somebody else's by now: the settle tells
            job.give_back_unless_started()

    async def _write_again(self, claims: Sequence[Claim]) -> None:
        try:
            await _PATIENTLY.run(self._store.begin, claims)
        except JobError as error:
            self._failed(error, claims)

    def _failed(self, error: JobError, claims: Sequence[Claim]) -> None:
        self._on_database(error)
        _log.warning("begin_failed", error_code=error.code, error_message=error.message, count=len(claims))


def _transient(error: BaseException) -> bool:
    """An outage is not waited for here: the settle that gives the job back does."""
    return isinstance(error, Retryable) and not isinstance(error, Unavailable)


_RETRIES = Retries(when=_transient, first_pause=0.1, longest_pause=1.0, tries=3)
_PATIENTLY = Retries(when=lambda error: isinstance(error, Retryable), first_pause=0.1, longest_pause=3.0)
