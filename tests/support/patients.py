"""Databases to make ill: on a server of their own, migrated and otherwise bare, with a login for a worker."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

import psycopg
from click.testing import CliRunner
from psycopg.rows import dict_row

from bpc_worker.cli import main
from bpc_worker.observability import log
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.migrate import migrate
from tests.support.reloads import reloaded
from tests.support.worker import COMMAND, environment

TEMPLATE = "patient_template"
_numbers = count(1)
SEED = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI="  # 32 times the letter B
SALTS = "Q0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0M="  # 32 times the letter C
STATUS_SEED = "REREREREREREREREREREREREREREREREREREREREREQ="  # 32 times the letter D
_secrets = TemporaryDirectory(prefix="bpc-keys-")  # gone with this process


def secret_file(text: str) -> str:
    """Where production has its keys: in files that nobody else reads."""
    path = Path(_secrets.name) / f"{next(_numbers)}"
    path.touch(mode=0o600)
    path.write_text(text)
    return str(path)


@dataclass(frozen=True)
class Found:
    """What the doctor printed, as a program reads it."""

    code: int
    findings: list[dict[str, str]]
    unseen: list[str]
    text: str

    def names(self) -> set[str]:
        return {each["check"] for each in self.findings}

    def wrong(self) -> list[str]:
        return [f"{each['check']}: {each['what']}" for each in self.findings if each["level"] == "wrong"]

    def one(self, check: str) -> dict[str, str]:
        found = [each for each in self.findings if each["check"] == check]
        assert len(found) == 1, f"{check}: {self.text}"
        return found[0]


def found(code: int, *said: str) -> Found:
    text = "".join(said)
    lines = [line for line in text.splitlines() if line.startswith('{"well"')]
    assert len(lines) == 1, f"{code}: {text}"
    answer = json.loads(lines[0])
    return Found(code, answer["findings"], answer["unseen"], text)


@dataclass
class Patient:
    """One database, the login of its worker, and the worker's settings."""

    server: Server
    name: str
    login: str
    folder: Path
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self._url(self.login, self.name)

    @property
    def superuser_url(self) -> str:
        return self.server.url(self.name)

    def _url(self, login: str, name: str) -> str:
        parts = urlsplit(self.server.url(name))
        return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc.rpartition('@')[2]}"))

    def run(self, statement: str) -> list[dict[str, object]]:
        """As the superuser."""
        connected = psycopg.connect(self.superuser_url, autocommit=True, row_factory=dict_row)
        with self._heeded(statement), connected as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []

    def tenant(self, name: str = "acme") -> str:
        [row] = self.run(f"INSERT INTO tenants (name) VALUES ('{name}') RETURNING tenant_id")
        tenant_id = str(row["tenant_id"])
        self.run(f"INSERT INTO id_hosts (host, tenant_id) VALUES ('{tenant_id}.example', '{tenant_id}')")
        return tenant_id

    def environment(self) -> dict[str, str]:
        programs = f"{Path(COMMAND[0]).parent}:{self.server.bin_dir}:{os.environ['PATH']}"
        return environment(self.url, **self.settings) | {"PATH": programs}

    def examined(self, *options: str) -> Found:
        """`bpc-worker doctor`, inside this process."""
        names = [name for name in os.environ if name.startswith("BPC_")]
        given: dict[str, str | None] = {**dict.fromkeys(names), **self.environment()}
        ran = CliRunner(env=given).invoke(main, ["doctor", "--json", *options])
        log.configure(level="debug", fmt="json", strict=True)  # as it was before
        assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exc_info
        return found(ran.exit_code, ran.stdout)

    def examined_after(self, pasted: str) -> Found:
        """`bpc-worker doctor` as a process, in the shell in which something was pasted before."""
        ran = subprocess.run(
            ["bash", "-c", f"set -e\n{pasted}\nexec bpc-worker doctor --json"],
            env=self.environment(), cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return found(ran.returncode, ran.stdout, ran.stderr)

    def paste(self, statements: str, *, into: str | None = None) -> str:
        """Into psql, as a superuser would."""
        with self._heeded(statements):
            ran = subprocess.run(
                [self.server.bin_dir / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-",
                 self.server.url(into or self.name)],
                input=statements, capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
        assert ran.returncode == 0, f"{statements}\n{ran.stderr}"
        return ran.stdout

    def _heeded(self, statements: str) -> AbstractContextManager[None]:
        return reloaded(self.server) if "pg_reload_conf()" in statements else nullcontext()


def make_template(server: Server) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}".encode())
    migrate(server.url(TEMPLATE))


@contextmanager
def patient(
    server: Server, folder: Path, settings: Mapping[str, object], *, template: str = TEMPLATE
) -> Iterator[Patient]:
    number = next(_numbers)
    name, login = f"patient_{number}", f"worker_{number}"
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        connection.execute(f"CREATE ROLE {login} LOGIN IN ROLE bpc_worker, pg_monitor".encode())
    try:
        yield Patient(server, name, login, folder, dict(settings))
    finally:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
            connection.execute(f"DROP ROLE IF EXISTS {login}".encode())
