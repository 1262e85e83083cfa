"""One database connection: made when needed, never waited for without limit, dropped when in doubt."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.errors import translate
from bpc_worker.postgres.gate import GATE, Allowance, Backend, Gate
from bpc_worker.postgres.sql_files import query
from bpc_worker.postgres.trips import LENT, OWN, Connection, Line

T = TypeVar("T")

_LATELY = 1.0  # second
_CHECK_CLIENT = "client_connection_check_interval"
_CHECK_CLIENT_MS = "1000"

_numbers = count(1)


class Link(Line):
    """One connection, used by one task at a time."""

    def __init__(self, dsn: Dsn, allowance: Allowance | None = None, *, gate: Gate = GATE) -> None:
        super().__init__(OWN if dsn.prepared_statements else LENT)
        self.dsn = dsn
        self._allowance = allowance or Allowance()
        self._gate = gate
        self._mark = dsn.marked(next(_numbers))
        self._begin_with: Mapping[str, str] = {}

    def begin_with(self, settings: Mapping[str, str]) -> None:
        """Every transaction from now on begins with these, a single statement too: also `role`."""
        self._begin_with, self._trips = settings, LENT
        if self._connection is not None:
            self._connection.local_settings = self._settings(self._connection)

    def _settings(self, connection: Connection | None) -> dict[str, str]:
        checks = connection is not None and connection.checks_client and not self.dsn.prepared_statements
        own = self.dsn.local_settings(self._mark) | ({_CHECK_CLIENT: _CHECK_CLIENT_MS} if checks else {})
        return {**own, **self._begin_with}

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
            lambda connection: self._commit(connection, statement, params, meanwhile), timeout
        )

    async def _commit(
        self,
        connection: Connection,
        statement: bytes,
        params: Mapping[str, object],
        meanwhile: Callable[[list[DictRow]], None],
    ) -> list[DictRow]:
        await self._trips.begin(connection)
        try:
            rows = await self._trips.fetch(connection, statement, params)
        except psycopg.Error:
            await connection.rollback()
            raise
        committing = asyncio.ensure_future(connection.commit())
        await asyncio.sleep(0)  # by now it is sent
        meanwhile(rows)
        await committing
        return rows

    @asynccontextmanager
    async def transaction(self, *, timeout: float) -> AsyncIterator[None]:
        """For one task alone: others must not use this link meanwhile."""
        await self._within(self._trips.begin, timeout)
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
            raise _away("the connection is closed")
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

    async def _connected(self) -> Connection:
        await self._turn()
        connection = await self._connect()
        self._gate.made(self._allowance)
        if self._allowance.is_stuck:
            connection.cut()
            raise _away("it has not answered two statements, and is still at work on them")
        self._connection = connection
        return connection

    async def _turn(self) -> None:
        limit = self.dsn.connect_timeout
        try:
            async with asyncio.timeout(limit):
                await self._gate.turn(self._allowance)
        except TimeoutError as error:
            raise _away(f"others were to connect first, for {limit:g} s") from error

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(self.dsn.connect_seconds):
                return await self._begin_session()
        except psycopg.Error as error:
            self._gate.failed(self._allowance)
            raise _away(str(error).splitlines()[0]) from error
        except TimeoutError as error:
            self._gate.failed(self._allowance)
            raise _away(f"no answer in {self.dsn.connect_seconds:g} s") from error
        except BaseException:
            self._gate.left(self._allowance)
            raise

    async def _begin_session(self) -> Connection:
        own = self.dsn.prepared_statements
        connection = await Connection.connect(
            self.dsn.conninfo(),
            autocommit=True,
            row_factory=dict_row,
            prepare_threshold=5 if own else None,
        )
        try:
            connection.names = {} if own else None
            connection.checks_client = await self._checks_client(connection)
            connection.local_settings = self._settings(connection)
            if self._allowance.unanswered:
                self._allowance.unanswered &= await self._still_at_work(connection)
        except BaseException:
            connection.cut()
            raise
        return connection

    async def _checks_client(self, connection: Connection) -> bool:
        """Not every server can, on every system."""
        params = {"milliseconds": _CHECK_CLIENT_MS, "local": not self.dsn.prepared_statements}
        try:
            return bool(await OWN.fetch(connection, query("schema/check_client"), params))
        except psycopg.DataError:
            return False

    async def _still_at_work(self, connection: Connection) -> set[Backend]:
        """Of the statements that we gave up, those that the server has not."""
        left = self._allowance.unanswered
        params = {
            "pids": [each for each in left if isinstance(each, int)],
            "marks": [each for each in left if isinstance(each, str)],
        }
        as_login = OWN if self.dsn.prepared_statements else LENT
        rows = await as_login.fetch(connection, query("schema/unanswered"), params)
        return {row["pid"] for row in rows} | {row["mark"] for row in rows}

    @property
    def local_settings(self) -> Mapping[str, str]:
        """What every transaction begins with, behind a pooler."""
        return self._settings(self._connection)

    @property
    def idle(self) -> bool:
        """Connected, and outside any transaction."""
        found = self._connection
        if found is None or found.closed:
            return False
        return found.info.transaction_status is TransactionStatus.IDLE

    @property
    def answered_lately(self) -> bool:
        """Whether there is little doubt that somebody is there."""
        return self._connection is not None and time.monotonic() - self._answered_at < _LATELY

    def drop(self) -> None:
        """Cut the wire; the server has nothing to do for us and notices at once."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.cut()
            self._gate.closed(self._allowance)

    def _give_up(self, connection: Connection) -> None:
        """The server may be at work on what it was asked, whether or not we wait for it."""
        self._connection = None
        own = self.dsn.prepared_statements
        self._allowance.unanswered.add(connection.pgconn.backend_pid if own else self._mark)
        self._mark = self.dsn.marked(next(_numbers))
        self._gate.lost()
        connection.cut()


def _away(why: str) -> Unavailable:
    return Unavailable(Code.DB_UNAVAILABLE, f"no database: {why}")
