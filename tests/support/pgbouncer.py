"""A real pgbouncer in transaction mode: `BPC_TEST_PGBOUNCER`, an installed one, or Debian's, installed now.

With BPC_TEST_POOLER=1 every process that `tests.support.worker` starts comes to its database by way of one.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from bpc_worker.postgres.embedded.account import unprivileged_account
from bpc_worker.postgres.embedded.server import SUPERUSER
from tests.support.database import free_port
from tests.support.rabbitmq import Unavailable, install_package, or_skip
from tests.support.waiting import until

ON = os.environ.get("BPC_TEST_POOLER") == "1"


def find() -> str:
    """The program."""
    known = os.environ.get("BPC_TEST_PGBOUNCER") or shutil.which("pgbouncer", path=_path())
    if known is not None:
        return known
    log = install_package("pgbouncer", "pgbouncer.service")
    installed = shutil.which("pgbouncer", path=_path())
    if installed is None:
        raise Unavailable(f"pgbouncer could not be installed:\n{log[-4000:]}")
    return installed


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin"


class Pooler:
    """In front of one server, for every database and login of it."""

    def __init__(self, server_port: int, *settings: str) -> None:
        self._program = or_skip(find)
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="bpc-pgbouncer-"))
        self.folder.chmod(0o777)  # it gives up root's rights
        lines = (
            "[databases]",
            f"* = host=127.0.0.1 port={server_port} auth_user={SUPERUSER}",
            "[pgbouncer]",
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =",
            "auth_type = trust\nauth_query = SELECT rolname, NULL::text FROM pg_roles WHERE rolname = $1",
            "pool_mode = transaction\nmax_client_conn = 1000\nserver_login_retry = 1",
            f"logfile = {self.folder}/log",
            *settings,
        )
        (self.folder / "ini").write_text("\n".join(lines))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Pooler":
        account = unprivileged_account() if os.geteuid() == 0 else None
        as_account = ["-u", account] if account else []
        self._process = subprocess.Popen(
            [self._program, *as_account, str(self.folder / "ini")], stderr=subprocess.DEVNULL
        )
        log = self.folder / "log"
        until(lambda: log.exists() and "listening on" in log.read_text(), within=20, what="pgbouncer")
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, direct: str) -> str:
        """The same database and login by way of it."""
        parts = urlsplit(direct)
        return urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{self.port}"))


@contextmanager
def pooler(server_port: int, *settings: str) -> Iterator[Pooler]:
    made = Pooler(server_port, *settings)
    try:
        yield made.start()
    finally:
        made.stop()


@cache
def pooler_of(server_port: int) -> Pooler:
    """One for each server of this session."""
    made = Pooler(server_port)
    atexit.register(made.stop)
    return made.start()


def settings_for(url: str) -> dict[str, str]:
    """Of a process whose database this is."""
    port = urlsplit(url).port
    if port is None:  # it has none, or its own
        return {}
    return {
        "BPC_DATABASE_URL": pooler_of(port).url(url),
        "BPC_DATABASE_DIRECT_URL": url,
        "BPC_DB_PREPARED_STATEMENTS": "off",
    }
