"""Rows that are too many to hold, page by page, with a look at the next one."""

from collections.abc import AsyncIterator
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from bpc_worker.core.audit.checkpoint import ChainKey
from bpc_worker.domain.event_chain import OfChain
from bpc_worker.handler_api import Tx
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import all_of

PAGE = 500


class Keyed(Protocol):
    @property
    def key(self) -> ChainKey: ...


Streamed = TypeVar("Streamed", bound=Keyed)
Record = TypeVar("Record", bound=OfChain)


class Stream(Generic[Streamed]):
    """Rows in order of chain."""

    def __init__(self, rows: AsyncIterator[Streamed]) -> None:
        self._rows = rows
        self._ahead: Streamed | None = None
        self._ended = False

    async def key(self) -> ChainKey | None:
        """Of the next row."""
        if self._ahead is None and not self._ended:
            self._ahead = await anext(self._rows, None)
            self._ended = self._ahead is None
        return None if self._ahead is None else self._ahead.key

    async def take(self, key: ChainKey) -> Streamed | None:
        """The next row, if it is of this chain."""
        if await self.key() != key:
            return None
        taken, self._ahead = self._ahead, None
        return taken


async def rows_of(tx: Tx, name: str, tenant_id: UUID, record: type[Record]) -> AsyncIterator[Record]:
    """The rows of a query from a cursor on the server; the first page comes without a sort."""
    cursor = name.replace("/", "_")
    await tx.execute("SET LOCAL cursor_tuple_fraction = 0.000001")
    declare = f"DECLARE {cursor} NO SCROLL CURSOR FOR {query(name).decode()}"
    await tx.execute(declare, {"tenant_id": tenant_id})
    while page := all_of(await tx.execute(f"FETCH FORWARD {PAGE} FROM {cursor}"), record):
        for row in page:
            yield row
