"""Several statements in one trip to the server and back.

psycopg's own pipeline mode is made for hundreds of them: for the handful of a transaction it takes more of
our time than one trip for each.
"""

from collections.abc import Iterator, Mapping, Sequence
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


class RefusedError(Exception):
    """A statement has said no."""


class _Values(NamedTuple):
    """Of a statement, as they are sent."""

    values: Sequence[Any] = ()
    types: tuple[int, ...] = ()
    formats: Sequence[Any] = ()


async def execute_pipelined(
    connection: psycopg.AsyncConnection[Any], names: Names | None, asked: Sequence[Statement]
) -> list[list[DictRow]]:
    """The rows of each. Without `names` nothing is prepared."""
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
        rows.append([*_rows(adapting, next(results), ask)])
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


def _rows(adapting: abc.Transformer, result: PGresult, ask: Statement) -> Iterator[DictRow]:
    _check(result, ask)
    if not result.nfields:
        return
    columns = [(result.fname(number) or b"").decode() for number in range(result.nfields)]
    adapting.set_pgresult(result)
    for row in adapting.load_rows(0, result.ntuples, tuple):
        yield dict(zip(columns, row, strict=True))
