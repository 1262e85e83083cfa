"""The removal of what ended long ago, a page at a time, by the owner's function."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from bpc_worker.adapters.postgres.link import Link
from bpc_worker.adapters.sql_files import query
from bpc_worker.ports import Pruned
from bpc_worker.rows import maybe


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
