"""Remove finished jobs that nobody keeps any longer, with their events; dead letters always stay."""

from typing import Protocol

from bpc_worker.jobs.store import Pruned
from bpc_worker.observability import log

_log = log.get("pruning")
_PAGE_OF_A_PASS = 500  # jobs looked at after a pass of the reaper: a million in less than a day


class Pages(Protocol):
    async def prune(self, page: int) -> Pruned | None: ...


class Pruner:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def one_page(self) -> None:
        """The next ones in the order of their ids."""
        done = await self._pages.prune(_PAGE_OF_A_PASS)
        if done is not None and done.removed_jobs:
            _log.info("jobs_pruned", count=done.removed_jobs)
