"""Remove finished jobs that nobody keeps any longer, with their events; dead letters always stay."""

from typing import Protocol

from bpc_worker import log
from bpc_worker.ports import Pruned

_log = log.get("pruning")
_PAGE_OF_A_PASS = 500  # jobs looked at after a pass of the reaper: a million in less than a day
_PAGE_OF_A_WALK = 5_000


class Pages(Protocol):
    async def prune(self, page: int) -> Pruned | None: ...


class Pruner:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def one_page(self) -> None:
        """A chore of the reaper's."""
        done = await self._pages.prune(_PAGE_OF_A_PASS)
        if done is not None and done.removed_jobs:
            _log.info("jobs_pruned", count=done.removed_jobs)


async def walk(pages: Pages) -> Pruned | None:
    """To the end of the table, from wherever the last walk came to, and once more from its beginning.

    None: somebody else is at it.
    """
    looked_at = removed_jobs = removed_events = ends = 0
    while ends < 2:  # noqa: PLR2004 - the rest, and the whole
        done = await pages.prune(_PAGE_OF_A_WALK)
        if done is None:
            return None
        looked_at += done.looked_at
        removed_jobs += done.removed_jobs
        removed_events += done.removed_events
        ends += done.at_the_end
    return Pruned(looked_at, removed_jobs, removed_events, at_the_end=True)
