"""Both stores, each with a clock of the test's own."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import pytest

from bpc_worker.jobs.model import Priority
from bpc_worker.jobs.queue_settings import QueueSettings, TypeDefaults
from bpc_worker.testing import FakeClock
from tests.support.stores import Bench, MemorySide, PostgresSide, Side, tenant_number

LEASE_SECONDS = 60.0

SETTINGS = QueueSettings(
    owner="worker-1",
    types=("TEST_NOOP", "TEST_EFFECT"),
    queues=("default", "second"),
    lease_seconds=LEASE_SECONDS,
    ring_start=UUID(int=0),
    type_defaults={"TEST_EFFECT": TypeDefaults(priority=Priority.HIGH, max_attempts=7)},
)
ROOM_FOR_THREE = replace(SETTINGS, max_queued=3)


@pytest.fixture(params=["memory", "postgres"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    async for bench in _bench(request, SETTINGS):
        yield bench


@pytest.fixture(params=["memory", "postgres"])
async def small_bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    """No more than three may wait."""
    async for bench in _bench(request, ROOM_FOR_THREE):
        yield bench


async def _bench(request: pytest.FixtureRequest, settings: QueueSettings) -> AsyncIterator[Bench]:
    """The first claim of a store begins with the oldest job: it is made here, no test needs to mind it."""
    clock = FakeClock()
    if request.param == "memory":
        yield await _ready(MemorySide(settings, clock), clock)
        return
    db = request.getfixturevalue("db")
    side = PostgresSide(settings, clock, db)
    yield await _ready(side, clock)
    side.close()
    if db.run("SELECT 1 FROM job_history LIMIT 1"):
        db.check_history(nothing_left=False)


async def _ready(side: Side, clock: FakeClock) -> Bench:
    tenant = tenant_number(0xACE)
    side.tenant(tenant)
    await side.store.claim(limit=1)
    return Bench(side, tenant, clock)
