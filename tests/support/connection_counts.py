"""How many connections a worker has, and how often it asks for one."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bpc_worker.config.load import load
from bpc_worker.wiring import ConnectionBudget, connection_budget
from tests.support.database import Database
from tests.support.worker import environment

_OF_WORKERS = (
    "SELECT count(*) AS n FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name LIKE 'bpc-worker%'"
)


def budget(db: Database, **settings: object) -> ConnectionBudget:
    """Of a worker with these settings."""
    env = environment(db.url, **settings)
    return connection_budget(load(env=env))


@dataclass
class Counted:
    """Backends of all workers, five times a second."""

    seen: list[int] = field(default_factory=list)

    @property
    def most(self) -> int:
        return max(self.seen)

    @property
    def told(self) -> str:
        """One number for every five seconds."""
        return " ".join(map(str, self.seen[::25]))


@contextmanager
def counted(db: Database) -> Iterator[Counted]:
    found, over = Counted(), threading.Event()

    def look() -> None:
        with db.connect() as connection:
            while not over.wait(0.2):
                row = connection.execute(_OF_WORKERS.encode()).fetchone()
                assert row is not None
                found.seen.append(int(str(row["n"])))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join(10)


@dataclass
class Knocks:
    """At the door of a database that is down: when each came."""

    at: list[float] = field(default_factory=list)


@contextmanager
def knocks_at(port: int) -> Iterator[Knocks]:
    """Nobody is at home: each that comes is hung up on, and counted."""
    found = Knocks()
    with socket.create_server(("127.0.0.1", port)) as door:

        def listen() -> None:
            while True:
                try:
                    caller, _ = door.accept()
                except OSError:
                    return
                found.at.append(time.monotonic())
                caller.close()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            door.shutdown(socket.SHUT_RDWR)
            thread.join(5)
