"""Several statements in one trip to the server and back.

psycopg's own pipeline mode is made for hundreds of them: for the handful of a transaction it takes more of
our time than one trip for each.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import psycopg
from psycopg import abc, generators
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import DictRow

from bpc_worker.postgres.sql_files import Prepared

_MOST_NAMES = 100
_numbers = count()

_Form = tuple[bytes, tuple[int, ...]]  # a statement, and the types of its values
Names = dict[_Form, bytes]  # of what a server has prepared for a connection


class Statement(NamedTuple):
    """A statement of a trip. When one fails, those behind it do not take place."""

    statement: Prepared
    params: Mapping[str, object] = {}
    refusal: str | None = None  # the SQLSTATE with which the statement itself says no


def set_local(settings: Mapping[str, str]) -> Statement:
    """Until the end of the transaction."""
    return Statement(_set_local(tuple(settings)), settings)


@cache
def _set_local(names: tuple[str, ...]) -> Prepared:
    calls = (f"set_config('{name}', ${number}, true)" for number, name in enumerate(names, start=1))
    return Prepared(f"SELECT {', '.join(calls)}".encode(), names)


class RefusedError(Exception):
    """A statement has said no."""


class Table(NamedTuple):
    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]


class _Values(NamedTuple):
    """Of a statement, as they are sent."""

    values: Sequence[Any] = ()
    types: tuple[int, ...] = ()
    formats: Sequence[Any] = ()


async def execute_pipelined(
    connection: psycopg.AsyncConnection[Any], names: Names | None, asked: Sequence[Statement]
) -> list[list[DictRow]]:
    """The rows of each. Without `names` nothing is prepared."""
    found = await fetch_pipelined(connection, names, asked)
    return [[dict(zip(columns, row, strict=True)) for row in rows] for columns, rows in found]


async def fetch_pipelined(
    connection: psycopg.AsyncConnection[Any], names: Names | None, asked: Sequence[Statement]
) -> list[Table]:
    """The same as plain tuples. Outside a transaction all of them together are one."""
    adapting, pgconn = Transformer(connection), connection.pgconn
    dumped = [_dump(adapting, ask) for ask in asked]  # what cannot be sent is found out before anything is
    pgconn.enter_pipeline_mode()
    new: Names = {}
    prepared = [_send(pgconn, names, new, *each) for each in zip(asked, dumped, strict=True)]
    pgconn.pipeline_sync()
    results = iter(await connection.wait(_conversation(pgconn)))
    pgconn.exit_pipeline_mode()
    rows = []
    for ask, first in zip(asked, prepared, strict=True):
        if first:
            _check(next(results), ask)
        rows.append(_table(adapting, next(results), ask))
    if names is not None:
        names.update(new)
    return rows


def _dump(adapting: abc.Transformer, ask: Statement) -> _Values:
    values = [ask.params[name] for name in ask.statement.names]
    if not values:
        return _Values()
    dumped = adapting.dump_sequence(values, [PyFormat.AUTO] * len(values))
    return _Values(dumped, adapting.types or (), adapting.formats or ())


def _send(pgconn: PGconn, names: Names | None, new: Names, ask: Statement, given: _Values) -> bool:
    """Whether the server prepares it first, which has an answer of its own."""
    text, form = ask.statement.text, (ask.statement.text, given.types)
    # BEGIN has no plan that is worth keeping.
    if names is None or not given.values or len(names) >= _MOST_NAMES:
        pgconn.send_query_params(text, *given)
        return False
    name = names.get(form) or new.get(form)
    is_new = name is None
    if name is None:
        name = new[form] = b"bpc_%d" % next(_numbers)
        pgconn.send_prepare(name, text, given.types)
    pgconn.send_query_prepared(name, given.values, given.formats)
    return is_new


def _conversation(pgconn: PGconn) -> PQGen[list[PGresult]]:
    """From the first byte to the last answer: one for each statement, and one for each that is prepared."""
    yield from generators.send(pgconn)
    results: list[PGresult] = []
    while True:
        try:
            answer = yield from generators.fetch_many(pgconn)
        except psycopg.OperationalError:
            answer = []
        if not answer:  # the connection broke; perhaps the server has said why
            failed = [error_from_result(each) for each in results if each.status == ExecStatus.FATAL_ERROR]
            raise failed[0] if failed else psycopg.OperationalError("the connection broke")
        if answer[-1].status == ExecStatus.PIPELINE_SYNC:
            return results
        results.append(answer[-1])


def _check(result: PGresult, ask: Statement) -> None:
    if result.status in {ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK}:
        return
    error = error_from_result(result)
    if ask.refusal is not None and error.sqlstate == ask.refusal:
        raise RefusedError from error
    raise error


def _table(adapting: abc.Transformer, result: PGresult, ask: Statement) -> Table:
    _check(result, ask)
    if not result.nfields:
        return Table((), ())
    columns = [(result.fname(number) or b"").decode() for number in range(result.nfields)]
    adapting.set_pgresult(result)
    return Table(columns, adapting.load_rows(0, result.ntuples, tuple))
