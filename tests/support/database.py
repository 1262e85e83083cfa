"""A real PostgreSQL for the tests: one server per session, one database per test, cloned from a template."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from bpc_worker.postgres.embedded.account import unprivileged_account
from bpc_worker.postgres.embedded.binaries import bin_dir_for, bundled_bin_dir
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.migrate import migrate
from tests.support import oracle

Params = Sequence[object] | Mapping[str, object] | None

_TEMPLATE = "bpc_template"
# Tests end processes, never the machine: what the kernel has been given is safe.
NO_FSYNC = {"fsync": "off", "full_page_writes": "off"}
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
_ROOM = 8 * 2**30
_numbers = count(1)
_over: dict[Path, list[str]] = {}  # by server: databases of tests that have ended

EFFECTS = """
CREATE TABLE test_effects (
  job_id uuid NOT NULL, key text NOT NULL, attempt integer NOT NULL, pid integer NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT, INSERT ON test_effects TO bpc_worker;
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _bin_dir(account: str | None, root: Path) -> Path:
    """`BPC_TEST_PG_BIN` names the programs of another PostgreSQL, to run the suite on it."""
    other = os.environ.get("BPC_TEST_PG_BIN")
    if other:
        return Path(other)
    return bin_dir_for(account, root) if account is not None else bundled_bin_dir()


def memory() -> Path | None:
    """A file system in memory with room for some servers, where there is one."""
    try:
        found = os.statvfs(_MEMORY)
    except OSError:
        return None
    has_room = found.f_bavail * found.f_frsize >= _ROOM
    return _MEMORY if has_room and not found.f_flag & os.ST_NOEXEC else None


@contextmanager
def postgres(settings: Mapping[str, str] | None = None, *, in_memory: bool = False) -> Iterator[Server]:
    """A private server on a free loopback port, stopped and removed at the end.

    In memory it does the same, but waits for no disk: for tests that make many databases, never for figures.
    """
    account = unprivileged_account() if os.geteuid() == 0 else None
    root = Path(tempfile.mkdtemp(prefix="bpc-pg-", dir=memory() if in_memory else None))
    root.chmod(0o711)
    server = Server(
        bin_dir=_bin_dir(account, root),
        data_dir=root / "data",
        socket_dir=root / "run",
        port=free_port(),
        listen="127.0.0.1",
        account=account,
    )
    try:
        server.init()
        server.start({"max_connections": "200", **(settings or {})})
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(root, ignore_errors=True)


@dataclass(frozen=True)
class Database:
    """One test's own database."""

    server: Server
    url: str

    @contextmanager
    def connect(self, role: str | None = None) -> Iterator[psycopg.Connection[dict[str, object]]]:
        """As the superuser, or as a login that is a member of one of our roles."""
        url = self.url_as(role) if role else self.url
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            yield connection

    def url_as(self, role: str) -> str:
        """A login of its own that has just that role."""
        login = f"{role}_login"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL(
                    "DO $$ BEGIN CREATE ROLE {login} LOGIN;"
                    " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
                ).format(login=sql.Identifier(login))
            )
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), sql.Identifier(login)))
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc.rpartition('@')[2]}"))

    def run(self, statement: str, params: Params = None) -> list[dict[str, object]]:
        with self.connect() as connection:
            cursor = connection.execute(statement.encode(), params)
            return cursor.fetchall() if cursor.description is not None else []

    def one(self, statement: str, params: Params = None) -> dict[str, object]:
        [row] = self.run(statement, params)
        return row

    def tenant(self, name: str = "acme") -> str:
        row = self.one(
            "INSERT INTO tenants (name) VALUES (%s)"
            " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING tenant_id",
            [name],
        )
        return str(row["tenant_id"])

    def enqueue(self, job_type: str, payload: str = "{}", **columns: object) -> str:
        """A plain INSERT, as any program would make it."""
        names = ["tenant_id", "type", "payload", *columns]
        values = [self.tenant(), job_type, payload, *columns.values()]
        marks = ", ".join(["%s"] * len(names))
        row = self.one(f"INSERT INTO jobs ({', '.join(names)}) VALUES ({marks}) RETURNING job_id", values)
        return str(row["job_id"])

    def job(self, job_id: str) -> dict[str, object]:
        return self.one("SELECT * FROM jobs WHERE job_id = %s", [job_id])

    def events(self, job_id: str) -> list[str]:
        rows = self.run("SELECT type FROM job_events WHERE job_id = %s ORDER BY job_event_id", [job_id])
        return [str(row["type"]) for row in rows]

    def check_history(self, *, nothing_left: bool = True) -> None:
        with self.connect() as connection:
            oracle.check(connection, nothing_left=nothing_left)


def make_template(server: Server) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_TEMPLATE)))
    migrate(server.url(_TEMPLATE))
    with psycopg.connect(server.url(_TEMPLATE), autocommit=True) as connection:
        connection.execute(EFFECTS)
        oracle.install(connection)


@contextmanager
def database(server: Server) -> Iterator[Database]:
    """Dropped before the next one is made: by then no session of its test is about to end."""
    name = f"bpc_{os.getpid()}_{next(_numbers)}"
    over = _over.setdefault(server.data_dir, [])
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        while over:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(over[-1])))
            over.pop()
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY {}").format(
                sql.Identifier(name), sql.Identifier(_TEMPLATE), sql.Identifier(_strategy(connection))
            )
        )
    try:
        yield Database(server, server.url(name))
    finally:
        over.append(name)


def _strategy(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    """To copy files takes two checkpoints, which are cheap where no disk is waited for."""
    return "file_copy" if connection.execute("SHOW fsync").fetchone() == ("off",) else "wal_log"
