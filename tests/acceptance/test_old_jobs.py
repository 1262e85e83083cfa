"""What ended long ago goes by itself, as quickly as workers end jobs."""

import pytest

from tests.bench.filling import fill
from tests.support.database import Database
from tests.support.worker import until, worker

pytestmark = pytest.mark.acceptance

MANY = 5_000  # two and a half minutes of pages of five hundred


def left(db: Database) -> object:
    return db.one("SELECT count(*) AS n FROM jobs")["n"]


def test_a_worker_removes_what_is_old_as_quickly_as_it_ends_jobs(db: Database) -> None:
    fill(db, MANY, status="SUCCEEDED", due="-91 days")
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        until(lambda: left(db) == 0, within=40, what="nothing is left", every=0.2)
