"""A cancel reaches a running handler within a second, however the worker learns of new jobs."""

import time
from collections.abc import Mapping

import pytest

from tests.support.broker import wait_connected
from tests.support.database import Database
from tests.support.history import moment, span
from tests.support.rabbitmq import RabbitNode
from tests.support.worker import until, worker

SOON = 1.5
RARELY = {"BPC_JOBS_LEASE_SECONDS": 120, "BPC_JOBS_LEASE_RENEW_SECONDS": 60}  # no renewal will tell


def seconds_until_cancelled(db: Database, after: float) -> float:
    job_id = db.enqueue("TEST_SLEEP", '{"seconds": 60}', priority=0)
    until(lambda: db.job(job_id)["status"] == "RUNNING", within=60)
    time.sleep(after)  # the keeper asks at a moment of its own
    with db.connect("bpc_operator") as operator:
        operator.execute("SELECT bpc_cancel_job(%s)", [job_id])
    until(lambda: db.job(job_id)["status"] == "CANCELLED", within=10)
    row = db.job(job_id)
    return span(moment(row, "cancel_requested_at"), moment(row, "finished_at"))


def check(db: Database, settings: Mapping[str, object], *, broker: bool = False) -> None:
    with worker(db.url_as("bpc_worker"), **RARELY, **settings) as running:
        if broker:
            wait_connected(running)
        took = [seconds_until_cancelled(db, after) for after in (0.1, 0.5, 0.8)]
        print("cancelled after " + ", ".join(f"{seconds:.2f} s" for seconds in took))
        assert max(took) <= SOON
        assert running.stop() == 0
    db.check_history()


def test_by_notify(db: Database) -> None:
    check(db, {"BPC_NOTIFY_ENABLED": "true"})


def test_by_poll_alone(db: Database) -> None:
    check(db, {"BPC_NOTIFY_ENABLED": "false"})


@pytest.mark.broker
def test_by_the_broker(db: Database, node: RabbitNode) -> None:
    check(db, {"BPC_QUEUE_URL": node.url, "BPC_NOTIFY_ENABLED": "false"}, broker=True)
