"""pg_reload_conf() only asks: the postmaster reads its settings when it comes to it, then tells the sessions.

Until all of them know, some go by the old ones.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import psycopg

from bpc_worker.postgres.embedded.server import Server
from tests.support.waiting import until


@contextmanager
def reloaded(server: Server) -> Iterator[None]:
    """What the block has altered, with pg_reload_conf(), holds for every session when this ends."""
    before = _loaded_at(server)
    yield
    until(lambda: _loaded_at(server) > before, within=20, what="a server with its new settings")
    _loaded_at(server)  # a session that began after that: by now all others are told


def _loaded_at(server: Server) -> datetime:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        row = connection.execute("SELECT pg_conf_load_time()").fetchone()
    assert row is not None
    loaded_at = row[0]
    assert isinstance(loaded_at, datetime)
    return loaded_at
