"""How a statement travels, over psycopg's connection, and how long anybody waits for its answer.

Over a session of ours, or over one that a pooler lends by the transaction. What a session of ours is told
when it begins (limits, plans) a pooler refuses or forgets: there every statement takes it along, and both
travel in one trip, which is one transaction.
"""

import asyncio
import math
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg import sql, waiting
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, tuple_row

from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.postgres.errors import translate
from bpc_worker.postgres.pipeline import (
    Names,
    Statement,
    Table,
    execute_pipelined,
    fetch_pipelined,
    set_local,
)
from bpc_worker.postgres.sql_files import Prepared, numbered

T = TypeVar("T")

Text = bytes | sql.Composed
Params = Mapping[str, object]

BEGIN = Statement(Prepared(b"BEGIN", ()))


class NoAnswerError(psycopg.OperationalError):
    """The time is up."""


class Connection(psycopg.AsyncConnection[DictRow]):
    """One that waits for its server until a given moment and not longer, whatever happens.

    psycopg, when a call is cancelled, asks the server to cancel it too and waits for that: a stopped server
    never answers. Here a call that was cancelled or is late is over at once, and its connection with it.
    """

    answer_by: float = math.inf  # by time.monotonic()
    tuples: psycopg.AsyncRawCursor[tuple[Any, ...]] | None = None
    names: Names | None = None
    local_settings: Mapping[str, str] = {}  # of every transaction, behind a pooler
    checks_client: bool = False  # whether its server notices by itself that we are gone

    async def wait(
        self,
        gen: Generator[Any, Any, T],
        interval: float = 0.0,  # noqa: ARG002 - nothing but the server and the time can end this wait
        timeout: float | None = None,  # noqa: ARG002 - ours is `answer_by`
    ) -> T:
        left = max(0.001, self.answer_by - time.monotonic())
        patience = left if math.isfinite(left) else None
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval=min(left, 60), timeout=patience)
        except asyncio.CancelledError:
            self.answer_by = -math.inf  # psycopg's tidying up waits for nothing either
            raise
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - it has no other name
            self.answer_by = -math.inf
            raise NoAnswerError("no answer in time") from error

    @property
    def was_given_up(self) -> bool:
        """By us, while the server still owed an answer."""
        return self.answer_by == -math.inf

    def cut(self) -> None:
        """Without asking the server: it may be stopped, and we must not wait for it."""
        self.tuples = None  # break the reference cycle: it would wait for the collector
        if not self.closed:
            try:
                with socket.socket(fileno=os.dup(self.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)
            except (OSError, psycopg.Error):
                pass  # it was gone already
        self.pgconn.finish()


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
    """Also over a session of ours whose every transaction is somebody else's."""

    async def begin(self, connection: Connection) -> None:
        await execute_pipelined(connection, connection.names, [BEGIN, set_local(connection.local_settings)])

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
        return (await fetch_pipelined(connection, connection.names, together))[-1]

    async def copy(self, connection: Connection, statement: bytes, blocks: Iterable[bytes]) -> None:
        await self.begin(connection)
        try:
            await OWN.copy(connection, statement, blocks)
        except psycopg.Error:
            await connection.execute(b"ROLLBACK")
            raise
        await connection.execute(b"COMMIT")


OWN, LENT = OwnSession(), LentSession()


class Line(ABC):
    """Statements over one connection: one at a time, each with a limit, and errors of our own families.

    How the connection is made, and what becomes of one in doubt, is not known here.
    """

    def __init__(self, trips: OwnSession | LentSession) -> None:
        self._trips = trips
        self._connection: Connection | None = None
        self._answered_at = -math.inf
        self._busy = asyncio.Lock()

    async def run(
        self,
        statement: Text,
        params: Mapping[str, object] | None = None,
        *,
        timeout: float,
    ) -> list[DictRow]:
        """The rows of one statement, or an error of our own families within `timeout` seconds."""
        return await self._within(
            lambda connection: self._trips.fetch(connection, statement, params), timeout
        )

    async def tuples(
        self, statement: Prepared, params: Mapping[str, object], *, timeout: float
    ) -> list[tuple[Any, ...]]:
        """The same as plain tuples, for the statements that bring many rows."""
        return await self._within(
            lambda connection: self._trips.tuples(connection, statement, params), timeout
        )

    async def execute_pipelined(self, asked: Sequence[Statement], *, timeout: float) -> list[list[DictRow]]:
        """The rows of each of several statements, in one trip. The first that fails is the error.

        RefusedError when that is one that said no; the connection is dropped then.
        """
        return await self._within(
            lambda connection: execute_pipelined(connection, connection.names, asked), timeout
        )

    async def copy(self, statement: bytes, blocks: Iterable[bytes], *, timeout: float) -> None:
        """COPY … FROM STDIN."""
        await self._within(lambda connection: self._trips.copy(connection, statement, blocks), timeout)

    async def _within(self, work: Callable[[Connection], Coroutine[object, object, T]], timeout: float) -> T:
        async with self._busy:
            connection = self._connection
            if connection is None or connection.closed:
                connection = await self._connected()
            connection.answer_by = time.monotonic() + timeout
            try:
                answer = await work(connection)
            except NoAnswerError as error:
                self._give_up(connection)
                message = f"the database did not answer within {timeout:g} s"
                raise Unavailable(Code.DB_UNAVAILABLE, message) from error
            except psycopg.Error as error:
                translated = translate(error)
                if isinstance(translated, Unavailable) or connection.closed or connection.broken:
                    self._give_up(connection)
                raise translated from error
            except BaseException:
                if connection.was_given_up:
                    self._give_up(connection)
                else:
                    self.drop()
                raise
            self._answered_at = time.monotonic()
            return answer

    @abstractmethod
    async def _connected(self) -> Connection:
        """A new one."""

    @abstractmethod
    def drop(self) -> None:
        """Cut the wire; the server has nothing to do for us and notices at once."""

    @abstractmethod
    def _give_up(self, connection: Connection) -> None:
        """The server may be at work on what it was asked, whether or not we wait for it."""
