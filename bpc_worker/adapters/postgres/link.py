"""One database connection: made when needed, never waited for without limit, dropped when in doubt."""

import asyncio
import os
import socket
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from bpc_worker.adapters.postgres.errors import translate
from bpc_worker.jobs.errors import Code, Unavailable

T = TypeVar("T")
Connection = psycopg.AsyncConnection[DictRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dsn:
    """How connections are made: the address, and the limits that hold on both ends."""

    url: str
    application_name: str
    connect_timeout: float = 5.0
    statement_timeout: float = 30.0
    lock_timeout: float = 5.0
    idle_in_transaction_timeout: float = 30.0
    prepared_statements: bool = True  # off behind pgbouncer, which also refuses session settings

    def conninfo(self) -> str:
        given = conninfo_to_dict(self.url)
        wanted: dict[str, str | int] = {
            "application_name": self.application_name[:63],
            "connect_timeout": max(2, round(self.connect_timeout)),
            "target_session_attrs": "read-write",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
        }
        if self.prepared_statements:
            wanted["options"] = self._options()
        return make_conninfo(self.url, **{k: v for k, v in wanted.items() if k not in given})

    def _options(self) -> str:
        settings = {
            "statement_timeout": self.statement_timeout,
            "lock_timeout": self.lock_timeout,
            "idle_in_transaction_session_timeout": self.idle_in_transaction_timeout,
        }
        limits = [f"-c {name}={round(seconds * 1000)}" for name, seconds in settings.items()]
        return " ".join([*limits, "-c tcp_keepalives_idle=30", "-c tcp_keepalives_interval=10"])


class Link:
    """One connection, used by one task at a time."""

    def __init__(self, dsn: Dsn) -> None:
        self._dsn = dsn
        self._connection: Connection | None = None
        self._busy = asyncio.Lock()

    async def run(
        self,
        statement: bytes | sql.Composed,
        params: Mapping[str, object] | None = None,
        *,
        timeout: float,
    ) -> list[DictRow]:
        """The rows of one statement, or an error of our own families within `timeout` seconds."""
        async with self._busy:
            connection = await self._connected()
            try:
                return await bounded(connection, _fetch(connection, statement, params), timeout)
            except psycopg.Error as error:
                translated = translate(error)
                if isinstance(translated, Unavailable) or connection.closed or connection.broken:
                    self.drop()
                raise translated from error
            except BaseException:  # a time-out or a cancellation: `bounded` has cut the wire
                self._connection = None
                raise

    async def _connected(self) -> Connection:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        threshold = 5 if self._dsn.prepared_statements else None
        try:
            async with asyncio.timeout(self._dsn.connect_timeout):
                self._connection = await psycopg.AsyncConnection.connect(
                    self._dsn.conninfo(),
                    autocommit=True,
                    row_factory=dict_row,
                    prepare_threshold=threshold,
                )
        except psycopg.Error as error:
            raise Unavailable(Code.DB_UNAVAILABLE, f"no database: {str(error).splitlines()[0]}") from error
        except TimeoutError as error:
            raise Unavailable(
                Code.DB_UNAVAILABLE, f"no database: no answer in {self._dsn.connect_timeout:g} s"
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

    def drop(self) -> None:
        """Cut the wire without asking the server: it may be stopped, and we must not wait for it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            sever(connection)
            connection.pgconn.finish()


async def _fetch(
    connection: Connection, statement: bytes | sql.Composed, params: Mapping[str, object] | None
) -> list[DictRow]:
    cursor = await connection.execute(statement, params)
    return await cursor.fetchall() if cursor.description is not None else []


async def bounded(connection: Connection, work: Coroutine[object, object, T], seconds: float) -> T:
    """The result of `work`, or Unavailable after `seconds`, whatever the server does.

    Cancelling a psycopg call asks the server to cancel and waits for the answer, which a stopped server never
    gives. So the call runs as a task of its own; on a time-out or a cancellation its socket is shut down, on
    which the call ends by itself, unobserved.
    """
    call = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({call}, timeout=seconds)
    except asyncio.CancelledError:
        _abandon(connection, call)
        raise
    if not done:
        _abandon(connection, call)
        raise Unavailable(Code.DB_UNAVAILABLE, f"the database did not answer within {seconds:g} s")
    return call.result()


def _abandon(connection: Connection, call: asyncio.Future[T]) -> None:
    def finished(ended: asyncio.Future[T]) -> None:
        if not ended.cancelled():
            ended.exception()  # seen, so that asyncio does not complain about it
        connection.pgconn.finish()  # not before: the loop still watches the socket for the call

    call.add_done_callback(finished)
    sever(connection)


def sever(connection: Connection) -> None:
    if connection.closed:
        return
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)
    except (OSError, psycopg.Error):
        pass  # it was gone already
