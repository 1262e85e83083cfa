"""What ended long ago goes by itself, as quickly as workers end jobs."""

import pytest

from tests.bench.filling import fill
from tests.support.database import Database
from tests.support.worker import until, worker

pytestmark = pytest.mark.acceptance

MANY = 20_000  # some seconds of a worker's work


def left(db: Database) -> object:
    return db.one("SELECT count(*) AS n FROM jobs")["n"]


@pytest.mark.xfail(
    strict=True, reason="a page of five hundred every fifteen seconds, and only where it was asked for"
)
def test_a_worker_removes_what_is_old_as_quickly_as_it_ends_jobs(db: Database) -> None:
    fill(db, MANY, status="SUCCEEDED", due="-91 days")
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        until(lambda: left(db) == 0, within=20, what="nothing is left", every=0.2)
