"""Ends that no group could write: one after the other, round after round, until each is written or lost."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from bpc_worker.engine.outage_log import is_away, warn
from bpc_worker.jobs.errors import JobError, Permanent
from bpc_worker.jobs.model import Claim, Status
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.observability import log

_log = log.get("settler")

Told = Callable[[Status | None], None]


class End(NamedTuple):
    claim: Claim
    settlement: Settlement
    tell: Told
    can_ride: bool = True


def give_up(ends: Sequence[End], error: Exception) -> None:
    """Nobody knows what was written. Whoever is told lets go of his job, and the reaper brings it back."""
    _log.error("engine_bug", exc_info=error, count=len(ends))
    for end in ends:
        end.tell(None)


class SingleEnds:
    """A row that somebody has locked, or that the database refuses for a while, costs the others one try.

    `settle` tries once. What it says is Permanent can never be written; `refused` says what can be instead.
    """

    def __init__(
        self,
        settle: Callable[[Claim, Settlement], Awaitable[Status | None]],
        refused: Callable[[Claim, Permanent], Settlement],
        *,
        on_database: Callable[[JobError | None], None],
        first_pause: float,
        longest_pause: float,
    ) -> None:
        self._settle = settle
        self._refused = refused
        self._on_database = on_database
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._waiting: list[End] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, end: End) -> None:
        self._waiting.append(end)
        if self._task is None:
            self._task = asyncio.create_task(self._write())

    async def _write(self) -> None:
        pause = self._first_pause
        try:
            while self._waiting:
                if await self._round():
                    pause = self._first_pause
                if self._waiting:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, self._longest_pause)
        finally:
            self._task = None

    async def _round(self) -> bool:
        """Each is tried once, as long as somebody answers. Whether any is through."""
        ends, self._waiting = self._waiting, []
        troubles: list[JobError] = []
        for number, end in enumerate(ends, start=1):
            trouble = await self._try(end)
            if trouble is None:
                continue
            self._waiting.append(end)
            self._on_database(trouble)
            troubles.append(trouble)
            if is_away(trouble):  # the one that met it comes last in the next round
                self._waiting[:0] = ends[number:]
                break
        if troubles:
            warn(_log, "settle_retrying", troubles[0], count=len(self._waiting))
        return len(self._waiting) < len(ends)

    async def _try(self, end: End) -> JobError | None:
        """Why it is not through."""
        claim, settlement = end.claim, end.settlement
        try:
            try:
                status = await self._settle(claim, settlement)
            except Permanent as error:  # PostgreSQL refuses the result itself
                status = await self._settle(claim, self._refused(claim, error))
        except JobError as error:
            return error
        except Exception as error:  # noqa: BLE001 - a bug of ours
            give_up([end], error)
            return None
        self._on_database(None)
        end.tell(status)
        return None
