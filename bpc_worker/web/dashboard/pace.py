"""How many jobs ended in each minute of the last hour: counted beside the pages, while somebody looks."""

import asyncio
from datetime import datetime

import msgspec

from bpc_worker.jobs.errors import JobError
from bpc_worker.web.dashboard.svg import Bars, bars
from bpc_worker.web.database.roles import WebDatabase
from bpc_worker.web.locks.identity import NOBODY

_HOUR, _LATELY = 60, 2  # minutes
_MOST = 20_001
_EVERY, _WATCHED = 10.0, 300.0  # seconds


class Minute(msgspec.Struct, frozen=True):
    at: datetime
    n: int


class Pace:
    def __init__(self, database: WebDatabase) -> None:
        self._database = database
        self._counts: dict[datetime, int] = {}
        self._wanted_until = 0.0
        self._wanted = asyncio.Event()

    def wanted(self) -> None:
        """Somebody looks at it."""
        self._wanted_until = asyncio.get_running_loop().time() + _WATCHED
        self._wanted.set()

    @property
    def minutes(self) -> list[Minute]:
        return [Minute(at, self._counts[at]) for at in sorted(self._counts)[-_HOUR:]]

    @property
    def bars(self) -> Bars | None:
        found = self.minutes
        return bars([(f"{each.at:%H:%M}", each.n) for each in found]) if found else None

    async def keep(self) -> None:
        """For as long as the door is open."""
        clock = asyncio.get_running_loop().time
        while True:
            await self._wanted.wait()
            try:
                await self._count(_LATELY if self._counts else _HOUR)
            except (JobError, TimeoutError):
                self._counts.clear()  # what is told again is of one hour without a gap
            if clock() > self._wanted_until:
                self._wanted.clear()
                self._counts.clear()
            await asyncio.sleep(_EVERY)

    async def _count(self, minutes: int) -> None:
        async with self._database.reader(NOBODY) as reading:
            rows = await reading.rows("dashboard/ended_by_minute", Minute, minutes=minutes, most=_MOST)
        self._counts |= {each.at: each.n for each in rows}
        for old in sorted(self._counts)[:-_HOUR]:
            del self._counts[old]
