"""Whatever lies in the tables that upkeep reads, upkeep goes on: no row ends a worker."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bpc_worker import ids
from bpc_worker.app.base import Base
from bpc_worker.app.composition import Plan, _roster, base_of
from bpc_worker.app.upkeep import announcing, upkeep_of
from bpc_worker.config import load as config
from tests.support.database import Database
from tests.support.odd_rows import Row, leased, plant, rows_of

TABLES = (
    "tenants", "jobs", "queue_samples", "queue_totals", "schedule_ticks", "workers", "rate_limits",
    "job_pauses", "job_events", "prune_progress",
)  # fmt: skip
EMPTIED = (
    "jobs", "other_jobs", "job_events", "queue_samples", "schedule_ticks", "workers", "rate_limits",
    "job_pauses", "tenants",
)  # fmt: skip
FOREIGN = """
CREATE TABLE other_jobs (
  status text, attempts {number}, max_attempts {number}, lease_owner text, lease_token uuid,
  lease_expires_at timestamptz, last_heartbeat_at timestamptz, scheduled_at timestamptz, job_id uuid);
GRANT SELECT, UPDATE ON other_jobs TO bpc_worker
"""
ENV = {
    "BPC_REAPER_TABLES": "jobs,other_jobs",
    "BPC_SCHEDULES": '{"often": {"cron": "* * * * *", "type": "TEST_NOOP"},'
    ' "x": {"cron": "1 1 * * *", "type": "TEST_NOOP"}}',
    "BPC_JOBS_RETENTION_DAYS": "30",
}


class PassOver(BaseException):
    """A duty has done all it does before its pause."""


def until_the_pause(seconds: float, _: float) -> float:
    if seconds >= 0.2:
        raise PassOver
    return 0.0


@pytest.fixture(params=["integer", "numeric"])
def odd_db(db: Database, request: pytest.FixtureRequest) -> Database:
    db.run(FOREIGN.format(number=request.param))
    db.run("ALTER TABLE job_history DISABLE TRIGGER ALL")
    return db


def _base_of(db: Database) -> Base:
    url = db.url_as("bpc_worker")
    return base_of(config.load(env=ENV | {"BPC_DATABASE_URL": url}), {}, url)


async def _one_pass(duty: Callable[[], Coroutine[object, object, None]]) -> bool:
    """Whether the duty came to its pause, whatever it met before."""
    try:
        async with asyncio.timeout(30):
            await duty()
    except PassOver:
        return True
    return False


def test_no_row_that_the_schema_allows_ends_a_worker(
    odd_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ids, "spread", until_the_pause)
    tenant = UUID(odd_db.tenant())
    rows = {table: rows_of(odd_db, table, tenant) for table in (*TABLES, "other_jobs")}
    base = _base_of(odd_db)
    planted: dict[str, int] = dict.fromkeys(rows, 0)

    @settings(
        max_examples=int(os.environ.get("BPC_ODD_EXAMPLES", "40")),
        phases=[Phase.generate],  # what is found is told at once: to make it smaller takes minutes
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(data=st.data())
    def they_go_on(data: st.DataObject) -> None:
        planter.execute("; ".join(f"DELETE FROM {table}" for table in EMPTIED))
        planter.execute("INSERT INTO tenants (tenant_id, name) VALUES (%s, 'acme')", [tenant])
        for table, row in rows.items():
            for found in data.draw(st.lists(row, max_size=3), label=table):
                planted[table] += plant(planter, table, found)
                if table in {"jobs", "other_jobs"}:
                    for expired in (True, False):
                        planted[table] += plant(planter, table, fresh_id(leased(found, expired=expired)))
        asyncio.run(all_duties())

    def fresh_id(row: Row) -> Row:
        return {**row, "job_id": str(ids.uuid7())} if "lease_owner" in row else row

    async def all_duties() -> None:
        upkeep = upkeep_of(base, tell=lambda: None)
        duties = (*upkeep.duties, announcing(upkeep.care, _roster(base, Plan())))
        try:
            for duty in duties:
                assert await _one_pass(duty)
        finally:
            base.store.close()

    with odd_db.connect() as planter:
        they_go_on()
    print(planted)
    must = ("jobs", "other_jobs", "queue_samples", "schedule_ticks", "workers", "tenants")
    assert all(planted[table] for table in must), planted
