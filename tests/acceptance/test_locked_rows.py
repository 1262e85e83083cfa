"""A due job that somebody keeps locked: the others go on, and nobody asks for it without a pause."""

import time

import psycopg

from tests.support.database import Database
from tests.support.worker import until, worker

SECONDS = 2.0
MOST_LOOKS_A_SECOND = 50  # twenty, a poll, and those of the job beside it


def test_a_locked_job_costs_a_few_looks_and_is_taken_when_it_is_free(db: Database) -> None:
    locked = db.enqueue("TEST_NOOP")
    with psycopg.connect(db.url) as somebody:
        somebody.execute("SELECT FROM jobs WHERE job_id = %s FOR UPDATE", [locked])
        with worker(db.url_as("bpc_worker")) as running:
            running.wait_ready()
            before = running.metric("bpc_looks_total")
            other = db.enqueue("TEST_NOOP")
            until(lambda: db.job(other)["status"] == "SUCCEEDED", within=10, what="the other one")
            time.sleep(SECONDS)
            looks = running.metric("bpc_looks_total") - before
            assert looks < MOST_LOOKS_A_SECOND * SECONDS
            assert db.job(locked)["status"] == "QUEUED"
            somebody.rollback()
            until(lambda: db.job(locked)["status"] == "SUCCEEDED", within=5, what="the locked one")
            assert running.stop() == 0
    db.check_history()
