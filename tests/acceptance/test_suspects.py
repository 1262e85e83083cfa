"""Suspects, whose last workers died: they run apart from everybody else, and nobody waits for them."""

from tests.support.database import Database
from tests.support.history import moment, span, statuses
from tests.support.outages import lease
from tests.support.poison import enqueue_suspects, feed
from tests.support.worker import until, worker

SETTINGS = lease(6, 3)


def test_nobody_waits_for_suspects(db: Database) -> None:
    """Three of them are due before anything else, and take nine seconds one after the other."""
    suspects = enqueue_suspects(db, 3, seconds=3)
    with worker(db.url, **SETTINGS) as running:
        until(lambda: any(db.job(each)["status"] == "RUNNING" for each in suspects), within=30)
        feed(db, 20, priority=2)
        urgent = db.enqueue("TEST_NOOP", priority=0)
        until(lambda: db.job(urgent)["status"] == "SUCCEEDED", within=30)
        until(lambda: statuses(db).get("SUCCEEDED", 0) >= 21, within=30)

        job = db.job(urgent)
        waited = span(moment(job, "created_at"), moment(job, "started_at"))
        print(f"the urgent job waited {waited:.2f} s")
        assert waited < 2
        assert any(db.job(each)["status"] != "SUCCEEDED" for each in suspects), "they were over too soon"
        until(lambda: statuses(db) == {"SUCCEEDED": 24}, within=60)
        assert running.stop() == 0
    db.check_history()


def test_a_fleet_goes_on_while_a_suspect_waits(db: Database) -> None:
    """Both workers have a long job and free slots, short jobs wait, and a suspect has for a while."""
    few = {"BPC_WORKER_CONCURRENCY": 2, **SETTINGS}
    with (
        worker(db.url, BPC_WORKER_QUEUES="default,one", **few) as one,
        worker(db.url, BPC_WORKER_QUEUES="default,two", **few) as two,
    ):
        long = [db.enqueue("TEST_SLEEP", '{"seconds": 12}', queue=queue) for queue in ("one", "two")]
        until(lambda: {db.job(each)["status"] for each in long} == {"RUNNING"}, within=30)
        [suspect] = enqueue_suspects(db, 1, seconds=0, due_for=60)
        feed(db, 400, priority=2)
        until(lambda: db.job(suspect)["status"] == "SUCCEEDED", within=30)

        gaps = db.one(
            "SELECT extract(epoch FROM max(gap))::float8 AS longest FROM ("
            "  SELECT started_at - lag(started_at) OVER (ORDER BY started_at) AS gap"
            "  FROM jobs WHERE type = 'TEST_SLEEP' AND started_at IS NOT NULL) AS between_two"
        )
        print(f"at most {gaps['longest']} s between the starts of two jobs")
        assert float(str(gaps["longest"])) < 2
        assert {db.job(each)["status"] for each in long} == {"RUNNING"}, "they were over too soon"
        assert one.stop() == two.stop() == 0
    db.check_history(nothing_left=False)
