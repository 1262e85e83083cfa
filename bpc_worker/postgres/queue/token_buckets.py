"""Token buckets in PostgreSQL: whoever names the same key shares one rate."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import one


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """So many a second on average, and up to `burst` at once after a quiet time."""

    key: str
    per_second: float

    @property
    def burst(self) -> float:
        return max(1.0, self.per_second)


class Taken(msgspec.Struct, frozen=True):
    taken: int
    wait_seconds: float  # until there is one more


class Buckets:
    def __init__(self, link: Link, *, call_timeout: float, now: datetime | None = None) -> None:
        self._link = link
        self._timeout = call_timeout
        self.now = now  # None: the database's clock; tests move their own

    async def take(self, limit: Limit, wanted: int = 1) -> Taken:
        """Up to `wanted` tokens."""
        params = {
            "now": self.now,
            "key": limit.key,
            "per_second": limit.per_second,
            "burst": limit.burst,
            "wanted": wanted,
        }
        return one(await self._link.run(query("limits/take"), params, timeout=self._timeout), Taken, "bucket")
