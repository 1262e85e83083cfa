"""However the server behaves, a process has few connections, and asks for few."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from bpc_worker.jobs.errors import Unavailable
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from tests.support.database import Database
from tests.support.outages import standby_gone
from tests.support.waiting import until

NAME = "bpc-worker bounded"
WAIT = 10.0


def backends(db: Database) -> int:
    found = db.one(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE starts_with(application_name, %s)", [NAME]
    )
    return int(str(found["n"]))


@asynccontextmanager
async def linked(url: str) -> AsyncIterator[Link]:
    link = Link(Dsn(url=url, application_name=NAME, connect_timeout=2))
    try:
        yield link
    finally:
        link.drop()


async def test_a_duty_has_two_backends_at_most_however_many_of_its_statements_are_unanswered(
    own_db: Database,
) -> None:
    """A commit that waits for its standby heeds neither a time limit nor the end of its client."""
    async with linked(own_db.url) as link:
        await link.run(b"SELECT 1", timeout=WAIT)
        with standby_gone(own_db.server):
            seen = []
            for number in range(5):
                with pytest.raises(Unavailable):
                    await link.run(f"CREATE TABLE late_{number} ()".encode(), timeout=0.3)
                seen.append(backends(own_db))
        assert max(seen) <= 2

        until(lambda: backends(own_db) == 0, within=WAIT)
        assert await link.run(b"SELECT 1 AS one", timeout=WAIT) == [{"one": 1}]
        assert own_db.one("SELECT count(*) AS n FROM pg_class WHERE relname ~ '^late_'")["n"] == 2


async def test_a_database_that_is_down_is_asked_twice_a_second_at_most() -> None:
    knocks = 0

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal knocks
        knocks += 1
        writer.close()

    async def ask(link: Link) -> None:
        while True:
            with suppress(Unavailable):
                await link.run(b"SELECT 1", timeout=WAIT)

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    url = f"postgresql://nobody@127.0.0.1:{server.sockets[0].getsockname()[1]}/nothing?sslmode=disable"
    links = [Link(Dsn(url=url, application_name=NAME, connect_timeout=2)) for _ in range(5)]
    async with server:
        began_at = time.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(3):
                await asyncio.gather(*map(ask, links))
        took = time.monotonic() - began_at

    assert 2 <= knocks <= 2 * took + 1


async def test_a_backend_that_waits_for_a_lock_for_nobody_is_gone_soon(db: Database) -> None:
    dsn = Dsn(url=db.url, application_name=NAME, lock_timeout=60, statement_timeout=60)
    link = Link(dsn)
    try:
        with db.connect() as holder, holder.transaction():
            holder.execute("LOCK TABLE tenants")
            with pytest.raises(Unavailable):
                await link.run(b"SELECT FROM tenants", timeout=0.3)

            until(lambda: backends(db) == 0, within=WAIT)
    finally:
        link.drop()
