"""The development database: one PostgreSQL server per data folder, shared by all who use it."""

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import tenacity
from psycopg import sql

from bpc_worker.files.lock import FileLock
from bpc_worker.postgres.embedded.account import (
    EmbeddedPostgresError,
    account_named,
    run_program,
    unprivileged_account,
)
from bpc_worker.postgres.embedded.binaries import bin_dir_for, bundled_bin_dir, server_version
from bpc_worker.postgres.embedded.server import Server, postmaster_pid

__all__ = ["Embedded", "EmbeddedPostgresError", "start", "stop"]

_DATABASE = "bpc"
_PORT = 5432  # only part of the socket's name; the folder tells servers apart
_SOCKET_PATH_BYTES = 100  # systems stop at 103 to 107
_START_SECONDS = 200.0  # longer than another process may need to make and start the server
_RELEASE_SECONDS = 20.0
_READY_SECONDS = 30.0


class _BusyError(EmbeddedPostgresError):
    """Another process is starting or stopping the server."""


@dataclass(slots=True)
class Embedded:
    """A share in the running server, held until released or until the process dies."""

    url: str
    notice: str
    _server: Server
    _share: FileLock | None

    def drop_database(self, name: str) -> None:
        """Remove a database and everything in it, whoever is connected to it."""
        with _connect(self._server) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )

    def make_anew(self, name: str) -> None:
        """The same, and an empty one in its place."""
        self.drop_database(name)
        _create_database(self._server, name)

    def release(self) -> None:
        """Give the share back; the last one to do so stops the server."""
        share, self._share = self._share, None
        if share is None:
            return
        root = self._server.data_dir.parent
        try:
            # Whoever is busy for so long has a share as well, and leaves after us.
            with suppress(_BusyError), _translated(root), _alone(root, _RELEASE_SECONDS):
                if share.try_alone():
                    self._server.stop()
        finally:
            share.close()


def start(data_dir: str | None, database: str = _DATABASE) -> Embedded:
    """Start the server of this data folder, or join the processes that already use it."""
    root = _data_root(data_dir)
    with _translated(root):
        _claim(root)
        with _alone(root, _START_SECONDS):
            share = FileLock(root / "users.lock")
            try:
                unused = share.try_alone()
                share.try_share()  # nobody else can hold it exclusively now
                version = server_version(bundled_bin_dir())
                server = _server(_cluster(root, version))
                _bring_up(server, database, unused=unused)
            except BaseException:
                share.close()
                raise
    where = f"at {server.socket_dir} (data in {root})"
    return Embedded(
        server.url(database),
        f"embedded PostgreSQL {version} for development {where}",
        server,
        share,
    )


def stop(data_dir: str | None) -> bool:
    """Stop the server, whoever uses it; False when none was running."""
    root = _data_root(data_dir)
    with _translated(root):
        if not root.exists():
            return False
        _claim(root)
        with _alone(root, _START_SECONDS):
            alive = [cluster for cluster in _clusters(root) if postmaster_pid(cluster) is not None]
            for cluster in alive:
                _server(cluster).stop()
    return bool(alive)


def _data_root(data_dir: str | None) -> Path:
    if sys.platform == "win32":
        raise EmbeddedPostgresError(
            "There is no embedded PostgreSQL for Windows: set BPC_DATABASE_URL, or use WSL."
        )
    if not data_dir and os.geteuid() == 0:
        return Path("/var/lib/bpc-worker")  # root's home is closed to the server's account
    try:
        return (Path(data_dir).expanduser() if data_dir else _user_data() / "bpc-worker").resolve()
    except RuntimeError:
        raise EmbeddedPostgresError(
            "This user has no home folder to keep the data in: set BPC_DATA_DIR to a folder."
        ) from None


def _user_data() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    chosen = Path(os.environ.get("XDG_DATA_HOME", ""))
    return chosen if chosen.is_absolute() else Path.home() / ".local" / "share"


def _claim(root: Path) -> None:
    """Make sure that the folder is ours. The server's account owns single folders in it only."""
    if not root.exists():
        root.mkdir(parents=True, exist_ok=True)
        root.chmod(0o711 if os.geteuid() == 0 else 0o700)
    owner = root.stat().st_uid
    if owner != os.geteuid():
        raise EmbeddedPostgresError(
            f"{root} belongs to user id {owner} and this process runs as {os.geteuid()}: "
            "run it as that user, or set BPC_DATA_DIR to a folder of your own."
        )


def _clusters(root: Path) -> list[Path]:
    return [path for path in root.glob("postgres-*") if re.fullmatch(r"postgres-\d+", path.name)]


def _cluster(root: Path, version: str) -> Path:
    """The folder of this major version. A server cannot read the files of another one."""
    wanted = root / f"postgres-{version.partition('.')[0]}"
    present = _clusters(root)
    if present and wanted not in present:
        found = ", ".join(str(path) for path in present)
        raise EmbeddedPostgresError(
            f"{found} was made by another major release of PostgreSQL, which {version} cannot "
            "read. Nothing was changed. To keep the data, install the release of bpc-worker that "
            "made it, dump the database with pg_dump and load it here; to begin afresh, move the "
            "folder away."
        )
    return wanted


def _server(cluster: Path) -> Server:
    root = cluster.parent
    account = _account(cluster)
    if account is not None:
        _refuse_closed(root, account)
    return Server(
        bin_dir=bin_dir_for(account, root),
        data_dir=cluster,
        socket_dir=_socket_dir(cluster),
        port=_PORT,
        account=account,
    )


def _account(cluster: Path) -> str | None:
    """Whoever owns the cluster goes on running it, even if a better account has appeared since."""
    chosen = unprivileged_account()
    if chosen is None or not cluster.exists():
        return chosen
    return account_named(cluster.stat().st_uid)


def _refuse_closed(root: Path, account: str) -> None:
    def enters(folder: Path) -> bool:
        return run_program(["test", "-x", str(folder)], account).returncode == 0

    if enters(root):
        return
    closed = next(folder for folder in (*reversed(root.parents), root) if not enters(folder))
    raise EmbeddedPostgresError(
        f"As root the server runs under the account {account}, which cannot enter {closed}: open "
        "that folder to it, or set BPC_DATA_DIR to one that it can reach, below /var/lib say."
    )


def _socket_dir(cluster: Path) -> Path:
    inside = cluster.with_name(f"{cluster.name}.run")
    length = len(os.fsencode(inside / f".s.PGSQL.{_PORT}"))
    if length < _SOCKET_PATH_BYTES and "," not in str(inside):  # a comma separates hosts in a URL
        return inside
    name = hashlib.sha256(os.fsencode(cluster)).hexdigest()[:16]
    return Path(tempfile.gettempdir()).resolve() / f"bpc-worker-{name}"


def _bring_up(server: Server, database: str, *, unused: bool) -> None:
    server.init()
    if not server.running():
        pid = server.postmaster_pid()
        if pid is not None and not unused:
            raise EmbeddedPostgresError(
                f"PostgreSQL (process {pid}) serves {server.data_dir} for other processes, but not "
                f"at {server.socket_dir}: give this process their TMPDIR, or stop the server with "
                "'bpc-worker db stop'."
            )
        server.stop()  # in case it lives but its socket was cleaned away
        server.start()
    _create_database(server, database)


def _create_database(server: Server, database: str) -> None:
    # A server that recovers from a crash turns everybody away for a moment.
    patiently = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(psycopg.OperationalError),
        stop=tenacity.stop_after_delay(_READY_SECONDS),
        wait=tenacity.wait_fixed(0.1),
        reraise=True,
    )
    try:
        with patiently(_connect, server) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone()
            if known is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
    except psycopg.Error as error:
        raise EmbeddedPostgresError(
            f"PostgreSQL runs but does not answer: {error} Its log is {server.log_file}."
        ) from error


def _connect(server: Server) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(server.url("postgres"), autocommit=True, connect_timeout=10)


@contextmanager
def _translated(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EmbeddedPostgresError(
            f"Cannot keep the embedded PostgreSQL in {root}: {error}. "
            "Set BPC_DATA_DIR to a folder of yours on a local disk, or BPC_DATABASE_URL."
        ) from error


@contextmanager
def _alone(root: Path, at_most: float) -> Iterator[None]:
    """Be the only process that starts, joins, leaves or stops this server."""
    lock = FileLock(root / "start.lock")
    try:
        if not lock.wait_alone(at_most):
            raise _BusyError(
                f"Another process has been starting or stopping the PostgreSQL in {root} for "
                f"{at_most:.0f} s: look for it, and at {root / 'postgres.log'}."
            )
        yield
    finally:
        lock.close()
