"""The reaper in virtual time, on the store in memory: passes, pages, outages, and what is done beside it."""

import asyncio
from collections.abc import Sequence

import pytest

from bpc_worker.engine.health import Health
from bpc_worker.engine.maintenance import reaper as reaper_module
from bpc_worker.engine.maintenance.lease_tables import TableReaper
from bpc_worker.engine.maintenance.reaper import Reaper
from bpc_worker.jobs.errors import Code, JobError, Permanent, RunAgain, Unavailable
from bpc_worker.jobs.model import Status
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Left, Reaped
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.observability.metrics import Metrics
from bpc_worker.testing import A_TENANT, a_job
from tests.support.log_words import LogWords
from tests.support.virtual_time import VirtualClock, until

pytestmark = pytest.mark.virtual_time

LEASE, INTERVAL = 60.0, 15.0
AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")


class Store(MemoryJobStore):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(QueueSettings(owner="w", types=("TEST_NOOP",), lease_seconds=LEASE), clock=clock)
        self.errors: list[JobError] = []
        self.asked = 0

    async def reap(self, *, ended_for: float = 0.0) -> list[Reaped]:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return await super().reap(ended_for=ended_for)


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = Store(self.clock)
        self.health = Health(clock=self.clock, lease_seconds=LEASE)
        self.metrics = Metrics()
        self.reaper = Reaper(
            self.store, self.health, self.metrics,
            interval_seconds=INTERVAL, spread=lambda seconds, _: seconds,
            clock=self.clock,
        )  # fmt: skip

    async def die_with_jobs(self, count: int) -> None:
        """Some worker takes so many, and is never heard of again."""
        await self.store.enqueue_many(A_TENANT, [a_job() for _ in range(count)])
        await self.store.claim(limit=count)
        self.clock.suspend(LEASE)

    @property
    def statuses(self) -> set[Status]:
        return {row.status for row in self.store.table.rows.values()}


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> LogWords:
    words = LogWords()
    monkeypatch.setattr(reaper_module, "_log", words)
    return words


async def test_jobs_of_a_dead_worker_come_back_page_by_page(words: LogWords) -> None:
    bench = Bench()
    await bench.die_with_jobs(150)

    assert await bench.reaper.sweep() == 150
    assert bench.statuses == {Status.QUEUED}
    assert bench.store.asked == 3, "two pages, and one that is empty"
    assert words.said == ["warning lease_reaped"] * 150


async def test_a_pass_ends_when_its_time_is_up() -> None:
    bench = Bench()
    await bench.die_with_jobs(550)

    assert await bench.reaper.sweep() == 500  # a pause of 50 ms after each page, and 200 ms in all
    assert await bench.reaper.sweep() == 50


async def test_it_looks_again_every_interval() -> None:
    bench = Bench()
    running = asyncio.create_task(bench.reaper.run())
    await asyncio.sleep(3.5 * INTERVAL)
    assert bench.store.asked == 4
    await bench.die_with_jobs(1)
    await until(lambda: bench.statuses == {Status.QUEUED})
    running.cancel()


async def test_what_ended_in_an_outage_is_reaped_one_lease_after_it() -> None:
    bench = Bench()
    bench.health.note_database(None)
    bench.store.errors = [AWAY] * 5
    running = asyncio.create_task(bench.reaper.run())
    await bench.die_with_jobs(1)
    await asyncio.sleep(5.5 * INTERVAL)
    assert bench.store.asked == 6, "the sixth is answered: it is over"

    await asyncio.sleep(LEASE - INTERVAL)
    assert bench.statuses == {Status.RUNNING}
    await asyncio.sleep(2 * INTERVAL)
    assert bench.statuses == {Status.QUEUED}
    running.cancel()


async def test_what_expired_before_an_outage_is_reaped_whatever_happened_since() -> None:
    bench = Bench()
    await bench.die_with_jobs(1)
    bench.health.note_database(None)
    bench.clock.suspend(1)
    bench.health.note_database(AWAY)
    running = asyncio.create_task(bench.reaper.run())
    await asyncio.sleep(0.1)
    running.cancel()

    assert bench.statuses == {Status.QUEUED}


async def test_a_line_that_breaks_again_and_again_does_not_stop_the_reaper() -> None:
    bench = Bench()
    bench.health.note_database(None)
    await bench.die_with_jobs(1)
    running = asyncio.create_task(bench.reaper.run())
    for _ in range(10):
        bench.health.note_database(AWAY)
        await asyncio.sleep(1)
        bench.health.note_database(None)
        await asyncio.sleep(LEASE / 4)
    running.cancel()

    assert bench.statuses == {Status.QUEUED}


async def test_a_pass_that_its_clock_has_ended_goes_on_after_a_second() -> None:
    bench = Bench()
    await bench.die_with_jobs(2000)
    running = asyncio.create_task(bench.reaper.run())
    await asyncio.sleep(INTERVAL / 2)
    running.cancel()

    assert bench.statuses == {Status.QUEUED}


async def test_a_conflict_is_tried_again_at_once_and_three_are_told(words: LogWords) -> None:
    bench = Bench()
    await bench.die_with_jobs(1)
    met = RunAgain("40001", "met another")
    bench.store.errors = [met, met]
    await bench.reaper._try_pass()
    assert bench.statuses == {Status.QUEUED}

    bench.store.errors = [met] * 3
    await bench.reaper._try_pass()
    assert words.said == ["warning lease_reaped", "warning reaper_failed"]


def left(status: str) -> Left:
    return Left(status)


class Table:
    def __init__(self, name: str, *pages: Sequence[Left] | Permanent) -> None:
        self.name = name
        self._pages = list(pages)
        self.asked: list[float] = []

    async def reap(self, *, ended_for: float = 0.0) -> list[Left]:
        self.asked.append(ended_for)
        page = self._pages.pop(0) if self._pages else ()
        if isinstance(page, Permanent):
            raise page
        return list(page)


async def test_a_table_that_cannot_be_reaped_keeps_no_other_from_it() -> None:
    metrics = Metrics()
    good = Table("good", [left("QUEUED"), left("DEAD_LETTER")], [left("PARKED")])
    bad = Table("bad", Permanent(Code.VALIDATION_ERROR, "no"))
    await TableReaper([bad, good], metrics, spared_seconds=lambda: 0.0, clock=VirtualClock()).sweep()

    text = metrics.text(dropped_log_keys=0).decode()
    for action in ("requeued", "dead_lettered", "other"):
        assert f'action="{action}",table="good"}} 1.0' in text


async def test_after_an_outage_the_holders_of_further_tables_come_first_too() -> None:
    clock, table = VirtualClock(), Table("good", [left("QUEUED")])
    health = Health(clock=clock, lease_seconds=LEASE)
    tables = TableReaper([table], Metrics(), spared_seconds=lambda: health.spared_seconds, clock=clock)
    health.note_database(None)
    clock.suspend(1)
    health.note_database(AWAY)
    health.note_database(None)
    await tables.sweep()
    clock.suspend(2 * LEASE)
    await tables.sweep()

    assert table.asked[0] >= 1
    assert table.asked[-1] == 0
