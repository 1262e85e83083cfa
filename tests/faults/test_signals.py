"""A worker that cannot work says so: none of its claims is answered, or nothing it writes is kept."""

import time

from tests.support.database import Database
from tests.support.outages import lease, standby_gone, watched
from tests.support.worker import until, worker

NO_CLAIM = """
CREATE FUNCTION no_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'not today' USING ERRCODE = '54000'; END $$;
CREATE TRIGGER no_claim BEFORE UPDATE ON jobs FOR EACH ROW WHEN (NEW.status = 'RUNNING')
EXECUTE FUNCTION no_claim()
"""


def test_a_worker_without_an_answered_claim_is_not_ready(db: Database) -> None:
    with (
        worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=200) as running,
        watched(running) as [watch],
    ):
        running.wait_ready()
        db.run(NO_CLAIM)
        began_at = time.monotonic()
        job_id = db.enqueue("TEST_NOOP")
        red = watch.turns(503, after=began_at, within=60)
        assert 25 <= red <= 45
        assert "no claim was answered" in running.get("/v1/health/ready")[1]
        assert running.metric("bpc_claims_failed_total", code="54000") >= 3

        db.run("DROP TRIGGER no_claim ON jobs")
        mended_at = time.monotonic()
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=30)
        watch.turns(200, after=mended_at, within=30)
        assert running.stop() == 0
    db.check_history()


def test_a_worker_whose_writes_are_not_kept_is_not_ready_and_says_so_once_a_minute(own_db: Database) -> None:
    with worker(own_db.url, **lease(60, 30)) as running, watched(running) as [watch]:
        running.wait_ready()
        with standby_gone(own_db.server):
            began_at = time.monotonic()
            red = watch.turns(503, after=began_at, within=30)
            time.sleep(70)
            stayed = watch.ready_between(began_at + red, time.monotonic())
        back = watch.turns(200, after=time.monotonic(), within=30)
        until(lambda: running.said("database_back"), within=5)
        told = [line["msg"] for line in running.lines if str(line.get("msg")).startswith("database_")]
        print(f"red after {red:.1f} s, green {back:.1f} s after the repair")

        assert stayed == {503}
        assert told == ["database_unreachable"] * 2 + ["database_back"]
        assert running.stop() == 0
