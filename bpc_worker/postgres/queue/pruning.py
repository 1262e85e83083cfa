"""The removal of what ended long ago, a page at a time, by the owner's functions."""

from collections.abc import Mapping

import msgspec

from bpc_worker.jobs.store import Pruned
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import maybe

FEWEST_DAYS_BY_HAND = 30  # the function that operators may call knows the same
_PAGE_OF_A_WALK = 5_000


class JobPages:
    """As workers remove it: with rests between two pages, which they all share."""

    def __init__(self, link: Link, kept_days: Mapping[str, int], *, call_timeout: float) -> None:
        self._link = link
        self._kept_days = msgspec.json.encode(dict(kept_days)).decode()
        self._timeout = call_timeout

    async def prune(self, page: int) -> Pruned | None:
        """What became of the next page; None while somebody else is at it, or all rest."""
        params = {"kept_days": self._kept_days, "page": page}
        return maybe(await self._link.run(query("jobs/prune"), params, timeout=self._timeout), Pruned)


async def walk(link: Link, kept_days: Mapping[str, int], *, page_timeout: float) -> Pruned | None:
    """By hand: all that is old, from the beginning and without a rest. None: somebody else is at it.

    Of types that are kept for less than the fewest days, what is older than those; workers remove the rest.
    """
    by_hand = {name: days and max(days, FEWEST_DAYS_BY_HAND) for name, days in kept_days.items()}
    params = {"kept_days": msgspec.json.encode(by_hand).decode(), "page": _PAGE_OF_A_WALK}
    looked_at = removed_jobs = removed_events = 0
    at_the_end, anew = False, True
    while not at_the_end:
        rows = await link.run(query("operator/prune"), params | {"anew": anew}, timeout=page_timeout)
        done = maybe(rows, Pruned)
        if done is None:
            return None
        looked_at += done.looked_at
        removed_jobs += done.removed_jobs
        removed_events += done.removed_events
        at_the_end, anew = done.at_the_end, False
    return Pruned(looked_at, removed_jobs, removed_events, at_the_end=True)
