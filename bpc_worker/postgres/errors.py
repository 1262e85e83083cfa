"""SQLSTATE -> which family of error it is. Classified by class, not by a list of codes."""

import psycopg
from psycopg.abc import ConnDict
from psycopg.conninfo import conninfo_to_dict

from bpc_worker.jobs.errors import (
    Code,
    JobError,
    Permanent,
    Retryable,
    RunAgain,
    SchemaMismatch,
    TakesNoWrites,
    Unavailable,
)

_INFRASTRUCTURE = ("08", "57P0", "53300", "58030")
_READ_ONLY = ("25006",)
_RUN_AGAIN = ("40001", "40P01", "55P03")
_RETRYABLE = ("53", "57014")
_PERMANENT = ("22", "23", "54")  # 54: more than PostgreSQL can hold
_QUOTES_VALUES = ("22",)
_OUR_OWN_MISTAKE = ("42",)


def translate(error: psycopg.Error) -> JobError:
    """Only the primary message is kept: details and contexts may quote stored values."""
    state = error.sqlstate
    if state is None:
        return _without_an_answer(error)
    said = None if state.startswith(_QUOTES_VALUES) else error.diag.message_primary
    message = f"{said or type(error).__name__} (SQLSTATE {state})"
    if state.startswith(_RUN_AGAIN):
        return RunAgain(state, message)
    if state.startswith(_READ_ONLY):
        return TakesNoWrites(Code.DB_UNAVAILABLE, message, detail={"sqlstate": state})
    if state.startswith(_INFRASTRUCTURE):
        return Unavailable(Code.DB_UNAVAILABLE, message, detail={"sqlstate": state})
    if state.startswith(_PERMANENT):
        return Permanent(Code.VALIDATION_ERROR, message, detail={"sqlstate": state})
    if state.startswith(_OUR_OWN_MISTAKE):
        return SchemaMismatch(state, message)
    if state.startswith(_RETRYABLE):
        return Retryable(Code.DB_UNAVAILABLE, message, detail={"sqlstate": state})
    return Retryable(Code.INTERNAL_ERROR, message, detail={"sqlstate": state})


def _without_an_answer(error: psycopg.Error) -> JobError:
    """Errors that the server did not send: a lost connection, or a value the driver cannot send."""
    match error:
        case psycopg.DataError():
            return Permanent(Code.VALIDATION_ERROR, _first_line(error))
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return Unavailable(Code.DB_UNAVAILABLE, f"no database: {_first_line(error)}")
        case _:
            return Retryable(Code.INTERNAL_ERROR, _first_line(error))


def _first_line(error: psycopg.Error) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def read_url(url: str) -> ConnDict:
    """What libpq finds in it. What libpq cannot read it quotes, passwords too: that is left out."""
    try:
        return conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        said = str(error).partition('"')[0].rstrip(": \n")
        raise psycopg.OperationalError(f"{said} in the database's URL") from None
