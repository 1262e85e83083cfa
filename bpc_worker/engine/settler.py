"""Write how attempts ended, many at once, and do not give up before the rows say so."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from bpc_worker.engine.outage_log import warn
from bpc_worker.engine.single_ends import End, SingleEnds, Told, give_up
from bpc_worker.jobs.errors import Code, JobError, Permanent, RunAgain, Unavailable
from bpc_worker.jobs.model import Claim, ErrorInfo, Failed, LeaseToken, Settleable, Status
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.jobs.store import JobStore
from bpc_worker.observability import log
from bpc_worker.waiting.retries import Retries

__all__ = ["End", "Settler", "Told"]

P = ParamSpec("P")
T = TypeVar("T")

_log = log.get("settler")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 3.0
_MOST_CONFLICTS = 4  # of a group; then each of it for itself
_LARGEST_GROUP = 200
_MAX_WITH_A_CLAIM = 100  # more make the claim wait for longer than they save
_STEPS_OF_A_CLAIM = 3  # of the event loop, from the bell to the socket


def _can_ride_with_claim(end: End) -> bool:
    return end.can_ride and end.settlement.status is Status.SUCCEEDED


def _can_pass(error: BaseException) -> bool:
    """All but what the end itself says: a full disk, a cancelled statement, a bug in somebody's trigger."""
    return isinstance(error, JobError) and not isinstance(error, Permanent)


class Settler:
    """What ends while a group is being written makes up the next one: no timer, and no job waits alone."""

    def __init__(
        self,
        store: JobStore,
        settlement: Callable[[Claim, Settleable], Settlement],
        *,
        on_database: Callable[[JobError | None], None],
    ) -> None:
        self._store = store
        self._settlement = settlement
        self._on_database = on_database
        self._waiting: list[End] = []
        self._no_claim = asyncio.Event()  # is on its way
        self._no_claim.set()
        self._flushing: asyncio.Task[None] | None = None
        self._group_retries = Retries(
            when=lambda error: isinstance(error, Unavailable | RunAgain),
            uncounted=lambda error: isinstance(error, Unavailable),
            first_pause=_FIRST_PAUSE,
            longest_pause=_LONGEST_PAUSE,
            tries=_MOST_CONFLICTS,
            before_pause=self._note,
        )
        self._single_retries = Retries(
            when=_can_pass, first_pause=_FIRST_PAUSE, longest_pause=_LONGEST_PAUSE, before_pause=self._note
        )
        self._singles = SingleEnds(
            store.settle, self._failed, on_database=on_database,
            first_pause=_FIRST_PAUSE, longest_pause=_LONGEST_PAUSE,
        )  # fmt: skip

    def add(self, claim: Claim, outcome: Settleable, tell: Told) -> None:
        """`tell` is called once it is durable: with the status, or None when the lease was lost."""
        self._waiting.append(End(claim, self._settlement(claim, outcome), tell))
        self._see_to_it()

    def _see_to_it(self) -> None:
        if self._flushing is None and self._waiting:
            self._flushing = asyncio.create_task(self._flush())

    @contextmanager
    def ends_for_next_claim(self) -> Iterator[list[End]]:
        """Around a claim, with the ends that it can write: one statement costs less than two."""
        riding: list[End] = []
        if len(self._waiting) <= _MAX_WITH_A_CLAIM:
            waiting, self._waiting = self._waiting, []
            for end in waiting:
                (riding if _can_ride_with_claim(end) else self._waiting).append(end)
        self._no_claim.clear()
        try:
            yield riding
        finally:
            self._no_claim.set()

    def confirm(self, riding: Sequence[End]) -> None:
        for end in riding:
            end.tell(Status.SUCCEEDED)

    def retry_unconfirmed(self, riding: Sequence[End]) -> None:
        """Nobody knows which of them are written: the group finds out, and none harms a claim twice."""
        self._waiting.extend(end._replace(can_ride=False) for end in riding)
        self._see_to_it()

    async def _flush(self) -> None:
        try:
            while await self._is_left_over():
                group, self._waiting = self._waiting[:_LARGEST_GROUP], self._waiting[_LARGEST_GROUP:]
                try:
                    written = await self._write_group(group)
                except Exception as error:  # noqa: BLE001 - a bug of ours
                    give_up(group, error)
                    continue
                for end in group:
                    if end.claim.lease_token in written:
                        end.tell(written[end.claim.lease_token])
                    else:
                        self._singles.add(end)
        finally:
            self._flushing = None

    async def _is_left_over(self) -> bool:
        """Whoever ended left a slot: the next claim takes the end with it. Whether it has left any behind."""
        while self._waiting:
            await self._no_claim.wait()
            for _ in range(_STEPS_OF_A_CLAIM):
                await asyncio.sleep(0)
            if self._no_claim.is_set() or not self._all_can_ride:
                return bool(self._waiting)
        return False

    @property
    def _all_can_ride(self) -> bool:
        """Else some would wait for claim after claim."""
        return len(self._waiting) <= _MAX_WITH_A_CLAIM and all(map(_can_ride_with_claim, self._waiting))

    async def _write_group(self, group: Sequence[End]) -> dict[LeaseToken, Status]:
        """What was written. Rows that are locked, lost or written by a call without an answer are missing."""
        ends = [(end.claim, end.settlement) for end in group]
        try:
            return await self._written(self._group_retries, self._store.settle_group, ends)
        except JobError as error:  # perhaps because of one of them: the others must not suffer
            self._on_database(error)
            _log.warning(
                "batch_settle_rejected",
                error_code=error.code, error_message=error.message, count=len(ends),
            )  # fmt: skip
        return {}

    async def settle(self, claim: Claim, outcome: Settleable) -> Status | None:
        """The status that is durable now; None when the lease was lost and nothing was written."""
        write, retries = self._store.settle, self._single_retries
        try:
            return await self._written(retries, write, claim, self._settlement(claim, outcome))
        except Permanent as error:
            return await self._written(retries, write, claim, self._failed(claim, error))

    def _failed(self, claim: Claim, error: Permanent) -> Settlement:
        """What becomes of an end that PostgreSQL can never store."""
        refused = ErrorInfo(Code.VALIDATION_ERROR, f"the result cannot be stored: {error.message}", False)
        return self._settlement(claim, Failed(refused))

    async def _written(
        self, retries: Retries, write: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What it answers in the end: whatever may pass is waited for."""
        try:
            answer = await write(*args, **kwargs)  # nearly always the only try
        except Exception as error:
            if not retries.when(error):
                raise
            self._note(error)
            answer = await retries.run(write, *args, **kwargs)
        self._on_database(None)
        return answer

    def _note(self, error: BaseException) -> None:
        if isinstance(error, JobError):
            self._on_database(error)
            warn(_log, "settle_retrying", error)
