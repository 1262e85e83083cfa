"""The shortest whole path: a job is queued by a plain INSERT, a worker runs it."""

from tests.support.database import Database
from tests.support.worker import until, worker


def test_a_plain_insert_is_run_by_a_worker(db: Database) -> None:
    with worker(db.url) as running:
        running.wait_ready()
        job_id = db.enqueue("TEST_EFFECT", '{"key": "a"}')
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=10)

        assert running.stop() == 0
        assert db.one("SELECT count(*) AS n FROM test_effects")["n"] == 1
        assert db.events(job_id) == []
        db.check_history()
