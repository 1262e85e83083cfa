"""What a handler should not do costs its own job at most, and never the worker for good."""

import json

from tests.support.database import Database
from tests.support.worker import until, worker


def odd(db: Database, how: str, **columns: object) -> str:
    return db.enqueue("TEST_ODD", json.dumps({"how": how}), **columns)


def test_a_handler_that_hangs_after_completing_loses_its_slot_only_until_its_time_out(db: Database) -> None:
    hanging = odd(db, "hang after complete")
    with worker(db.url, BPC_WORKER_CONCURRENCY=1) as running:
        until(lambda: db.job(hanging)["status"] == "SUCCEEDED", within=15)
        after = db.enqueue("TEST_NOOP")
        until(lambda: db.job(after)["status"] == "SUCCEEDED", within=20)

        assert db.job(hanging)["attempts"] == 1
        assert running.stop() == 0
    db.check_history()


def test_a_handler_that_exits_costs_an_attempt_and_not_the_process(db: Database) -> None:
    direct, indirect = odd(db, "exit", max_attempts=1), odd(db, "exit in a task", max_attempts=1)
    with worker(db.url) as running:
        until(lambda: db.job(direct)["status"] == "DEAD_LETTER", within=15)
        until(lambda: db.job(indirect)["status"] == "SUCCEEDED", within=15)
        after = db.enqueue("TEST_NOOP")
        until(lambda: db.job(after)["status"] == "SUCCEEDED", within=15)

        assert db.job(direct)["fail_code"] == "INTERNAL_ERROR"
        assert running.stop() == 0
    db.check_history()


def test_progress_that_cannot_be_stored_costs_nobody_a_lease(db: Database) -> None:
    job_id, beside = odd(db, "unstorable progress"), db.enqueue("TEST_SLEEP", '{"seconds": 6}')
    with worker(db.url, BPC_JOBS_LEASE_SECONDS=5, BPC_JOBS_LEASE_RENEW_SECONDS=1) as running:
        until(lambda: db.job(beside)["status"] == "SUCCEEDED", within=20)
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=20)

        assert (db.job(job_id)["attempts"], db.job(beside)["attempts"]) == (1, 1)
        assert running.stop() == 0
    db.check_history()


def test_errors_and_results_that_cannot_be_stored_end_the_job_properly(db: Database) -> None:
    detail, huge = odd(db, "unstorable detail", max_attempts=1), odd(db, "huge result")
    with worker(db.url) as running:
        until(lambda: db.job(detail)["status"] == "DEAD_LETTER", within=15)
        until(lambda: db.job(huge)["status"] == "FAILED", within=15)

        assert db.job(detail)["fail_code"] == "COMMAND_FAILED"
        assert db.job(huge)["fail_code"] == "PAYLOAD_TOO_LARGE"
        assert running.stop() == 0
    db.check_history()


def test_what_a_bug_says_is_neither_stored_nor_logged(db: Database) -> None:
    job_id = odd(db, "quote the payload", max_attempts=1)
    with worker(db.url) as running:
        until(lambda: db.job(job_id)["status"] == "DEAD_LETTER", within=15)

        assert running.stop() == 0
        assert "DE89" not in "".join(running.raw)
    assert "DE89" not in str(db.job(job_id))
    assert "ValueError at bpc_odd_handlers.py:" in str(db.job(job_id)["fail_reason"])
    db.check_history()


def test_a_job_that_blocks_through_a_task_of_its_own_pays_and_its_neighbour_does_not(db: Database) -> None:
    guilty = odd(db, "block in a task")
    with worker(
        db.url, BPC_SHUTDOWN_GRACE_SECONDS=1, BPC_JOBS_LEASE_SECONDS=5, BPC_JOBS_LEASE_RENEW_SECONDS=1
    ) as running:
        until(lambda: db.job(guilty)["status"] == "RUNNING", within=15)
        neighbour = db.enqueue("TEST_SLEEP", '{"seconds": 0}')
        until(lambda: db.job(neighbour)["status"] == "RUNNING", within=15)

        assert running.wait(within=40) == 1
        assert (db.job(neighbour)["status"], db.job(neighbour)["attempts"]) == ("QUEUED", 0)
        assert (db.job(guilty)["status"], db.job(guilty)["attempts"]) == ("RUNNING", 1)
    db.check_history(nothing_left=False)


def test_a_shutdown_is_no_failure_even_for_a_handler_that_says_so(db: Database) -> None:
    job_id = odd(db, "turn cancellation into an error")
    with worker(db.url, BPC_SHUTDOWN_GRACE_SECONDS=0.5) as running:
        until(lambda: db.job(job_id)["status"] == "RUNNING", within=15)

        assert running.stop() == 0
    assert (db.job(job_id)["status"], db.job(job_id)["attempts"]) == ("QUEUED", 0)
    db.check_history(nothing_left=False)
