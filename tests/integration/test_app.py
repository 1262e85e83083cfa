"""The worker as a whole, in this process: what it opened it closes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from bpc_worker.app import composition
from bpc_worker.config import load as config
from bpc_worker.handler_api import Context, HandlerSpec, Payload
from bpc_worker.registry import Registry
from tests.support.database import Database
from tests.support.worker import until

if TYPE_CHECKING:
    import msgspec


class Nothing(Payload, frozen=True):
    pass


async def _noop(_: Nothing, __: Context) -> object:
    return None


def _registry() -> Registry:
    spec = HandlerSpec(job_type="TEST_NOOP", payload=Nothing, handle=_noop)
    return {"TEST_NOOP": cast("HandlerSpec[msgspec.Struct]", spec)}


def _connections(db: Database) -> list[Mapping[str, object]]:
    return [
        row
        for row in db.run(
            "SELECT application_name, query FROM pg_stat_activity WHERE datname = current_database()"
        )
        if str(row["application_name"]).startswith("bpc-worker")
    ]


async def test_a_worker_that_stops_leaves_no_connection_behind(db: Database) -> None:
    """With everything that has one of its own: rate limits, schedules, further tables, pruning."""
    db.run(
        "CREATE TABLE other_jobs (LIKE jobs INCLUDING ALL); GRANT SELECT, UPDATE ON other_jobs TO bpc_worker"
    )
    url = db.url_as("bpc_worker")
    env = {
        "BPC_DATABASE_URL": url,
        "BPC_RATE_LIMITS": '{"TEST_NOOP": {"per_second": 100, "burst": 100}}',
        "BPC_SCHEDULES": '{"often": {"cron": "* * * * *", "type": "TEST_NOOP"}}',
        "BPC_REAPER_TABLES": "jobs,other_jobs",
        "BPC_JOBS_RETENTION_DAYS": "30",
    }
    settings = config.load(env=env)
    jobs = [db.enqueue("TEST_NOOP") for _ in range(20)]

    code = await composition.serve(settings, _registry(), url, composition.Plan(until_empty=True))

    assert code == 0
    assert {db.job(job_id)["status"] for job_id in jobs} == {"SUCCEEDED"}
    assert db.run("SELECT FROM rate_limits"), "the buckets were asked"
    assert db.run("SELECT FROM schedule_ticks"), "the schedules were asked"
    until(lambda: not _connections(db), within=5, what="all closed")  # a server needs a moment to notice
    db.check_history()
