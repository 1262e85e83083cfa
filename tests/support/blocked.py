"""A handler that does not give the handlers' loop back, and what must go on around it."""

import json

from tests.support.database import Database
from tests.support.history import statuses, tenures
from tests.support.supervisor import probing
from tests.support.worker import Worker, until


def check_blocked_loop(db: Database, running: Worker, *, how: str, seconds: float, lease: float) -> None:
    """One attempt, the lease never in danger, every probe answered, and the others' turn comes after."""
    blocker = db.enqueue("TEST_BLOCK", json.dumps({"how": how, "seconds": seconds}))
    until(lambda: db.job(blocker)["status"] == "RUNNING", within=10)
    with probing(running) as probe:
        others = [db.enqueue("TEST_SLEEP", '{"seconds": 0.1}') for _ in range(3)]
        until(lambda: db.job(blocker)["status"] == "SUCCEEDED", within=seconds + 30)
    until(lambda: statuses(db) == {"SUCCEEDED": 4}, within=10)

    [tenure] = tenures(db, blocker)
    gaps = [tenures(db, job_id)[0].longest_gap for job_id in others]
    print(
        f"{how}: {len(probe.answers)} probes, the slowest {probe.slowest * 1000:.0f} ms; longest gap between "
        f"heartbeats {tenure.longest_gap:.2f} s, of those that waited {max(gaps):.2f} s"
    )
    assert len(probe.answers) > 2 * seconds
    assert {status for status, _ in probe.answers} == {200}
    assert probe.slowest < 1
    assert len(tenure.beats) >= seconds / lease
    assert tenure.longest_gap < lease
    assert max(gaps) < lease
    assert [db.job(job_id)["attempts"] for job_id in (blocker, *others)] == [1] * 4
    assert min(tenures(db, job_id)[0].ended_at for job_id in others) > tenure.started_at
    assert running.metric("bpc_leases_lost_total") == 0
