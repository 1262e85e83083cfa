"""A connection that nobody waits for in vain: time-outs, cancellations, replacement, families of errors."""

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit

import psycopg
import pytest

from bpc_worker.jobs.errors import (
    Code,
    JobError,
    Permanent,
    Retryable,
    RunAgain,
    SchemaMismatch,
    TakesNoWrites,
    Unavailable,
)
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.gate import Gate
from tests.support import database as databases
from tests.support.database import Database
from tests.support.outages import through
from tests.support.tcp_proxy import TcpProxy

WAIT = 10.0  # for what should come at once
LATE = 0.5  # how much later than its limit a call may come back
ABANDONED = 50

ME = b"SELECT pg_backend_pid() AS pid"


@pytest.fixture(scope="module")
def db(server: Server) -> Iterator[Database]:
    """One for all: what these tests leave in it disturbs none of them."""
    with databases.database(server) as database:
        yield database


@asynccontextmanager
async def linked(url: str, *, connect: float = 5.0) -> AsyncIterator[Link]:
    hurried = Gate(clock=count(step=10).__next__)  # ten seconds go by between any two looks at it
    dsn = Dsn(url=url, application_name="bpc-worker test-link", connect_timeout=connect)
    link = Link(dsn, gate=hurried)
    try:
        yield link
    finally:
        link.drop()


async def pid_of(link: Link) -> object:
    [row] = await link.run(ME, timeout=WAIT)
    return row["pid"]


async def becomes(fact: Callable[[], bool]) -> bool:
    async with asyncio.timeout(WAIT):
        while not fact():
            await asyncio.sleep(0.02)
    return True


async def test_rows_come_back_by_name(db: Database) -> None:
    async with linked(db.url) as link:
        rows = await link.run(b"SELECT %(a)s::integer AS a, 'x' AS b", {"a": 1}, timeout=WAIT)

        assert rows == [{"a": 1, "b": "x"}]
        assert await link.run(b"CREATE TEMP TABLE t ()", timeout=WAIT) == []


async def test_a_link_keeps_its_connection(db: Database) -> None:
    async with linked(db.url) as link:
        assert await pid_of(link) == await pid_of(link)


async def test_users_of_one_link_take_turns(db: Database) -> None:
    async with linked(db.url) as link:
        slow = b"SELECT pg_backend_pid() AS pid, pg_sleep(0.05)"
        answers = await asyncio.gather(*(link.run(slow, timeout=WAIT) for _ in range(10)))

    assert len({row["pid"] for [row] in answers}) == 1


@pytest.mark.parametrize("limit", [0.2, 1.0])
async def test_a_call_to_a_stopped_server_comes_back_within_its_limit(
    db: Database, proxy: TcpProxy, limit: float
) -> None:
    async with linked(through(proxy, db.url)) as link:
        await pid_of(link)
        proxy.pause()
        started = time.monotonic()
        with pytest.raises(Unavailable) as caught:
            await link.run(b"SELECT 1", timeout=limit)
        took = time.monotonic() - started
        proxy.resume()

    assert limit - 0.05 <= took <= limit + LATE
    assert caught.value.code == Code.DB_UNAVAILABLE


async def test_a_call_to_a_busy_server_comes_back_within_its_limit(db: Database) -> None:
    async with linked(db.url) as link:
        await pid_of(link)
        started = time.monotonic()
        with pytest.raises(Unavailable):
            await link.run(b"SELECT pg_sleep(3)", timeout=0.3)

        assert time.monotonic() - started <= 0.3 + LATE


async def test_connecting_to_a_stopped_server_comes_back_within_its_limit(
    db: Database, proxy: TcpProxy
) -> None:
    proxy.pause()
    async with linked(through(proxy, db.url), connect=0.5) as link:
        started = time.monotonic()
        with pytest.raises(Unavailable) as caught:
            await link.run(b"SELECT 1", timeout=WAIT)
        took = time.monotonic() - started

        assert 0.45 <= took <= 0.5 + LATE
        assert caught.value.code == Code.DB_UNAVAILABLE

        proxy.resume()
        assert await pid_of(link)


@pytest.mark.parametrize("connected", [True, False])
async def test_a_cancelled_call_to_a_stopped_server_comes_back_at_once(
    db: Database, proxy: TcpProxy, *, connected: bool
) -> None:
    async with linked(through(proxy, db.url)) as link:
        if connected:
            await pid_of(link)
        proxy.pause()
        call = asyncio.create_task(link.run(b"SELECT 1", timeout=WAIT))
        await asyncio.wait({call}, timeout=0.2)
        cancelled_at = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert time.monotonic() - cancelled_at <= 0.2

        proxy.resume()
        assert await pid_of(link)


async def test_a_call_that_waits_for_its_turn_can_be_cancelled(db: Database) -> None:
    async with linked(db.url) as link:
        first = asyncio.create_task(link.run(b"SELECT pg_sleep(0.3)", timeout=WAIT))
        await asyncio.wait({first}, timeout=0.1)
        second = asyncio.create_task(link.run(b"SELECT 1", timeout=WAIT))
        await asyncio.wait({second}, timeout=0.05)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second

        assert len(await first) == 1


async def test_after_a_time_out_the_connection_is_another(db: Database) -> None:
    async with linked(db.url) as link:
        before = await pid_of(link)
        with pytest.raises(Unavailable):
            await link.run(b"SELECT pg_sleep(1)", timeout=0.1)

        assert not link.idle
        assert await pid_of(link) != before


async def test_after_a_cancellation_the_connection_is_another(db: Database) -> None:
    async with linked(db.url) as link:
        before = await pid_of(link)
        call = asyncio.create_task(link.run(b"SELECT pg_sleep(1)", timeout=WAIT))
        await asyncio.wait({call}, timeout=0.1)
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call

        assert not link.idle
        assert await pid_of(link) != before


async def test_after_a_severed_line_the_connection_is_another(db: Database, proxy: TcpProxy) -> None:
    async with linked(through(proxy, db.url)) as link:
        before = await pid_of(link)
        proxy.sever()
        with pytest.raises(Unavailable):
            await pid_of(link)

        assert await pid_of(link) != before


async def test_after_an_answer_that_is_an_error_the_connection_is_the_same(db: Database) -> None:
    async with linked(db.url) as link:
        before = await pid_of(link)
        for statement in (b"SELECT 1/0", b"LOCK TABLE jobs", raised("40001")[0], raised("57014")[0]):
            with pytest.raises(JobError):
                await link.run(statement, timeout=WAIT)

        assert link.idle
        assert await pid_of(link) == before


async def test_a_link_is_idle_when_connected_and_outside_a_transaction(db: Database) -> None:
    async with linked(db.url) as link:
        seen = [link.idle]
        for statement in (b"SELECT 1", b"BEGIN", b"SELECT 1", b"COMMIT"):
            await link.run(statement, timeout=WAIT)
            seen.append(link.idle)

    assert seen == [False, True, False, False, True]


async def test_a_failed_transaction_is_not_idle(db: Database) -> None:
    async with linked(db.url) as link:
        await link.run(b"BEGIN", timeout=WAIT)
        with pytest.raises(Permanent):
            await link.run(b"SELECT 1/0", timeout=WAIT)

        assert not link.idle


async def test_dropping_rolls_back_and_the_next_call_connects_again(db: Database) -> None:
    async with linked(db.url) as link:
        before = await pid_of(link)
        await link.run(b"BEGIN", timeout=WAIT)
        await link.run(b"CREATE TABLE half_done ()", timeout=WAIT)
        link.drop()
        link.drop()

        assert not link.idle
        assert await pid_of(link) != before
        assert await link.run(b"SELECT to_regclass('half_done') AS it", timeout=WAIT) == [{"it": None}]


async def test_dropping_does_not_wait_for_a_stopped_server(db: Database, proxy: TcpProxy) -> None:
    async with linked(through(proxy, db.url)) as link:
        await pid_of(link)
        proxy.pause()
        started = time.monotonic()
        link.drop()

        assert time.monotonic() - started <= 0.1

        proxy.resume()


def sessions(db: Database) -> int:
    row = db.one(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name LIKE 'bpc-worker%'"
    )
    return int(str(row["n"]))


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a number, not paths


async def time_out(link: Link, proxy: TcpProxy) -> None:
    await pid_of(link)
    proxy.pause()
    with pytest.raises(Unavailable):
        await link.run(b"SELECT 1", timeout=0.01)
    proxy.resume()


async def cancel(link: Link, proxy: TcpProxy) -> None:
    await pid_of(link)
    proxy.pause()
    call = asyncio.create_task(link.run(b"SELECT 1", timeout=WAIT))
    await asyncio.wait({call}, timeout=0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    proxy.resume()


async def fail_to_connect(link: Link, proxy: TcpProxy) -> None:
    proxy.pause()
    with pytest.raises(Unavailable):
        await link.run(b"SELECT 1", timeout=WAIT)
    proxy.resume()


async def cancel_connecting(link: Link, proxy: TcpProxy) -> None:
    proxy.pause()
    call = asyncio.create_task(link.run(b"SELECT 1", timeout=WAIT))
    await asyncio.wait({call}, timeout=0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    proxy.resume()


async def be_severed(link: Link, proxy: TcpProxy) -> None:
    await pid_of(link)
    proxy.sever()
    with pytest.raises(Unavailable):
        await pid_of(link)


@pytest.mark.parametrize(
    ("abandon", "connect"),
    [(time_out, 5.0), (cancel, 5.0), (fail_to_connect, 0.05), (cancel_connecting, 5.0), (be_severed, 5.0)],
)
async def test_abandoned_calls_leak_neither_descriptors_nor_sessions(
    db: Database,
    proxy: TcpProxy,
    abandon: Callable[[Link, TcpProxy], Awaitable[None]],
    connect: float,
) -> None:
    async with linked(through(proxy, db.url), connect=connect) as link:
        await abandon(link, proxy)
        link.drop()
        await becomes(lambda: sessions(db) == 0)
        before = descriptors()
        for _ in range(ABANDONED):
            await abandon(link, proxy)
        link.drop()

        assert await becomes(lambda: sessions(db) == 0)
        assert await becomes(lambda: descriptors() <= before)


async def test_an_abandoned_call_is_over_although_the_server_never_answers(
    db: Database, proxy: TcpProxy
) -> None:
    async with linked(through(proxy, db.url)) as link:
        await pid_of(link)
        proxy.pause()
        before, tasks = descriptors(), asyncio.all_tasks()
        with pytest.raises(Unavailable):
            await link.run(b"SELECT 1", timeout=0.05)

        assert await becomes(lambda: descriptors() < before)
        assert await becomes(lambda: asyncio.all_tasks() <= tasks)

        proxy.resume()


@dataclass(frozen=True)
class Provoked:
    """An error that a real server gives, and the family it belongs to."""

    sqlstate: str
    family: type[JobError]
    code: str
    statements: tuple[bytes, ...]

    def __str__(self) -> str:
        return self.sqlstate


def raised(sqlstate: str) -> tuple[bytes, ...]:
    """For what a healthy server cannot be brought to say by itself."""
    return (f"DO $$ BEGIN RAISE SQLSTATE '{sqlstate}' USING MESSAGE = 'provoked'; END $$".encode(),)


TABLE = b"CREATE TEMP TABLE t (id integer PRIMARY KEY CHECK (id < 10), up integer REFERENCES pg_temp.t)"
AWAY = Code.DB_UNAVAILABLE
INVALID = Code.VALIDATION_ERROR
UNKNOWN = Code.INTERNAL_ERROR
NOTED_ROW = b"SELECT 1 FROM tenants WHERE name = 'held' FOR UPDATE"

PROVOKED = [
    Provoked("08006", Unavailable, AWAY, raised("08006")),
    Provoked("57P01", Unavailable, AWAY, (b"SELECT pg_terminate_backend(pg_backend_pid())",)),
    Provoked("57P02", Unavailable, AWAY, raised("57P02")),
    Provoked("25006", TakesNoWrites, AWAY, (b"BEGIN READ ONLY", b"CREATE TABLE t ()")),
    Provoked("53300", Unavailable, AWAY, raised("53300")),
    Provoked("58030", Unavailable, AWAY, (b"SELECT pg_read_binary_file('/proc/self/mem', 0, 10)",)),
    Provoked("40001", RunAgain, AWAY, raised("40001")),
    Provoked("40P01", RunAgain, AWAY, raised("40P01")),
    Provoked("55P03", RunAgain, AWAY, (b"SET lock_timeout = '50ms'", NOTED_ROW)),
    Provoked("55P03", RunAgain, AWAY, (NOTED_ROW + b" NOWAIT",)),
    Provoked("57014", Retryable, AWAY, (b"SET statement_timeout = '50ms'", b"SELECT pg_sleep(5)")),
    Provoked("53100", Retryable, AWAY, (b"COPY (SELECT repeat('x', 100000)) TO '/dev/full'",)),
    Provoked("53200", Retryable, AWAY, raised("53200")),
    Provoked("22012", Permanent, INVALID, (b"SELECT 1/0",)),
    Provoked("22P02", Permanent, INVALID, (b"SELECT 'x'::integer",)),
    Provoked("22P05", Permanent, INVALID, (b"""SELECT '"\\u0000"'::jsonb""",)),
    Provoked("22003", Permanent, INVALID, (b"SELECT '1e200000'::jsonb",)),
    Provoked("23502", Permanent, INVALID, (TABLE, b"INSERT INTO t VALUES (NULL)")),
    Provoked("23503", Permanent, INVALID, (TABLE, b"INSERT INTO t VALUES (1, 2)")),
    Provoked("23505", Permanent, INVALID, (TABLE, b"INSERT INTO t VALUES (1), (1)")),
    Provoked("23514", Permanent, INVALID, (TABLE, b"INSERT INTO t VALUES (10)")),
    Provoked("54001", Permanent, INVALID, (b"SELECT repeat('[', 100000)::jsonb",)),
    Provoked("42601", SchemaMismatch, AWAY, (b"SELEC 1",)),
    Provoked("42703", SchemaMismatch, AWAY, (b"SELECT nothing FROM jobs",)),
    Provoked("42P01", SchemaMismatch, AWAY, (b"SELECT 1 FROM nowhere",)),
    Provoked("42501", SchemaMismatch, AWAY, (b"SET ROLE bpc_producer", b"DELETE FROM jobs")),
    Provoked("0A000", Retryable, UNKNOWN, raised("0A000")),
    Provoked("P0001", Retryable, UNKNOWN, (b"DO $$ BEGIN RAISE 'no'; END $$",)),
    Provoked("XX000", Retryable, UNKNOWN, raised("XX000")),
]


@pytest.mark.parametrize("provoked", PROVOKED, ids=str)
async def test_every_sqlstate_has_its_family(db: Database, provoked: Provoked) -> None:
    db.tenant("held")
    *before, last = provoked.statements
    with db.connect() as holder:
        holder.execute("BEGIN")
        holder.execute(NOTED_ROW)
        async with linked(db.url) as link:
            for statement in before:
                await link.run(statement, timeout=WAIT)
            with pytest.raises(JobError) as caught:
                await link.run(last, timeout=WAIT)
            error = caught.value

            assert isinstance(error.__cause__, psycopg.Error)
            assert error.__cause__.sqlstate == provoked.sqlstate
            assert type(error) is provoked.family
            assert error.code == provoked.code
            assert f"(SQLSTATE {provoked.sqlstate})" in error.message
            assert await pid_of(link)


async def test_a_connection_that_is_dropped_by_family_is_replaced(db: Database) -> None:
    """Infrastructure: the next call must not meet the same sick server session again."""
    async with linked(db.url) as link:
        for statements in (raised("08006"), raised("53300"), raised("58030"), raised("57P03")):
            before = await pid_of(link)
            with pytest.raises(Unavailable):
                await link.run(statements[0], timeout=WAIT)

            assert await pid_of(link) != before


async def test_two_transactions_that_meet_are_run_again(db: Database) -> None:
    """A real serialisation failure and a real deadlock, not raised ones."""
    db.run("CREATE TABLE counters (id integer PRIMARY KEY, n integer NOT NULL)")
    db.run("INSERT INTO counters VALUES (1, 0), (2, 0)")
    one, two = (f"UPDATE counters SET n = n + 1 WHERE id = {n}".encode() for n in (1, 2))
    async with linked(db.url) as first, linked(db.url) as second:
        for link in (first, second):
            await link.run(b"BEGIN ISOLATION LEVEL REPEATABLE READ", timeout=WAIT)
            await link.run(b"SELECT n FROM counters", timeout=WAIT)
        await first.run(one, timeout=WAIT)
        await first.run(b"COMMIT", timeout=WAIT)
        with pytest.raises(RunAgain, match="SQLSTATE 40001"):
            await second.run(one, timeout=WAIT)
        await second.run(b"ROLLBACK", timeout=WAIT)

        for link in (first, second):
            await link.run(b"BEGIN", timeout=WAIT)
            await link.run(b"SET LOCAL deadlock_timeout = '50ms'", timeout=WAIT)
        await first.run(one, timeout=WAIT)
        await second.run(two, timeout=WAIT)
        met = await asyncio.gather(
            first.run(two, timeout=WAIT), second.run(one, timeout=WAIT), return_exceptions=True
        )

    [victim] = [answer for answer in met if isinstance(answer, BaseException)]
    assert isinstance(victim, RunAgain)
    assert "SQLSTATE 40P01" in victim.message


async def test_no_place_for_another_connection_is_unavailable(db: Database) -> None:
    url = db.url_as("bpc_reader")
    login = str(urlsplit(url).username)
    db.run(f"ALTER ROLE {login} CONNECTION LIMIT 0")
    try:
        async with linked(url) as link:
            with pytest.raises(Unavailable, match="too many connections"):
                await link.run(b"SELECT 1", timeout=WAIT)
    finally:
        db.run(f"ALTER ROLE {login} CONNECTION LIMIT -1")


async def test_a_read_only_database_is_unavailable_at_connecting(db: Database) -> None:
    url = db.url_as("bpc_operator")
    login = str(urlsplit(url).username)
    db.run(f"ALTER ROLE {login} SET default_transaction_read_only = on")
    try:
        async with linked(url) as link:
            with pytest.raises(Unavailable, match="read-only"):
                await link.run(b"SELECT 1", timeout=WAIT)
    finally:
        db.run(f"ALTER ROLE {login} RESET default_transaction_read_only")


async def test_nobody_at_the_address_is_unavailable(db: Database, proxy: TcpProxy) -> None:
    proxy.refuse(True)
    async with linked(through(proxy, db.url)) as link:
        with pytest.raises(Unavailable, match="no database"):
            await link.run(b"SELECT 1", timeout=WAIT)


async def test_a_silent_host_does_not_use_up_the_time_of_the_next(db: Database, proxy: TcpProxy) -> None:
    proxy.pause()
    address = urlsplit(db.url).netloc
    user, _, host = address.partition("@")
    url = db.url.replace(address, f"{user}@127.0.0.1:{proxy.port},{host}")
    async with linked(url, connect=2.0) as link:
        assert await pid_of(link)
    proxy.resume()


async def test_a_value_that_cannot_be_read_is_permanent(db: Database) -> None:
    async with linked(db.url) as link:
        with pytest.raises(Permanent):
            await link.run(b"SELECT 'infinity'::timestamptz AS never", timeout=WAIT)

        assert await pid_of(link)


async def test_a_text_that_cannot_be_sent_is_permanent(db: Database) -> None:
    async with linked(db.url) as link:
        with pytest.raises(Permanent) as caught:
            await link.run(b"SELECT %(text)s::text", {"text": "a\0b"}, timeout=WAIT)

        assert caught.value.code == Code.VALIDATION_ERROR
        assert await pid_of(link)


async def test_a_parameter_that_is_missing_is_a_bug_and_retryable(db: Database) -> None:
    async with linked(db.url) as link:
        with pytest.raises(Retryable) as caught:
            await link.run(b"SELECT %(text)s::text", {}, timeout=WAIT)

        assert caught.value.code == Code.INTERNAL_ERROR
        assert await pid_of(link)


@pytest.mark.parametrize(
    "statement", [b"INSERT INTO t VALUES (%(v)s), (%(v)s)", b"SELECT %(v)s::text::integer"]
)
async def test_the_message_does_not_quote_the_value(db: Database, statement: bytes) -> None:
    async with linked(db.url) as link:
        await link.run(b"CREATE TEMP TABLE t (v text PRIMARY KEY)", timeout=WAIT)
        with pytest.raises(Permanent) as caught:
            await link.run(statement, {"v": "hunter2"}, timeout=WAIT)

    assert "hunter2" not in caught.value.message
    assert "hunter2" not in repr(caught.value.detail)


async def test_the_limits_hold_on_the_server_too(db: Database) -> None:
    link = Link(
        Dsn(
            url=db.url,
            application_name="bpc-worker " + "x" * 100,
            statement_timeout=7,
            lock_timeout=3,
            idle_in_transaction_timeout=2,
        )
    )
    try:
        rows = await link.run(
            b"SELECT name, setting FROM pg_settings WHERE name IN ('statement_timeout', 'lock_timeout',"
            b" 'idle_in_transaction_session_timeout', 'tcp_keepalives_idle', 'application_name')",
            timeout=WAIT,
        )
    finally:
        link.drop()
    settings = {row["name"]: row["setting"] for row in rows}

    assert settings["statement_timeout"] == "7000"
    assert settings["lock_timeout"] == "3000"
    assert settings["idle_in_transaction_session_timeout"] == "2000"
    assert settings["tcp_keepalives_idle"] == "30"
    assert settings["application_name"] == ("bpc-worker " + "x" * 100)[:63]
