"""Several statements in one trip: the rows of each, or one failure, behind which nothing takes place."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from bpc_worker.jobs.errors import Permanent, SchemaMismatch, Unavailable
from bpc_worker.postgres import pipeline as trip
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.pipeline import RefusedError, Statement
from bpc_worker.postgres.sql_files import Prepared
from tests.support import database as databases
from tests.support.database import Database
from tests.support.outages import through
from tests.support.tcp_proxy import TcpProxy

WAIT = 10.0
BEGIN, COMMIT = Statement(Prepared(b"BEGIN", ())), Statement(Prepared(b"COMMIT", ()))
FAIL = Statement(Prepared(b"SELECT 1 / $1::integer", ("by",)), {"by": 0})


@pytest.fixture(scope="module")
def db(server: Server) -> Iterator[Database]:
    with databases.database(server) as database:
        database.run("CREATE TABLE seen (what text)")
        yield database


@pytest.fixture(autouse=True)
def nothing_seen(db: Database) -> None:
    db.run("TRUNCATE seen")


@asynccontextmanager
async def linked(url: str, *, prepared: bool = True) -> AsyncIterator[Link]:
    link = Link(Dsn(url=url, application_name="test-trip", prepared_statements=prepared))
    try:
        yield link
    finally:
        link.drop()


def see(what: object) -> Statement:
    return Statement(Prepared(b"INSERT INTO seen VALUES ($1) RETURNING what", ("what",)), {"what": what})


def seen(db: Database) -> list[object]:
    return [row["what"] for row in db.run("SELECT what FROM seen ORDER BY 1")]


def say(*values: object) -> Statement:
    names = tuple(f"v{number}" for number in range(len(values)))
    text = ", ".join(f"${number + 1} AS {name}" for number, name in enumerate(names))
    return Statement(Prepared(f"SELECT {text}".encode(), names), dict(zip(names, values, strict=True)))


@pytest.mark.parametrize("prepared", [True, False])
async def test_the_rows_of_each_come_back_by_name(db: Database, prepared: bool) -> None:  # noqa: FBT001
    some = UUID("00000000-0000-0000-0000-00000000abcd")
    async with linked(db.url, prepared=prepared) as link:
        for _ in range(3):
            rows = await link.execute_pipelined(
                [BEGIN, say(1, some), see("a"), say(None, b"\x00"), COMMIT], timeout=WAIT
            )

            assert rows == [[], [{"v0": 1, "v1": some}], [{"what": "a"}], [{"v0": None, "v1": b"\x00"}], []]
        assert link.idle
        assert await link.run(b"SELECT 1 AS a", timeout=WAIT) == [{"a": 1}]
    assert seen(db) == ["a"] * 3


async def test_values_of_other_types_are_prepared_for_themselves(db: Database) -> None:
    async with linked(db.url) as link:
        for value in (1, 2**40, "text", None, 1, UUID(int=1), True):
            [[row]] = await link.execute_pipelined([say(value)], timeout=WAIT)
            assert row["v0"] == value


async def test_the_same_statement_twice_in_a_trip(db: Database) -> None:
    async with linked(db.url) as link:
        assert await link.execute_pipelined([say(1), say(2), say("x")], timeout=WAIT) == [
            [{"v0": 1}], [{"v0": 2}], [{"v0": "x"}],
        ]  # fmt: skip


async def test_only_so_many_are_prepared(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trip, "_MOST_NAMES", 3)
    async with linked(db.url) as link:
        for number in range(1, 7):
            await link.execute_pipelined([say(*range(number))], timeout=WAIT)
        [row] = await link.run(b"SELECT count(*) AS n FROM pg_prepared_statements", timeout=WAIT)

        assert row["n"] == 3


@pytest.mark.parametrize("prepared", [True, False])
async def test_behind_a_failure_nothing_takes_place(db: Database, prepared: bool) -> None:  # noqa: FBT001
    async with linked(db.url, prepared=prepared) as link:
        with pytest.raises(Permanent) as failed:
            await link.execute_pipelined([BEGIN, see("a"), FAIL, see("b"), COMMIT], timeout=WAIT)

        assert failed.value.detail == {"sqlstate": "22012"}
        assert not link.idle  # so whoever has it drops it, and the server rolls back
    assert seen(db) == []


async def test_a_statement_that_says_no_is_told_from_others_that_fail_in_the_same_way(db: Database) -> None:
    no = FAIL._replace(refusal="22012")
    async with linked(db.url) as link:
        with pytest.raises(RefusedError):
            await link.execute_pipelined([BEGIN, see("a"), no, COMMIT], timeout=WAIT)
        with pytest.raises(Permanent):
            await link.execute_pipelined([BEGIN, FAIL, no, COMMIT], timeout=WAIT)
    assert seen(db) == []


async def test_what_failed_to_be_prepared_is_tried_again(db: Database) -> None:
    later = Statement(Prepared(b"SELECT $1::text AS a FROM later", ("a",)), {"a": "x"})
    async with linked(db.url) as link:
        with pytest.raises(SchemaMismatch):
            await link.execute_pipelined([say(1), later], timeout=WAIT)
        db.run("CREATE TABLE later AS SELECT 1")

        assert await link.execute_pipelined([say(1), later], timeout=WAIT) == [[{"v0": 1}], [{"a": "x"}]]


async def test_a_value_that_cannot_be_sent_sends_nothing(db: Database) -> None:
    async with linked(db.url) as link:
        await link.execute_pipelined([say(1)], timeout=WAIT)
        with pytest.raises(Permanent):
            await link.execute_pipelined([see("a"), see("nul\x00")], timeout=WAIT)

        assert link.idle
    assert seen(db) == []


async def test_a_stopped_server_is_not_waited_for(db: Database) -> None:
    with TcpProxy("127.0.0.1", db.server.port) as proxy:
        async with linked(through(proxy, db.url)) as link:
            await link.execute_pipelined([say(1)], timeout=WAIT)
            assert link.answered_lately
            proxy.pause()
            began = time.monotonic()
            with pytest.raises(Unavailable):
                await link.execute_pipelined([BEGIN, see("a"), COMMIT], timeout=0.3)
            assert time.monotonic() - began < 1.0
            assert not link.answered_lately
            proxy.resume()


async def test_a_trip_that_is_cancelled_lets_go_of_its_connection(db: Database) -> None:
    async with linked(db.url) as link:
        waiting = asyncio.create_task(
            link.execute_pipelined(
                [BEGIN, see("a"), Statement(Prepared(b"SELECT pg_sleep(5)", ())), COMMIT], timeout=WAIT
            )
        )
        await asyncio.wait({waiting}, timeout=0.2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

        assert not link.idle


@pytest.mark.parametrize("moment", ["idle", "inside"])
async def test_a_server_that_goes_away_is_told(db: Database, moment: str) -> None:
    async with linked(db.url) as link:
        [row] = await link.run(b"SELECT pg_backend_pid() AS pid", timeout=WAIT)
        sleep = Statement(Prepared(b"SELECT pg_sleep(5)", ()))
        asking = asyncio.create_task(link.execute_pipelined([BEGIN, see("a"), sleep, COMMIT], timeout=WAIT))
        if moment == "inside":
            await asyncio.wait({asking}, timeout=0.2)
        db.run("SELECT pg_terminate_backend(%s)", [row["pid"]])
        with pytest.raises(Unavailable):
            await asking
    assert seen(db) == []


async def test_much_is_sent_and_much_comes_back(db: Database) -> None:
    large = "x" * 3_000_000
    async with linked(db.url) as link:
        rows = await link.execute_pipelined([say(large), say(large), say(1)], timeout=WAIT)

    assert [len(str(row["v0"])) for [row] in rows] == [3_000_000, 3_000_000, 1]
