"""Is there a database, is it one we can work with, and does anything stand in between?"""

import re
from collections.abc import Iterator

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from bpc_worker import wiring
from bpc_worker.config.settings import Settings
from bpc_worker.doctor.findings import Case, Finding, quoted
from bpc_worker.observability.log import redact
from bpc_worker.postgres.errors import read_url

_AFTER_THE_HOSTS = re.compile("[/?#]")
_OLDEST = 140000
_OLDEST_TESTED = 150000
_WHY = "without it no job is claimed, settled or reaped"


def connect(settings: Settings, url: str) -> psycopg.Connection[DictRow]:
    """As a worker connects, but also to a server that only reads."""
    conninfo = make_conninfo(wiring.dsn(settings, url).conninfo(), target_session_attrs="any")
    return psycopg.connect(conninfo, autocommit=True, row_factory=dict_row, prepare_threshold=None)


def unreachable(settings: Settings, url: str, error: psycopg.Error) -> Finding:
    """Why there is no connection, as far as the words of the server tell, and what to do about it."""
    said = str(error).strip().splitlines()
    text = redact(said[0] if said else type(error).__name__)
    try:
        given = read_url(url)
    except psycopg.OperationalError:
        return _unreadable(text)
    if "startup parameter" in str(error):
        return behind_a_pooler(text)
    for words, check, fix in _refusals(quoted(given.get("dbname") or ""), quoted(given.get("user") or "")):
        if re.search(words, str(error)):
            return Finding(check=f"database.{check}", what=text, why=_WHY, fix=fix)
    hosts = _AFTER_THE_HOSTS.split(redact(url).partition("://")[2])[0].rpartition("@")[2]
    place = hosts or given.get("host") or "the default place"
    return Finding(
        check="database.unreachable",
        what=f"no database at {place}: {text}",
        why=f"{_WHY}; running jobs lose their leases after {settings.jobs.lease_seconds:g} s",
        fix=f"pg_isready --dbname={_shell(redact(url))}  # start the server, or correct BPC_DATABASE_URL",
        paste="shell",
    )


def _unreadable(said: str) -> Finding:
    """No part of it is shown: who knows which is the password."""
    return Finding(
        check="database.unreachable",
        what=f"no database: {said}",
        why=_WHY,
        fix="export BPC_DATABASE_URL=postgresql://…  # user, password and database percent-encoded",
        paste="shell",
    )


def _refusals(database: str, login: str) -> tuple[tuple[str, str, str], ...]:
    """What a server says at the door, what we call it, and what its administrator pastes."""
    may_connect = f"GRANT CONNECT ON DATABASE {database} TO {login};"
    unlimited = f"ALTER DATABASE {database} ALLOW_CONNECTIONS true CONNECTION LIMIT -1;"
    more = "ALTER SYSTEM SET max_connections = 200;  -- then restart the server"
    return (
        (r'database ".*" does not exist', "missing", f"CREATE DATABASE {database};"),
        (r'role ".*" does not exist', "no_login", f"CREATE ROLE {login} LOGIN IN ROLE bpc_worker;"),
        (r'role ".*" is not permitted to log in', "no_login", f"ALTER ROLE {login} LOGIN;"),
        (r"password authentication failed", "password", f"\\password {login}"),
        (r"permission denied for database", "no_connect", may_connect),
        (r'too many connections for role "', "full", f"ALTER ROLE {login} CONNECTION LIMIT -1;"),
        (r'too many connections for database "|not currently accepting connections', "full", unlimited),
        (r"too many clients|remaining connection slots", "full", more),
    )


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def behind_a_pooler(said: str) -> Finding:
    return Finding(
        check="database.pooler",
        what=f"a connection pooler that takes no session settings stands in between: {said}",
        why="prepared statements and settings of a session get lost between its transactions",
        fix="export BPC_DB_PREPARED_STATEMENTS=off  # and BPC_DATABASE_DIRECT_URL, past the pooler",
        paste="shell",
    )


def check(case: Case) -> Iterator[Finding]:
    server = case.row("server")
    yield from _version(server)
    yield from _writable(server)
    yield from _between(case, server)
    yield from _direct(case)


def _version(server: DictRow) -> Iterator[Finding]:
    if server["version_number"] < _OLDEST:
        yield Finding(
            check="database.version",
            what=f"PostgreSQL {server['version']} is too old: 15 to 18 are tested, 14 is the least",
            why="its SQL lacks what the statements use",
            fix="pg_upgrade --help  # upgrade the server",
            paste="shell",
        )
    elif server["version_number"] < _OLDEST_TESTED:
        yield Finding(
            check="database.version",
            what=f"PostgreSQL {server['version']} is older than what is tested (15 to 18)",
            why="it should work, and nobody has seen it",
            fix="pg_upgrade --help  # upgrade the server when you can",
            paste="shell",
            level="note",
        )


def _writable(server: DictRow) -> Iterator[Finding]:
    if server["in_recovery"]:
        yield Finding(
            check="database.read_only",
            what="the server is a standby: it only reads",
            why="no job can be claimed there; a worker waits until it may write",
            fix="SELECT pg_promote();  -- or give BPC_DATABASE_URL the primary's address",
        )


def _between(case: Case, server: DictRow) -> Iterator[Finding]:
    """What we asked the session to have is what it has, unless somebody in between has dropped it."""
    if not case.settings.database.prepared_statements or read_url(case.url).get("options"):
        return
    wanted = round(case.settings.database.statement_timeout_seconds * 1000)
    found = {row["name"]: row["setting"] for row in case.rows("settings")}["statement_timeout"]
    if int(found) != wanted:
        yield behind_a_pooler(f"statement_timeout is {found} ms, and {wanted} ms were asked for")
    elif server["client_port"] and server["client_port"] != _own_port(case.connection):
        yield Finding(
            check="database.between",
            what="something stands in between: the server sees another port than the one we came from",
            why="a proxy or an address translation is fine; a pooler in transaction mode is not",
            fix="export BPC_DB_PREPARED_STATEMENTS=off  # only if it is a pooler in transaction mode",
            paste="shell",
            level="note",
        )


def _direct(case: Case) -> Iterator[Finding]:
    """LISTEN is a state of the session, which a pooler in transaction mode does not keep."""
    url, settings = case.settings.database.direct_url, case.settings
    if url is None:
        if settings.notify.enabled and not settings.database.prepared_statements:
            yield _deaf("LISTEN would go through the pooler, which does not pass notifications on")
        return
    try:
        connect(settings, url).close()
    except psycopg.Error as error:
        yield _deaf(f"BPC_DATABASE_DIRECT_URL leads nowhere: {redact(str(error).splitlines()[0])}")


def _deaf(what: str) -> Finding:
    return Finding(
        check="database.direct_url",
        what=what,
        why="workers poll only: jobs start up to a poll interval later, and none is lost",
        fix="export BPC_NOTIFY_ENABLED=off; unset BPC_DATABASE_DIRECT_URL  # or set it, past the pooler",
        paste="shell",
    )


def _own_port(connection: psycopg.Connection[DictRow]) -> int | None:
    import os
    import socket

    with socket.socket(fileno=os.dup(connection.fileno())) as wire:
        name = wire.getsockname()
    return int(name[1]) if isinstance(name, tuple) else None
