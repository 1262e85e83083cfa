"""One unchanging view of the rows that somebody may see."""

from collections.abc import Mapping
from typing import TypeVar

from bpc_worker.handler_api import Row
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.pipeline import Statement, set_local
from bpc_worker.postgres.sql_files import Prepared, prepared
from bpc_worker.rows import all_of, maybe, one

T = TypeVar("T")

# Filters that are not given are NULL, and a plan that is kept for all cases would heed no index.
_PLANS = {"plan_cache_mode": "force_custom_plan"}
_BEGIN = Statement(Prepared(b"BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", ()))


class Reading:
    """Queries of sql/queries, in one transaction that writes nothing."""

    def __init__(self, link: Link, settings: Mapping[str, str], seconds: float) -> None:
        self._link = link
        self._ahead: list[Statement] = [_BEGIN, set_local({**link.local_settings, **_PLANS, **settings})]
        self._seconds = seconds

    async def query(self, name: str, params: Mapping[str, object]) -> list[Row]:
        ahead, self._ahead = self._ahead, []
        asked = [*ahead, Statement(prepared(name), params)]
        return [*(await self._link.execute_pipelined(asked, timeout=self._seconds))[-1]]

    async def rows(self, name: str, record: type[T], **params: object) -> list[T]:
        return all_of(await self.query(name, params), record)

    async def maybe(self, name: str, record: type[T], **params: object) -> T | None:
        return maybe(await self.query(name, params), record)

    async def one(self, name: str, record: type[T], what: str, **params: object) -> T:
        """NOT_FOUND, in the same words for what is another tenant's and what nobody has."""
        return one(await self.query(name, params), record, what)

    async def end(self) -> None:
        if not self._ahead:
            await self._link.run(b"COMMIT", timeout=self._seconds)
