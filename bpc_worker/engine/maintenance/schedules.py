"""Jobs by the clock: every worker looks, by the database's time, and one job per tick comes of it.

One of them takes the turn, so that with many tenants not every worker inserts for every tenant. The
idempotency key of a job names its tick, so it does not matter who comes first, or who dies in between. Of
the ticks that were missed while nobody was there, only the last one gets its job. A new schedule begins with
its next tick.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bpc_worker.engine.maintenance.care import Care
from bpc_worker.jobs.cron import Cron
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import NewJob, TenantId
from bpc_worker.jobs.store import JobStore, Ticks
from bpc_worker.observability import log

_log = log.get("schedules")
_MINUTE = 60.0
_SPREAD = 0.5  # seconds after the full minute, more or less
_TURN = 50.0  # seconds for the jobs of all tenants; at the next full minute another worker may follow


class Book(Protocol):
    async def read(self, names: list[str]) -> Ticks: ...

    async def take_turn(self, name: str, tick: datetime, *, seconds: float) -> bool:
        """Whether it is this worker that queues the jobs of that tick."""

    async def remember(self, name: str, tick: datetime) -> None: ...

    async def tenants(self, wanted: str | None) -> list[TenantId]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    cron: Cron
    type: str
    payload: Mapping[str, object]
    tenant: str | None  # None: of every tenant
    queue: str | None


class Scheduler:
    def __init__(
        self,
        book: Book,
        store: JobStore,
        planned: Mapping[str, Planned],
        *,
        on_queued: Callable[[str, str], None],
        care: Care,
        spread: Callable[[float, float], float],
    ) -> None:
        self._book = book
        self._store = store
        self._planned = planned
        self._on_queued = on_queued
        self._care = care
        self._spread = spread
        self._until_next_minute = _MINUTE

    async def run(self) -> None:
        while True:
            if await self._care.attempt("schedules", self._look_at_clock):
                await asyncio.sleep(self._until_next_minute + self._spread(_SPREAD, 0.9))
            else:
                await asyncio.sleep(self._care.pause("schedules", _MINUTE / 4))

    async def _look_at_clock(self) -> None:
        now = await self.look()
        self._until_next_minute = _MINUTE - (now.timestamp() % _MINUTE)

    async def look(self) -> datetime:
        """Queue what has become due; the database's time."""
        known = await self._book.read([*self._planned])
        for name, planned in self._planned.items():
            tick = planned.cron.last(known.now)
            if tick is None:
                continue
            before = known.last.get(name)
            if before is None or (tick > before and await self._queue(name, planned, tick)):
                await self._book.remember(name, tick)
        return known.now

    async def _queue(self, name: str, planned: Planned, tick: datetime) -> bool:
        """Whether the tick is through. What could not be queued is tried again at the next look."""
        if not await self._book.take_turn(name, tick, seconds=_TURN):
            return False
        tenants = await self._book.tenants(planned.tenant)
        if not tenants:
            _log.warning("schedule_without_tenant", key=name)
            return False
        job = NewJob(
            type=planned.type,
            payload=planned.payload,
            queue=planned.queue,
            idempotency_key=f"schedule:{name}:{tick:%Y-%m-%dT%H:%MZ}",
        )
        done = [await self._enqueue(name, tenant_id, job) for tenant_id in tenants]
        return all(done)

    async def _enqueue(self, name: str, tenant_id: TenantId, job: NewJob) -> bool:
        try:
            done = await self._store.enqueue(tenant_id, job)
        except Permanent as error:
            _log.warning(
                "schedule_refused", key=name, job_type=job.type, tenant_id=str(tenant_id),
                error_code=error.code, error_message=error.message,
            )  # fmt: skip
            # Another worker with another configuration was first: there is a job, and one is enough.
            return error.code == Code.IDEMPOTENCY_CONFLICT
        if done.added:
            _log.info("schedule_ticked", key=name, job_id=str(done.job_id), job_type=job.type)
            self._on_queued(job.queue or "default", job.type)
        return True
