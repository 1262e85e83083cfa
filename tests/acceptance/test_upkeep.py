"""What a worker does beside its jobs never ends it, nor keeps it from them."""

import json

from tests.support.database import Database
from tests.support.outages import all_succeed, enqueue_many, lease
from tests.support.worker import until, worker

BY_HAND = """
INSERT INTO jobs (tenant_id, type, status, lease_owner, lease_expires_at)
VALUES (%s, 'TEST_NOOP', 'RUNNING', 'by hand', now() + interval '1 hour')
"""
SLOW_COUNT = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE UPDATE ON queue_totals FOR EACH ROW EXECUTE FUNCTION slow()
"""
OFTEN: dict[str, object] = {"BPC_REAPER_INTERVAL_SECONDS": 0.5, "BPC_REAPER_SAMPLE_INTERVAL": 1}


def test_a_row_made_by_hand_ends_no_worker(db: Database) -> None:
    db.run(BY_HAND, [db.tenant()])
    with worker(db.url_as("bpc_worker"), **OFTEN) as running:
        running.wait_ready()
        until(lambda: running.metric("bpc_reaper_scan_duration_seconds_count") >= 6, within=30)
        job_id = db.enqueue("TEST_NOOP")
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=10)

        assert running.exit_code is None
        assert 'bpc_running_oldest_seconds{queue="default"' not in running.get("/v1/metrics")[1]
        assert running.stop() == 0


def test_a_count_that_takes_too_long_keeps_nobody_from_reaping(db: Database) -> None:
    db.run(SLOW_COUNT)
    with worker(db.url_as("bpc_worker"), **{**OFTEN, **lease(6, 3, reap=0.5)}) as running:
        running.wait_ready()
        until(lambda: running.metric("bpc_upkeep_failures_total", task="sampler") >= 2, within=30)
        job_id = db.enqueue("TEST_NOBODYS")
        db.run(
            "UPDATE jobs SET status = 'RUNNING', attempts = 1, lease_owner = 'dead', lease_token ="
            " gen_random_uuid(), started_at = now(), lease_expires_at = now() - interval '1 second'"
        )
        until(lambda: db.job(job_id)["status"] == "QUEUED", within=10)

        assert running.get("/v1/health/ready")[0] == 200
        assert "bpc_queue_length{" not in running.get("/v1/metrics")[1], "unknown is not 0"
        assert running.stop() == 0


def test_a_bucket_that_somebody_holds_stops_its_own_type_only(db: Database) -> None:
    limits = json.dumps({kind: {"per_second": 100, "burst": 100} for kind in ("TEST_NOOP", "TEST_READ")})
    with worker(db.url_as("bpc_worker"), BPC_RATE_LIMITS=limits) as running:
        running.wait_ready()
        for kind in ("TEST_NOOP", "TEST_READ"):
            enqueue_many(db, kind, 2)
        all_succeed(db, within=10)
        with db.connect() as holder, holder.transaction():
            holder.execute("UPDATE rate_limits SET tokens = tokens WHERE key = 'TEST_NOOP'")
            held = enqueue_many(db, "TEST_NOOP", 5)
            others = [*enqueue_many(db, "TEST_READ", 5), *enqueue_many(db, "TEST_SLEEP", 5)]
            until(lambda: _ended(db, others) == 10, within=10)
            assert _ended(db, held) == 0
        all_succeed(db, within=10)

        assert not running.said("claim_failed")
        assert running.stop() == 0
    db.check_history()


def _ended(db: Database, jobs: list[str]) -> int:
    return sum(db.job(job_id)["status"] == "SUCCEEDED" for job_id in jobs)
