"""Whatever happens to a queue in whatever order: PostgreSQL, memory and a plain model end up the same."""

import asyncio
import os
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from bpc_worker.jobs.backoff import JITTER
from bpc_worker.jobs.model import JobId
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.queue.probes import Probes
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.testing import NOON, FakeClock
from tests.support import database as databases
from tests.support.histories import Histories
from tests.support.history_words import COLUMNS, SETTINGS, TENANTS, Row, Side

T = TypeVar("T")
Connection = psycopg.Connection[dict[str, object]]

TIMES = int(os.environ.get("BPC_TEST_HISTORIES", "1"))  # as many histories
_ALL_BUT_EXPLAIN = [phase for phase in Phase if phase is not Phase.explain]
_ROWS = f"""
SELECT {", ".join(COLUMNS)},
       ARRAY(SELECT type FROM job_events WHERE job_id = job.job_id ORDER BY job_event_id) AS events
FROM jobs AS job
ORDER BY job_id
"""


class InMemory:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryJobStore(SETTINGS, clock=self.clock, dice=lambda: 0.5)
        self.store.table.weights |= dict.fromkeys(TENANTS, 1)
        self.cancel, self.requeue, self.discard = self.store.cancel, self.store.requeue, self.store.discard

    def move_clock(self, now: datetime) -> None:
        self.clock.now = now

    def rows(self) -> Sequence[Row]:
        return [
            {name: getattr(row, name) for name in COLUMNS}
            | {"events": [event.type for event in self.store.events(row.job_id)]}
            for row in self.store.table.rows.values()
        ]

    def after_reap(self, due: Mapping[JobId, tuple[datetime, float]]) -> None:
        """Its dice are ours."""


class InPostgres:
    """One database for all, and its connections: each history begins with empty tables and no claims made."""

    def __init__(self, store: PostgresJobs, connection: Connection) -> None:
        self.store = store
        self._connection = connection
        self._run("DELETE FROM jobs")
        self._run("DELETE FROM job_events")
        self._run("DELETE FROM job_pauses")
        store.now = NOON
        store.claims._probes = Probes(SETTINGS.queues, SETTINGS.types, ring_start=SETTINGS.ring_start)

    def _run(self, statement: str, *params: object) -> list[dict[str, object]]:
        cursor = self._connection.execute(statement.encode(), params)
        return cursor.fetchall() if cursor.description is not None else []

    def move_clock(self, now: datetime) -> None:
        self.store.now = now

    def rows(self) -> Sequence[Row]:
        return self._run(_ROWS)

    def after_reap(self, due: Mapping[JobId, tuple[datetime, float]]) -> None:
        """The database throws dice of its own: look at the result, and make it that of ours."""
        for job_id, (now, seconds) in due.items():
            [row] = self._run("SELECT scheduled_at FROM jobs WHERE job_id = %s", job_id)
            earliest, latest = (
                now + timedelta(seconds=seconds),
                now + timedelta(seconds=seconds * (1 + JITTER)),
            )
            assert earliest <= row["scheduled_at"] <= latest  # type: ignore[operator]  # a datetime
            middle = now + timedelta(seconds=seconds * (1 + JITTER / 2))
            self._run("UPDATE jobs SET scheduled_at = %s WHERE job_id = %s", middle, job_id)

    async def cancel(self, job_id: JobId) -> str:
        [row] = self._run("SELECT bpc_cancel_job(%s) AS status", job_id)
        return str(row["status"])

    async def requeue(self, job_id: JobId, *, keep_attempts: bool = False) -> None:
        attempts = "" if keep_attempts else ", attempts = 0"
        self._run(f"UPDATE jobs SET status = 'QUEUED'{attempts} WHERE job_id = %s", job_id)
        # What is done by hand takes its time from the server, which knows nothing of ours.
        self._run("UPDATE jobs SET scheduled_at = %s WHERE job_id = %s", self.store.now, job_id)

    async def discard(self, job_id: JobId) -> None:
        self._run("SELECT bpc_discard_job(%s)", job_id)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def connection(server: Server) -> Iterator[Connection]:
    """To a database that forgives everything but a wrong answer: nothing here outlives the test."""
    with databases.database(server) as db, db.connect() as connection:
        connection.execute("DROP TRIGGER record_history ON jobs")
        connection.execute("DROP TRIGGER jobs_tell_fate ON jobs")  # no business of a store
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off".encode())
        for tenant in TENANTS:
            connection.execute(
                "INSERT INTO tenants (tenant_id, name) VALUES (%s, %s)", [tenant, f"tenant {tenant}"]
            )
        yield connection


def check(sides: type[Histories], *, histories: int, steps: int) -> None:
    many = settings(
        max_examples=histories * TIMES,
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
        phases=_ALL_BUT_EXPLAIN,  # a shorter history says it well enough
    )
    run_state_machine_as_test(sides, settings=many)


def test_histories_in_memory(runner: asyncio.Runner) -> None:
    class InMemoryAlone(Histories):
        def sides(self) -> list[Side]:
            return [InMemory()]

        def run(self, work: Coroutine[object, object, T]) -> T:
            return runner.run(work)

    check(InMemoryAlone, histories=2000, steps=20)


def test_histories_in_both_stores(runner: asyncio.Runner, connection: Connection, server: Server) -> None:
    dsn = Dsn(url=server.url(connection.info.dbname), application_name="histories")
    store = PostgresJobs(dsn, SETTINGS, now=NOON)

    class InBoth(Histories):
        def sides(self) -> list[Side]:
            return [InMemory(), InPostgres(store, connection)]

        def run(self, work: Coroutine[object, object, T]) -> T:
            return runner.run(work)

    try:
        check(InBoth, histories=200, steps=20)
    finally:
        store.close()
