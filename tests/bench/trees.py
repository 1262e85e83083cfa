"""Checkouts of this project, driven from outside: their installed command, SQL, files. Their modules may have
any names.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from bpc_worker.postgres.embedded.server import Server
from tests.support.database import Database
from tests.support.worker import Worker

SITE: Final = Path(__file__).parent / "site"  # handlers that need nothing but `handler_api`
COMMAND_SECONDS: Final = 120
_numbers = count(1)


@dataclass(frozen=True)
class Tree:
    """One checkout with an environment of its own."""

    name: str
    path: Path

    @property
    def python(self) -> Path:
        return self.path / ".venv" / "bin" / "python"

    def prepare(self) -> None:
        """Install what it needs, where that was not done yet."""
        if not (self.path / ".venv" / ".ready").exists():
            subprocess.run(["make", "-C", str(self.path), "setup"], check=True)

    def command(self, url: str, *arguments: str, **settings: object) -> str:
        """One of its commands, to its end; what it printed."""
        done = subprocess.run(
            [str(self.path / ".venv" / "bin" / "bpc-worker"), *arguments],
            cwd=self.path, env=environment(url, settings), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: bpc-worker {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    @contextmanager
    def worker(self, url: str, **settings: object) -> Iterator[Worker]:
        running = _WorkerOf(self, url, **settings)
        try:
            yield running
        finally:
            running.end()

    @contextmanager
    def database(self, server: Server, template: str | None = None) -> Iterator[Database]:
        """A fresh one, by its own migrations or as a copy."""
        name = f"{self.name}_{next(_numbers)}"
        _administer(server, "CREATE DATABASE {} TEMPLATE {}", name, template or "template0")
        try:
            if template is None:
                self.command(server.url(name), "migrate")
            yield Database(server, server.url(name))
        finally:
            _administer(server, "DROP DATABASE {} WITH (FORCE)", name)


def environment(url: str, settings: Mapping[str, object]) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PG", "PYTHON"))
    }
    ours = {"BPC_DATABASE_URL": url, "BPC_HTTP_PORT": 0, "BPC_LOG_FORMAT": "json", "PYTHONPATH": SITE}
    return kept | {name: str(value) for name, value in {**ours, **settings}.items()}


class _WorkerOf(Worker):
    """`bpc-worker run` of a tree."""

    def __init__(self, tree: Tree, url: str, **settings: object) -> None:
        self.program = (str(tree.path / ".venv" / "bin" / "bpc-worker"),)
        super().__init__(url, PYTHONPATH=SITE, **{"BPC_LOG_LEVEL": "info", **settings})
        self._logs_json = False  # which keys its lines may have is for its own tests


def _administer(server: Server, statement: str, *names: str) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
