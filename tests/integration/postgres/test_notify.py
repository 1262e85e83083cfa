"""PostgreSQL's own bell: heard soon, and missed when it is gone."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.notify import NotifyListener, NotifySender
from tests.support.database import Database


@dataclass
class Heard:
    rings: int = 0
    states: list[bool] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def ring(self) -> None:
        self.rings += 1
        self.changed.set()

    def state(self, listening: bool) -> None:  # noqa: FBT001 - a callback with one fact
        self.states.append(listening)
        self.changed.set()

    async def more_rings_than(self, count: int) -> None:
        async with asyncio.timeout(10):
            while self.rings <= count:
                await self.changed.wait()
                self.changed.clear()

    async def last_state(self, listening: bool) -> None:  # noqa: FBT001
        async with asyncio.timeout(30):
            while not self.states or self.states[-1] is not listening:
                await self.changed.wait()
                self.changed.clear()


@pytest.fixture
async def heard(db: Database) -> AsyncIterator[Heard]:
    found = Heard()
    dsn = Dsn(url=db.url_as("bpc_worker"), application_name="the bell")
    listener = NotifyListener(dsn, on_ring=found.ring, on_state=found.state, timeout=5)
    task = asyncio.create_task(listener.run())
    await found.last_state(True)
    yield found
    task.cancel()
    await asyncio.wait({task})
    assert found.states[-1] is False


async def test_a_plain_insert_rings(heard: Heard, db: Database) -> None:
    before = heard.rings
    db.enqueue("TEST_NOOP")
    await heard.more_rings_than(before)


async def test_a_retry_by_hand_rings(heard: Heard, db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP", status="FAILED")
    await heard.more_rings_than(1)
    before = heard.rings
    db.run("UPDATE jobs SET status = 'QUEUED' WHERE job_id = %s", [job_id])
    await heard.more_rings_than(before)


async def test_a_death_in_a_quiet_session_rings_for_the_job_that_tells_it(heard: Heard, db: Database) -> None:
    """Our own sessions keep quiet about what they insert, but nobody else knows of what a trigger inserts."""
    job_id = db.enqueue("TEST_NOOP", attempts=1, max_attempts=1, status="FAILED")
    await heard.more_rings_than(1)
    db.run("DROP TRIGGER jobs_guard_edge ON jobs")
    before = heard.rings
    with db.connect() as connection:
        connection.execute("SET bpc.quiet = 'on'")
        connection.execute("UPDATE jobs SET status = 'DEAD_LETTER' WHERE job_id = %s", [job_id])
    await heard.more_rings_than(before)


async def test_a_resumed_queue_rings(heard: Heard, db: Database) -> None:
    db.run("SELECT bpc_pause('queue', 'default', 'because')")
    before = heard.rings
    db.run("SELECT bpc_resume('queue', 'default')")
    await heard.more_rings_than(before)


async def test_a_listener_that_was_cut_off_is_back_and_rings_for_what_it_missed(
    heard: Heard, db: Database
) -> None:
    before = heard.rings
    db.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'the bell'")
    await heard.last_state(False)
    await heard.last_state(True)
    await heard.more_rings_than(before)


async def test_many_rings_during_one_are_one_more() -> None:
    under_way, calls = asyncio.Event(), 0

    async def notify() -> None:
        nonlocal calls
        calls += 1
        await under_way.wait()

    ringer = NotifySender(notify)
    ringer.ring()
    await asyncio.sleep(0)
    for _ in range(100):
        ringer.ring()
    under_way.set()
    await ringer.done()

    assert calls == 2


async def test_a_ring_that_fails_is_no_harm() -> None:
    async def notify() -> None:
        raise Unavailable(Code.DB_UNAVAILABLE, "no database")

    ringer = NotifySender(notify)
    ringer.ring()
    await ringer.done()
