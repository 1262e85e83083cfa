"""How a statement travels: over a session of ours, or over one that a pooler lends by the transaction.

What a session of ours is told when it begins (limits, plans) a pooler refuses or forgets. There every
statement takes it along: both travel in one trip, which is one transaction.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, tuple_row

from bpc_worker.postgres.pipeline import Statement, Table, execute_pipelined, fetch_pipelined, set_local
from bpc_worker.postgres.sql_files import Prepared, numbered
from bpc_worker.postgres.wire import Connection

Text = bytes | sql.Composed
Params = Mapping[str, object]

BEGIN = Statement(Prepared(b"BEGIN", ()))


class OwnSession:
    async def begin(self, connection: Connection) -> None:
        await connection.execute(b"BEGIN")

    async def fetch(self, connection: Connection, statement: Text, params: Params | None) -> list[DictRow]:
        cursor = await connection.execute(statement, params)
        return await cursor.fetchall() if cursor.description is not None else []

    async def tuples(
        self, connection: Connection, statement: Prepared, params: Params
    ) -> list[tuple[Any, ...]]:
        cursor = connection.tuples
        if cursor is None:  # to make one costs as much as to use it
            cursor = connection.tuples = psycopg.AsyncRawCursor(connection, row_factory=tuple_row)
        await cursor.execute(statement.text, [params[name] for name in statement.names])
        return await cursor.fetchall()

    async def copy(self, connection: Connection, statement: bytes, blocks: Iterable[bytes]) -> None:
        async with connection.cursor().copy(statement) as copy:
            for block in blocks:
                await copy.write(block)


class LentSession:
    async def begin(self, connection: Connection) -> None:
        await execute_pipelined(connection, None, [BEGIN, set_local(connection.local_settings)])

    async def fetch(self, connection: Connection, statement: Text, params: Params | None) -> list[DictRow]:
        if connection.info.transaction_status is not TransactionStatus.IDLE:
            return await OWN.fetch(connection, statement, params)
        text = statement if isinstance(statement, bytes) else statement.as_bytes(connection)
        asked = Prepared(text, ()) if params is None else numbered(text)
        columns, rows = await self._ask(connection, Statement(asked, params or {}))
        return [dict(zip(columns, row, strict=True)) for row in rows]

    async def tuples(
        self, connection: Connection, statement: Prepared, params: Params
    ) -> list[tuple[Any, ...]]:
        return [*(await self._ask(connection, Statement(statement, params))).rows]

    async def _ask(self, connection: Connection, asked: Statement) -> Table:
        together = (set_local(connection.local_settings), asked)
        return (await fetch_pipelined(connection, None, together))[-1]

    async def copy(self, connection: Connection, statement: bytes, blocks: Iterable[bytes]) -> None:
        await self.begin(connection)
        try:
            await OWN.copy(connection, statement, blocks)
        except psycopg.Error:
            await connection.execute(b"ROLLBACK")
            raise
        await connection.execute(b"COMMIT")


OWN, LENT = OwnSession(), LentSession()
