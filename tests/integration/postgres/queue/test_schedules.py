"""Schedules: one job per tick, whoever comes first, and no flood after an outage."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from bpc_worker.engine.maintenance.care import Care
from bpc_worker.engine.maintenance.schedules import Planned, Scheduler
from bpc_worker.ids import spread
from bpc_worker.jobs.cron import Cron
from bpc_worker.jobs.model import NewJob, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Enqueued
from bpc_worker.observability.metrics import Metrics
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.schedules import ScheduleBook
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.testing import NOON
from tests.support.database import Database

HOURLY = Planned(cron=Cron.parse("0 * * * *"), type="TEST_A", payload={"n": 1}, tenant="acme", queue=None)


class Clerk:
    """A worker's scheduler, with a clock of its own."""

    def __init__(self, db: Database, planned: Planned = HOURLY, *, max_queued: int = 0) -> None:
        dsn = Dsn(url=db.url_as("bpc_worker"), application_name="test")
        self.link = Link(dsn)
        self.book = ScheduleBook(self.link, call_timeout=20, now=NOON)
        self.store = PostgresJobs(dsn, QueueSettings(owner="w", max_queued=max_queued))
        self.queued: list[str] = []
        self.scheduler = Scheduler(
            self.book, self.store, {"hourly": planned},
            on_queued=lambda _queue, job_type: self.queued.append(job_type),
            care=Care(Metrics(), spread=spread), spread=spread,
        )  # fmt: skip

    async def look(self, **later: float) -> None:
        assert self.book.now is not None
        self.book.now += timedelta(**later)
        assert await self.scheduler.look() == self.book.now

    def close(self) -> None:
        self.store.close()
        self.link.drop()


@pytest.fixture
async def clerk(db: Database) -> AsyncIterator[Clerk]:
    db.tenant()
    made = Clerk(db)
    yield made
    made.close()


def keys(db: Database) -> list[str]:
    return [str(row["idempotency_key"]) for row in db.run("SELECT idempotency_key FROM jobs ORDER BY 1")]


async def test_a_new_schedule_begins_with_its_next_tick(db: Database, clerk: Clerk) -> None:
    await clerk.look()
    await clerk.look(minutes=59)
    assert keys(db) == []

    await clerk.look(minutes=1)
    await clerk.look(minutes=30)

    assert keys(db) == ["schedule:hourly:2026-11-16T13:00Z"]
    assert clerk.queued == ["TEST_A"]
    assert db.one("SELECT payload, queue FROM jobs") == {"payload": {"n": 1}, "queue": "default"}


async def test_after_an_outage_there_is_one_job_and_not_a_flood(db: Database, clerk: Clerk) -> None:
    await clerk.look()
    await clerk.look(days=3)

    assert keys(db) == ["schedule:hourly:2026-11-19T12:00Z"]


async def test_many_workers_make_one_job(db: Database, clerk: Clerk) -> None:
    others = [Clerk(db) for _ in range(4)]
    await clerk.look()
    await asyncio.gather(*(each.look(hours=1) for each in (clerk, *others)))

    assert keys(db) == ["schedule:hourly:2026-11-16T13:00Z"]
    for each in others:
        each.close()


async def test_one_that_died_between_the_job_and_the_note_is_no_second_job(
    db: Database, clerk: Clerk
) -> None:
    await clerk.look()
    await clerk.look(hours=1)
    db.run("UPDATE schedule_ticks SET tick = %s", [NOON])
    await clerk.look()

    assert len(keys(db)) == 1
    assert db.one("SELECT tick FROM schedule_ticks")["tick"] == NOON + timedelta(hours=1)


async def test_a_removed_job_does_not_come_back(db: Database, clerk: Clerk) -> None:
    await clerk.look()
    await clerk.look(hours=1)
    db.run("DELETE FROM jobs")
    again = Clerk(db)
    await again.look(hours=1)

    assert keys(db) == []
    again.close()


async def test_without_a_tenant_every_tenant_gets_a_job(db: Database) -> None:
    for name in ("acme", "other"):
        db.tenant(name)
    everybody = Clerk(db, replace(HOURLY, tenant=None))
    await everybody.look()
    await everybody.look(hours=1)

    assert db.one("SELECT count(DISTINCT tenant_id) AS n FROM jobs")["n"] == 2
    assert len(everybody.queued) == 2
    everybody.close()


async def test_of_many_workers_one_inserts_the_jobs_of_all_tenants(
    db: Database, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    for number in range(5):
        db.tenant(f"tenant {number}")
    clerks = [Clerk(db, replace(HOURLY, tenant=None)) for _ in range(4)]
    for each in clerks:
        request.addfinalizer(each.close)
        await each.look()
    tried: list[object] = []
    enqueue = PostgresJobs.enqueue

    async def counted(self: PostgresJobs, tenant_id: TenantId, job: NewJob) -> Enqueued:
        tried.append(tenant_id)
        return await enqueue(self, tenant_id, job)

    monkeypatch.setattr(PostgresJobs, "enqueue", counted)
    await asyncio.gather(*(each.look(hours=1) for each in clerks))

    assert len(keys(db)) == 5
    assert len(tried) == 5


async def test_who_died_over_a_tick_is_followed_by_another(
    db: Database, clerk: Clerk, request: pytest.FixtureRequest
) -> None:
    await clerk.look()
    dead = Clerk(db)
    request.addfinalizer(dead.close)
    assert dead.book.now is not None
    dead.book.now += timedelta(hours=1)
    assert await dead.book.take_turn("hourly", dead.book.now, seconds=30)  # and then nothing
    await clerk.look(hours=1)
    assert keys(db) == []
    await clerk.look(minutes=1)

    assert keys(db) == ["schedule:hourly:2026-11-16T13:00Z"]


async def test_a_tick_that_could_not_be_queued_is_tried_again(db: Database) -> None:
    nobody = Clerk(db)
    await nobody.look()
    await nobody.look(hours=1)  # there is no such tenant yet
    db.tenant()
    await nobody.look(minutes=1)

    assert keys(db) == ["schedule:hourly:2026-11-16T13:00Z"]
    nobody.close()


async def test_another_configuration_that_was_first_is_enough(db: Database, clerk: Clerk) -> None:
    other = Clerk(db, replace(HOURLY, payload={"n": 2}))
    await clerk.look()
    await clerk.look(hours=1)
    db.run("UPDATE schedule_ticks SET tick = %s", [NOON])
    await other.look(hours=1)

    assert len(keys(db)) == 1
    assert db.one("SELECT tick FROM schedule_ticks")["tick"] == NOON + timedelta(hours=1)
    other.close()
