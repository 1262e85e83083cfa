"""The removal of what ended long ago, a page at a time, by the owner's function."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from bpc_worker.jobs.store import Pruned
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import maybe

_PAGE_OF_A_WALK = 5_000


class JobPages:
    def __init__(
        self, link: Link, kept_days: Mapping[str, int], *, call_timeout: float, now: datetime | None = None
    ) -> None:
        self._link = link
        self._kept_days = msgspec.json.encode(dict(kept_days)).decode()
        self._timeout = call_timeout
        self.now = now  # None: the database's clock; tests move their own

    async def prune(self, page: int) -> Pruned | None:
        """What became of the next page; None while somebody else is at it."""
        params = {"now": self.now, "kept_days": self._kept_days, "page": page}
        return maybe(await self._link.run(query("jobs/prune"), params, timeout=self._timeout), Pruned)


async def walk(pages: JobPages) -> Pruned | None:
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
