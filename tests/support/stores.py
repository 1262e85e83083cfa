"""Both job stores behind one door, so that the same test serves both."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Protocol

from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.model import Claim, JobId, NewJob, Settleable, Status, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlement, settlement
from bpc_worker.jobs.store import JobStore, Look
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.testing import FakeClock, an_id
from tests.support.database import Database

Row = Mapping[str, object]


class Side(Protocol):
    """A store, a second one with the same name on the same queue, and what a test wants to see and to do."""

    @property
    def store(self) -> JobStore: ...

    @property
    def other(self) -> JobStore: ...

    def advance(self, seconds: float) -> None: ...

    def tenant(self, tenant_id: TenantId, *, weight: int = 1) -> None:
        """Make it known."""

    def row(self, job_id: JobId) -> Row:
        """By the names of the columns."""

    def events(self, job_id: JobId) -> list[str]: ...

    async def cancel(self, job_id: JobId) -> str: ...

    async def requeue(self, job_id: JobId, *, keep_attempts: bool = False) -> None: ...

    async def discard(self, job_id: JobId) -> None: ...

    def change(self, job_id: JobId, **columns: object) -> None:
        """What no worker does."""

    async def count(self) -> None:
        """A second later what waits is counted: by that, PostgreSQL judges whether there is room."""

    def close(self) -> None: ...


class MemorySide:
    def __init__(self, settings: QueueSettings, clock: FakeClock) -> None:
        self.clock = clock
        self.store = MemoryJobStore(settings, clock=clock, capacity=settings.max_queued, dice=lambda: 0.5)
        self.other = MemoryJobStore(settings, clock=clock, table=self.store.table)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def tenant(self, tenant_id: TenantId, *, weight: int = 1) -> None:
        self.store.table.weights[tenant_id] = weight

    def row(self, job_id: JobId) -> Row:
        row = self.store.row(job_id)
        return {field.name: getattr(row, field.name) for field in fields(row)}

    def events(self, job_id: JobId) -> list[str]:
        return [event.type for event in self.store.events(job_id)]

    async def cancel(self, job_id: JobId) -> str:
        return await self.store.cancel(job_id)

    async def requeue(self, job_id: JobId, *, keep_attempts: bool = False) -> None:
        await self.store.requeue(job_id, keep_attempts=keep_attempts)

    async def discard(self, job_id: JobId) -> None:
        await self.store.discard(job_id)

    def change(self, job_id: JobId, **columns: object) -> None:
        for name, value in columns.items():
            setattr(self.store.row(job_id), name, value)

    async def count(self) -> None:
        self.advance(1)

    def close(self) -> None:
        """Nothing is open."""


class PostgresSide:
    def __init__(self, settings: QueueSettings, clock: FakeClock, db: Database) -> None:
        dsn = Dsn(url=db.url, application_name="contract")
        self.db = db
        self.clock = clock
        self.store = PostgresJobs(dsn, settings, now=clock.now)
        self.other = PostgresJobs(dsn, settings, now=clock.now)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.store.now = self.other.now = self.clock.now

    def tenant(self, tenant_id: TenantId, *, weight: int = 1) -> None:
        row = [tenant_id, f"tenant {tenant_id}", weight]
        self.db.run("INSERT INTO tenants (tenant_id, name, weight) VALUES (%s, %s, %s)", row)

    def row(self, job_id: JobId) -> Row:
        return self.db.job(str(job_id))

    def events(self, job_id: JobId) -> list[str]:
        return self.db.events(str(job_id))

    async def cancel(self, job_id: JobId) -> str:
        return str(self.db.one("SELECT bpc_cancel_job(%s) AS status", [job_id])["status"])

    async def requeue(self, job_id: JobId, *, keep_attempts: bool = False) -> None:
        if keep_attempts:
            self.db.run("UPDATE jobs SET status = 'QUEUED' WHERE job_id = %s", [job_id])
        else:
            self.db.run("SELECT bpc_retry_job(%s)", [job_id])
        self._by_our_clock(job_id)

    def _by_our_clock(self, job_id: JobId) -> None:
        """What is done by hand takes its time from the server, which knows nothing of ours."""
        self.db.run("UPDATE jobs SET scheduled_at = %s WHERE job_id = %s", [self.clock.now, job_id])

    async def discard(self, job_id: JobId) -> None:
        self.db.run("SELECT bpc_discard_job(%s)", [job_id])

    def change(self, job_id: JobId, **columns: object) -> None:
        changes = ", ".join(f"{name} = %s" for name in columns)
        self.db.run(f"UPDATE jobs SET {changes} WHERE job_id = %s", [*columns.values(), job_id])
        self.db.run("TRUNCATE job_history")  # no legal history

    async def count(self) -> None:
        self.advance(1)
        self.store.samples.now = self.clock.now
        await self.store.samples.waiting(every_seconds=0)
        self.store._capacity._read.clear()  # by the system's clock, for a second nobody would ask again

    def close(self) -> None:
        self.store.close()
        self.other.close()


@dataclass
class Bench:
    """One side, with the words in which tests speak."""

    side: Side
    tenant: TenantId
    clock: FakeClock

    @property
    def store(self) -> JobStore:
        return self.side.store

    async def add(
        self, job_type: str = "TEST_NOOP", *, tenant: TenantId | None = None, **more: object
    ) -> JobId:
        job = NewJob(type=job_type, **more)  # type: ignore[arg-type]  # whatever the test names
        return (await self.store.enqueue(tenant or self.tenant, job)).job_id

    async def claim(self, limit: int = 10) -> list[Claim]:
        return list((await self.look(limit)).claims)

    async def look(self, limit: int = 10) -> Look:
        return await self.store.claim(limit=limit)

    async def skip_claims(self, count: int) -> None:
        """By what they are counted, some claims begin out of order: go past them while nothing is due."""
        for _ in range(count):
            assert await self.claim() == []

    async def settle(self, claim: Claim, outcome: Settleable) -> Status | None:
        return await self.store.settle(claim, settled(claim, outcome))


def settled(claim: Claim, outcome: Settleable) -> Settlement:
    return settlement(claim, outcome, backoff=Backoff(), dice=0.5)


def tenant_number(number: int) -> TenantId:
    return TenantId(an_id(number))
