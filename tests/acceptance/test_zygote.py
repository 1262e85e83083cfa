"""A worker whose zygote is killed in the middle: what that costs, and whom."""

import os
import signal

import pytest

from tests.bench.bench_cpu import rounds_of
from tests.support.children import alive, children_of
from tests.support.database import Database
from tests.support.history import events, statuses
from tests.support.worker import Worker, until, worker

pytestmark = pytest.mark.acceptance

IN_CHILDREN = 2


def zygote_of(running: Worker) -> int:
    """As soon as all its children are at work."""

    def found() -> int:
        return next((pid for pid in children_of(running.pid) if len(children_of(pid)) == IN_CHILDREN), 0)

    return until(found, within=30, what="a zygote with two children")


def test_a_killed_zygote_costs_each_job_in_a_child_one_retry_and_no_other_job_any(db: Database) -> None:
    payload = f'{{"rounds": {rounds_of(2.0)}}}'
    jobs = [db.enqueue("TEST_CPU_A", payload) for _ in range(4)]
    with worker(db.url_as("bpc_worker"), BPC_JOBS_BACKOFF_BASE=1) as running:
        zygote = zygote_of(running)
        children = children_of(zygote)
        until(lambda: statuses(db) == {"RUNNING": 4}, within=10, what="two in children, two at hand")
        os.kill(zygote, signal.SIGKILL)
        until(lambda: not any(map(alive, children)), within=10, what="the end of its children")
        until(lambda: statuses(db) == {"SUCCEEDED": 4}, within=60, what="all done")
        assert running.stop() == 0

    assert sorted(int(str(db.job(job)["attempts"])) for job in jobs) == [1, 1, 2, 2]
    retried = [event for job in jobs for event in events(db, job) if event["type"] == "job:retried"]
    assert len(retried) == IN_CHILDREN
    assert {line["reason"] for line in running.lines if line["msg"] == "zygote_replaced"} == {
        "signal SIGKILL"
    }
    db.check_history()
