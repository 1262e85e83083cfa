"""Where a bench takes place: one real PostgreSQL, fresh databases, the programs of the peers."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.migrate import migrate
from tests.support.database import Database, postgres
from tests.support.rabbitmq import Broker, get_broker
from tests.support.worker import until

ROOT: Final = Path(__file__).parents[2]
PEERS: Final = Path(__file__).parent / "peers"
PEERS_PYTHON: Final = ROOT / ".venv-bench" / "bin" / "python"
# What initdb would have written: our own server starts smaller.
DEFAULTS: Final = {"shared_buffers": "128MB", "max_connections": "100"}
LOG_PREFIX: Final = "~%d~"  # the database, for whoever counts statements
OURS: Final = "ours"
_SESSIONS: Final = "SELECT FROM pg_stat_activity WHERE datname = %s"


class Program:
    """A process that answers in JSON lines."""

    def __init__(self, words: list[str], asked: Mapping[str, object]) -> None:
        self._name = f"{Path(words[-1]).name} {asked['do']}"
        self._process = subprocess.Popen(
            [*words, json.dumps(asked)],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PG"))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended with code {self._process.wait(10)} without an answer")
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer

    def tell(self, text: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._process.kill()
        self._process.wait(timeout=10)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


@contextmanager
def program(words: list[str], **asked: object) -> Iterator[Program]:
    started = Program(words, asked)
    try:
        yield started
    finally:
        started.end()


def peer(name: str) -> list[str]:
    """How a peer's program is started: with the Python of its own environment."""
    if not PEERS_PYTHON.exists():
        raise SystemExit("the peers are not installed: make .venv-bench/.ready")
    return [str(PEERS_PYTHON), str(PEERS / f"{name}_peer.py")]


def module(name: str) -> list[str]:
    """How a program of ours is started."""
    return [sys.executable, "-m", f"tests.bench.{name}"]


class Bench:
    """One run: the server all entrants share, how many rounds, how much of everything."""

    def __init__(self, server: Server, opened: ExitStack, *, rounds: int, quick: bool) -> None:
        self.server = server
        self.rounds = rounds
        self.quick = quick
        self._opened = opened
        self._broker: Broker | None = None
        self._numbers = count(1)
        self._templates: set[str] = set()

    def much(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    @property
    def broker_url(self) -> str:
        """A real RabbitMQ, started when first asked for."""
        if self._broker is None:
            self._broker = get_broker()
            self._opened.callback(self._broker.close)
        return self._broker.url

    @contextmanager
    def database(self, template: str = OURS) -> Iterator[Database]:
        """A fresh database: ours (without the tests' history triggers), or that of a peer."""
        if template not in self._templates:
            make_template(self.server, template)
            self._templates.add(template)
        with fresh_database(self.server, f"bench_{next(self._numbers)}", template) as made:
            yield made

    def log(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def make_template(server: Server, name: str) -> None:
    """A database with our schema, or with that of a peer, to be copied."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(f"template_{name}")))
    url = server.url(f"template_{name}")
    if name == OURS:
        migrate(url)
        return
    with program(peer(name), do="install", url=url) as installing:
        installing.hear()
    # Its last session may still be on its way out, and a template must have none.
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        until(lambda: not connection.execute(_SESSIONS, [f"template_{name}"]).fetchall(), within=10)


@contextmanager
def fresh_database(server: Server, name: str, template: str) -> Iterator[Database]:
    names = sql.Identifier(name), sql.Identifier(f"template_{template}")
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
    try:
        yield Database(server, server.url(name))
    finally:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def settle_down(db: Database) -> None:
    """Before anything is timed: statistics are true, and no checkpoint is owed for the preparations."""
    db.run("VACUUM ANALYZE")
    db.run("CHECKPOINT")


@contextmanager
def opened(*, rounds: int, quick: bool) -> Iterator[Bench]:
    with ExitStack() as stack:
        server = stack.enter_context(postgres({**DEFAULTS, "log_line_prefix": LOG_PREFIX}))
        yield Bench(server, stack, rounds=rounds, quick=quick)
