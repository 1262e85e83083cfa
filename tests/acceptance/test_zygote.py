"""Children of a real worker: who shares one with whom, and what it costs when their zygote is killed."""

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


def test_jobs_of_two_tenants_or_of_two_types_are_never_in_one_child(db: Database) -> None:
    """Both types have the same task: nothing but the type keeps them apart, as it does compile and sign."""
    for number in range(60):
        db.run(
            "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, %s, %s)",
            [db.tenant("abc"[number % 3]), f"TEST_CPU_{'AB'[number % 2]}", '{"rounds": 1000}'],
        )
    with worker(db.url_as("bpc_worker")) as running:
        until(lambda: statuses(db) == {"SUCCEEDED": 60}, within=60, what="all done")
        assert running.stop() == 0

    rows = db.run("SELECT DISTINCT tenant_id, type, result ->> 'pid' AS pid FROM jobs")
    assert len({(row["tenant_id"], row["type"]) for row in rows}) == 6
    assert len({row["pid"] for row in rows}) == len(rows), "a child is one tenant's and one type's"
