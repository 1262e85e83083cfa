"""Those who wait for an end: one look a second for all of a process, and none while nobody waits."""

import asyncio
from enum import StrEnum
from uuid import UUID

from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log
from bpc_worker.rows import as_uuid
from bpc_worker.web.database.roles import WebDatabase
from bpc_worker.web.locks.identity import Identity, Kind

_log = log.get("web")
_LOOK_SECONDS = 1.0
_WATCHER = Identity("api", Kind.NOBODY)  # it hears of ids that their owners have seen, and of ends alone


class Awaited(StrEnum):
    JOB = "jobs"
    BUILD = "builds"
    DOCUMENT = "documents"


class Watch:
    def __init__(self, database: WebDatabase) -> None:
        self._database = database
        self._waiting: dict[Awaited, dict[UUID, set[asyncio.Event]]] = {kind: {} for kind in Awaited}
        self._somebody = asyncio.Event()
        self._is_over = False

    async def ended(self, kind: Awaited, wanted: UUID, *, seconds: float) -> None:
        """When it has, or the time is over, or this process is about to end: whoever waits looks himself."""
        if seconds <= 0 or self._is_over:
            return
        ended = asyncio.Event()
        waiting = self._waiting[kind]
        waiting.setdefault(wanted, set()).add(ended)
        self._somebody.set()
        try:
            async with asyncio.timeout(seconds):
                await ended.wait()
        except TimeoutError:
            pass
        finally:
            waiting[wanted].discard(ended)
            if not waiting[wanted]:
                del waiting[wanted]

    async def look(self) -> None:
        """For as long as the door is open."""
        try:
            while True:
                await self._somebody.wait()
                if not any(self._waiting.values()):
                    self._somebody.clear()
                    continue
                await self._tell()
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            self._is_over = True
            for waiting in self._waiting.values():
                for events in waiting.values():
                    _set(events)

    async def _tell(self) -> None:
        asked = {kind.value: list(waiting) for kind, waiting in self._waiting.items()}
        try:
            async with self._database.reader(_WATCHER) as reading:
                found = {as_uuid(row["id"]) for row in await reading.query("api/ended", asked)}
        except JobError as error:
            _log.warning("watch_failed", error_code=error.code, error_message=error.message)
            return
        for waiting in self._waiting.values():
            for wanted in found & waiting.keys():
                _set(waiting[wanted])


def _set(events: set[asyncio.Event]) -> None:
    for event in events:
        event.set()
