"""One PostgreSQL server, run from a folder of binaries on behalf of whichever account."""

import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal
from urllib.parse import quote

from bpc_worker.postgres.embedded.account import (
    EmbeddedPostgresError,
    passwd_entry,
    private_folder,
    run_program,
)

SUPERUSER: Final = "bpc"
NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})

_LOCALES = ("C.UTF-8", "C")  # the wheel has no ICU, and not every system has C.UTF-8
_WAIT_SECONDS = 60  # for the server to be up or down; recovery after a crash may take a while
_ORPHAN_SECONDS = 15.0  # for the children of a killed postmaster to notice and go
_PROBE_SECONDS = 10
_LOG_LINES = 20
_SHELL_CHARACTERS = frozenset('"$`\\\n')


def postmaster_pid(data_dir: Path) -> int | None:
    """The process that serves this cluster now, however stale its pid file may be."""
    try:
        pid = int((data_dir / "postmaster.pid").read_bytes().partition(b"\n")[0])
    except (FileNotFoundError, ValueError):
        return None
    # After a reboot, and soon in a container, the number belongs to somebody else.
    return pid if _serves(pid, data_dir) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Callers make sure that one process at a time calls init, start or stop for a cluster."""

    bin_dir: Path
    data_dir: Path
    socket_dir: Path
    port: int
    listen: str = ""
    account: str | None = None

    def __post_init__(self) -> None:
        if self.listen not in {"", "127.0.0.1"}:  # whoever can connect is trusted
            raise EmbeddedPostgresError(f"Refusing to listen on {self.listen!r}, only on 127.0.0.1.")
        for path in (self.bin_dir, self.data_dir, self.socket_dir):
            if not path.is_absolute() or _SHELL_CHARACTERS & set(str(path)):
                raise EmbeddedPostgresError(
                    f"{path} must be absolute and free of quotes, $, ` and backslashes, because "
                    "pg_ctl hands it to a shell: set BPC_DATA_DIR to another folder."
                )
        if "," in str(self.socket_dir):
            raise EmbeddedPostgresError(f"A comma in {self.socket_dir} would separate two hosts.")

    @property
    def log_file(self) -> Path:
        return self.data_dir.with_name("postgres.log")

    def init(self) -> None:
        """Make the cluster unless it is there; it appears whole or not at all."""
        if (self.data_dir / "PG_VERSION").exists():
            return
        fresh = self.data_dir.with_name(f"{self.data_dir.name}.new")
        said = ""
        for locale in _LOCALES:
            if fresh.exists():  # left by an initdb that was killed
                shutil.rmtree(fresh)
            private_folder(fresh, self.account)
            made = self._run("initdb", f"--pgdata={fresh}", f"--username={SUPERUSER}",
                             "--auth=trust", "--encoding=UTF8",
                             f"--locale={locale}", "--lc-messages=C")  # fmt: skip
            if made.returncode == 0:
                fresh.rename(self.data_dir)
                return
            said = said or made.stderr.strip()
        raise EmbeddedPostgresError(f"initdb could not make {self.data_dir}: {said}")

    def start(self, settings: Mapping[str, str] = NO_SETTINGS) -> None:
        """Return when the server takes connections."""
        private_folder(self.socket_dir, self.account)
        if self.postmaster_pid() is None:
            self._forget_the_dead()
        give_up = time.monotonic() + _ORPHAN_SECONDS
        while True:
            written = self._open_log()
            begun = self._pg_ctl("start", "-l", str(self.log_file), "-o", self._options(settings))
            if begun.returncode == 0:
                return
            said = self._log_since(written) or begun.stderr.strip()
            if "shared memory block" not in said or time.monotonic() > give_up:
                raise EmbeddedPostgresError(
                    f"PostgreSQL did not start with {self.data_dir}. Its log {self.log_file} "
                    f"ends with:\n{said}"
                )
            time.sleep(0.2)  # children of a killed postmaster still hold on to it

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Return when the server is gone; nothing to do is fine."""
        pid = self.postmaster_pid()
        if pid is None:
            return
        ended = self._pg_ctl("stop", "-m", mode)
        if ended.returncode != 0 and self.postmaster_pid() is not None:
            raise EmbeddedPostgresError(
                f"PostgreSQL (process {pid}) did not stop: {ended.stderr.strip()} Its log is {self.log_file}."
            )

    def running(self) -> bool:
        """Whether it can be reached: also by a container that cannot see its process."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(_PROBE_SECONDS)
            try:
                probe.connect(str(self._socket))
            except OSError:
                return False
        return True

    def postmaster_pid(self) -> int | None:
        return postmaster_pid(self.data_dir)

    def url(self, database: str, user: str = SUPERUSER) -> str:
        name, who = quote(database, safe=""), quote(user, safe="")
        if self.listen:
            return f"postgresql://{who}@{self.listen}:{self.port}/{name}"
        host = quote(os.fsencode(self.socket_dir), safe="")
        return f"postgresql://{who}@/{name}?host={host}&port={self.port}"

    @property
    def _socket(self) -> Path:
        return self.socket_dir / f".s.PGSQL.{self.port}"

    def _forget_the_dead(self) -> None:
        """PostgreSQL itself believes its old files when a zombie or a stranger has the number."""
        (self.data_dir / "postmaster.pid").unlink(missing_ok=True)
        lock = self._socket.with_name(f"{self._socket.name}.lock")
        with suppress(FileNotFoundError):
            if os.fsencode(self.data_dir) in lock.read_bytes().splitlines():
                lock.unlink()

    def _options(self, settings: Mapping[str, str]) -> str:
        chosen = {
            "shared_buffers": "32MB",
            **settings,
            "listen_addresses": self.listen,
            "port": str(self.port),
            "unix_socket_directories": str(self.socket_dir),
            "unix_socket_permissions": "0700",
        }
        return shlex.join(word for item in chosen.items() for word in ("-c", "=".join(item)))

    def _pg_ctl(self, action: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        where = ("-D", str(self.data_dir))
        return self._run("pg_ctl", action, "-w", "-t", str(_WAIT_SECONDS), *where, *arguments)

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_program([str(self.bin_dir / program), *arguments], self.account)

    def _open_log(self) -> int:
        """Give the account a log to write to, beside its cluster; return where it ends now."""
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
        log = os.open(self.log_file, flags, 0o600)
        try:
            if self.account is not None:
                owner = passwd_entry(self.account)
                os.fchown(log, owner.pw_uid, owner.pw_gid)
            return os.fstat(log).st_size
        finally:
            os.close(log)

    def _log_since(self, position: int) -> str:
        with self.log_file.open("rb") as log:
            log.seek(position)
            lines = log.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])


def _serves(pid: int, data_dir: Path) -> bool:
    """Whether the process was started for this cluster; a zombie has no command line."""
    if Path("/proc/self/cmdline").exists():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return b"\0-D\0" + os.fsencode(data_dir) + b"\0" in words
    listed = run_program(["ps", "-ww", "-o", "command=", "-p", str(pid)], None)
    return f" -D {data_dir} " in listed.stdout
