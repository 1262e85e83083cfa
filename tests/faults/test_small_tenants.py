"""A tenant with few jobs behind another's thousands: of every four jobs one goes round the tenants."""

import pytest

from tests.support.database import Database
from tests.support.history import statuses
from tests.support.worker import until, worker

MANY, FEW = 20_000, 20
SHARE = """
SELECT extract(epoch FROM max(finished_at) FILTER (WHERE tenant_id = %s) - min(started_at))::float
       / extract(epoch FROM max(finished_at) - min(started_at))::float AS share
FROM jobs
"""


def enqueue(db: Database, tenant: str, count: int) -> None:
    statement = "INSERT INTO jobs (tenant_id, type) SELECT %s, 'TEST_NOOP' FROM generate_series(1, %s)"
    db.run(statement, [tenant, count])


@pytest.mark.parametrize("slots", [10, 100])
def test_few_jobs_are_through_within_a_tenth_of_the_drain(db: Database, slots: int) -> None:
    large, small = db.tenant("large"), db.tenant("small")
    enqueue(db, large, MANY)
    enqueue(db, small, FEW)
    db.run("VACUUM ANALYZE jobs")
    with worker(db.url_as("bpc_worker"), BPC_WORKER_CONCURRENCY=slots, BPC_LOG_LEVEL="warning"):
        until(lambda: statuses(db) == {"SUCCEEDED": MANY + FEW}, within=300, every=0.25)
    share = float(str(db.one(SHARE, [small])["share"]))
    print(f"{slots} slots: the last of {FEW} behind {MANY} was through after {share:.1%} of the drain")
    assert share < 0.1
