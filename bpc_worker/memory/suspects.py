"""Suspects in memory: the watch over them, as its one row in PostgreSQL has it, and who may take one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from datetime import datetime

from bpc_worker.jobs.model import Claim
from bpc_worker.jobs.store import Caps, Look
from bpc_worker.memory.heaps import rank
from bpc_worker.memory.ring import SharedCaps
from bpc_worker.memory.rows import Row
from bpc_worker.memory.table import Table


class SuspectsInMemory(ABC):
    """The part of the store that is about them."""

    table: Table

    @abstractmethod
    def _lease_from_now(self) -> tuple[datetime, datetime]:
        """Now, and the end of a lease that begins now."""

    @abstractmethod
    def _mine(self, now: datetime, leaving_out: Collection[str] = ()) -> Callable[[Row], bool]: ...

    @abstractmethod
    def _begin(self, row: Row, now: datetime) -> Claim: ...

    async def watch_suspects(self, watcher: str) -> bool:
        now, until = self._lease_from_now()
        watch = self.table.suspect_watch
        if self._suspect(now) is None or not (watch.owner == watcher or watch.until <= now):
            return False
        watch.owner, watch.until = watcher, until
        return True

    async def keep_suspects(self, watcher: str, *, give_up: bool = False) -> bool:
        now, until = self._lease_from_now()
        watch = self.table.suspect_watch
        if watch.owner != watcher:
            return False
        watch.until = now if give_up else until
        return True

    async def claim_suspect(self, watcher: str, *, caps: Caps | None = None, careful: bool = False) -> Look:  # noqa: ARG002 - nothing is refused here
        now, _ = self._lease_from_now()
        suspect = self._suspect(now, SharedCaps(caps or {}).empty)
        if suspect is None or not self.table.suspect_watch.is_held_by(watcher, now):
            return Look()
        return Look(claims=[self._begin(suspect, now)])

    def _suspect(self, now: datetime, leaving_out: Collection[str] = ()) -> Row | None:
        """The one whose turn it is."""
        self.table.heaps.promote(now)
        mine = self._mine(now, leaving_out)
        ready = (row for row in self.table.heaps.ready() if row.suspect and mine(row))
        return min(ready, key=rank, default=None)
