"""One database connection: made when needed, never waited for without limit, dropped when in doubt."""

import asyncio
import math
import os
import socket
import time
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import sql, waiting
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row, tuple_row

from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.errors import translate
from bpc_worker.postgres.pipeline import Names, Statement, execute_pipelined
from bpc_worker.postgres.sql_files import Prepared

T = TypeVar("T")

_LATELY = 1.0  # second


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


class Link:
    """One connection, used by one task at a time."""

    def __init__(self, dsn: Dsn) -> None:
        self.dsn = dsn
        self._connection: Connection | None = None
        self._answered_at = -math.inf
        self._busy = asyncio.Lock()

    async def run(
        self,
        statement: bytes | sql.Composed,
        params: Mapping[str, object] | None = None,
        *,
        timeout: float,
    ) -> list[DictRow]:
        """The rows of one statement, or an error of our own families within `timeout` seconds."""
        return await self._within(lambda connection: _fetch(connection, statement, params), timeout)

    async def tuples(
        self, statement: Prepared, params: Mapping[str, object], *, timeout: float
    ) -> list[tuple[Any, ...]]:
        """The same as plain tuples, for the statements that bring many rows."""
        return await self._within(lambda connection: _fetch_tuples(connection, statement, params), timeout)

    async def execute_pipelined(self, asked: Sequence[Statement], *, timeout: float) -> list[list[DictRow]]:
        """The rows of each of several statements, in one trip. The first that fails is the error.

        RefusedError when that is one that said no; the connection is dropped then.
        """
        return await self._within(
            lambda connection: execute_pipelined(connection, connection.names, asked), timeout
        )

    async def copy(self, statement: bytes, blocks: Iterable[bytes], *, timeout: float) -> None:
        """COPY … FROM STDIN."""
        await self._within(lambda connection: _copy(connection, statement, blocks), timeout)

    async def committing(
        self,
        statement: bytes,
        params: Mapping[str, object],
        meanwhile: Callable[[list[DictRow]], None],
        *,
        timeout: float,
    ) -> list[DictRow]:
        """The rows of one statement in a transaction of its own, told as soon as its COMMIT has been sent.

        What was sent outlives us; until then, the death of this process undoes the statement.
        """
        return await self._within(
            lambda connection: _commit(connection, statement, params, meanwhile), timeout
        )

    @asynccontextmanager
    async def transaction(self, *, timeout: float) -> AsyncIterator[None]:
        """For one task alone: others must not use this link meanwhile."""
        await self.run(b"BEGIN", timeout=timeout)
        try:
            yield
        except BaseException:
            if self._connection is not None:  # else it is gone, and with it the transaction
                await self.run(b"ROLLBACK", timeout=timeout)
            raise
        await self.run(b"COMMIT", timeout=timeout)

    @contextmanager
    def watched(self, on_notify: Callable[[], None]) -> Iterator[asyncio.Future[None]]:
        """Hear notifications on the idle connection; the future fails when the line breaks."""
        connection, loop = self._connection, asyncio.get_running_loop()
        if connection is None:
            raise Unavailable(Code.DB_UNAVAILABLE, "no database: the connection is closed")
        broken: asyncio.Future[None] = loop.create_future()

        def readable() -> None:
            try:
                connection.pgconn.consume_input()
                heard = False
                while connection.pgconn.notifies() is not None:
                    heard = True
            except psycopg.Error as error:
                loop.remove_reader(wire)
                if not broken.done():
                    broken.set_exception(translate(error))
                return
            if heard:
                on_notify()

        wire = connection.fileno()
        loop.add_reader(wire, readable)
        try:
            yield broken
        finally:
            loop.remove_reader(wire)
            broken.cancel()

    async def _within(self, work: Callable[[Connection], Coroutine[object, object, T]], timeout: float) -> T:
        async with self._busy:
            connection = await self._connected()
            connection.answer_by = time.monotonic() + timeout
            try:
                answer = await work(connection)
            except NoAnswerError as error:
                self.drop()
                message = f"the database did not answer within {timeout:g} s"
                raise Unavailable(Code.DB_UNAVAILABLE, message) from error
            except psycopg.Error as error:
                translated = translate(error)
                if isinstance(translated, Unavailable) or connection.closed or connection.broken:
                    self.drop()
                raise translated from error
            except BaseException:
                self.drop()
                raise
            self._answered_at = time.monotonic()
            return answer

    async def _connected(self) -> Connection:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        threshold = 5 if self.dsn.prepared_statements else None
        try:
            async with asyncio.timeout(self.dsn.connect_seconds):
                self._connection = await Connection.connect(
                    self.dsn.conninfo(),
                    autocommit=True,
                    row_factory=dict_row,
                    prepare_threshold=threshold,
                )
                self._connection.names = {} if self.dsn.prepared_statements else None
        except psycopg.Error as error:
            raise Unavailable(Code.DB_UNAVAILABLE, f"no database: {str(error).splitlines()[0]}") from error
        except TimeoutError as error:
            raise Unavailable(
                Code.DB_UNAVAILABLE, f"no database: no answer in {self.dsn.connect_seconds:g} s"
            ) from error
        return self._connection

    @property
    def idle(self) -> bool:
        """Connected, and outside any transaction."""
        connection = self._connection
        return (
            connection is not None
            and not connection.closed
            and connection.info.transaction_status is TransactionStatus.IDLE
        )

    @property
    def answered_lately(self) -> bool:
        """Whether there is little doubt that somebody is there."""
        return self._connection is not None and time.monotonic() - self._answered_at < _LATELY

    def drop(self) -> None:
        """Cut the wire without asking the server: it may be stopped, and we must not wait for it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.tuples = None  # break the reference cycle: it would wait for the collector
            sever(connection)
            connection.pgconn.finish()


async def _commit(
    connection: Connection,
    statement: bytes,
    params: Mapping[str, object],
    meanwhile: Callable[[list[DictRow]], None],
) -> list[DictRow]:
    await connection.execute(b"BEGIN")
    try:
        rows = await _fetch(connection, statement, params)
    except psycopg.Error:
        await connection.rollback()
        raise
    committing = asyncio.ensure_future(connection.commit())
    await asyncio.sleep(0)  # by now it is sent
    meanwhile(rows)
    await committing
    return rows


async def _fetch(
    connection: Connection, statement: bytes | sql.Composed, params: Mapping[str, object] | None
) -> list[DictRow]:
    cursor = await connection.execute(statement, params)
    return await cursor.fetchall() if cursor.description is not None else []


async def _fetch_tuples(
    connection: Connection, statement: Prepared, params: Mapping[str, object]
) -> list[tuple[Any, ...]]:
    cursor = connection.tuples
    if cursor is None:  # to make one costs as much as to use it
        cursor = connection.tuples = psycopg.AsyncRawCursor(connection, row_factory=tuple_row)
    await cursor.execute(statement.text, [params[name] for name in statement.names])
    return await cursor.fetchall()


async def _copy(connection: Connection, statement: bytes, blocks: Iterable[bytes]) -> None:
    async with connection.cursor().copy(statement) as copy:
        for block in blocks:
            await copy.write(block)


def sever(connection: Connection) -> None:
    if connection.closed:
        return
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)
    except (OSError, psycopg.Error):
        pass  # it was gone already
