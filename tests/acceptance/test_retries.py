"""What becomes of a job whose handler fails, by the kind of its failure; the worker is an ordinary login."""

import re
from datetime import datetime

import pytest

from tests.support.database import Database
from tests.support.history import Row, events, moment, now, span, statuses, tenures
from tests.support.worker import until, worker

DUE_NOW = "UPDATE jobs SET scheduled_at = now() WHERE job_id = %s"


def is_in(db: Database, job_id: str, status: str, *, within: float = 15) -> Row:
    until(lambda: db.job(job_id)["status"] == status, within=within, what=f"{status}: {db.job(job_id)}")
    return db.job(job_id)


def after_event(db: Database, job_id: str, count: int) -> Row:
    """The row as the job's event number `count` left it."""
    until(lambda: len(events(db, job_id)) >= count, within=15, what=f"event {count} of {db.job(job_id)}")
    return db.job(job_id)


def delays(db: Database, job_id: str) -> list[float]:
    """From the moment each attempt was settled to when the next one was due, by the database's clock."""
    return [
        span(moment(event, "at"), moment(tenure.ended, "scheduled_at"))
        for event, tenure in zip(events(db, job_id), tenures(db, job_id), strict=True)
        if tenure.ended is not None and tenure.ended["status"] == "QUEUED"
    ]


def test_delays_double_from_attempt_to_attempt_and_the_fifth_failure_is_final(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_FAIL")
        for attempt in range(1, 5):
            after_event(db, job_id, attempt)
            db.run(DUE_NOW, [job_id])  # four seconds and more are waited for in tests/faults
        dead = is_in(db, job_id, "DEAD_LETTER")

        measured = delays(db, job_id)
        print("delays:", ", ".join(f"{delay:.2f} s" for delay in measured))
        for plain, delay in zip((2, 4, 8, 16), measured, strict=True):
            assert plain <= delay <= 1.1 * plain
        assert db.events(job_id) == ["job:retried"] * 4 + ["job:dead_lettered"]
        assert (dead["attempts"], dead["fail_code"]) == (5, "COMMAND_FAILED")
        assert dead["finished_at"] is not None
        assert running.metric("bpc_jobs_retried_total", type="TEST_FAIL") == 4
        assert running.metric("bpc_jobs_dead_letter_total", type="TEST_FAIL") == 1
        assert running.stop() == 0
    db.check_history()


def test_a_retry_waits_for_its_time_and_not_much_longer(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_FAIL", '{"until": 2}')
        done = is_in(db, job_id, "SUCCEEDED")

        _, second = tenures(db, job_id)
        late = span(moment(second.claimed, "scheduled_at"), second.started_at)
        print(f"claimed {late:.2f} s after it was due")
        assert 0 <= late <= 1.1  # one poll
        assert (done["attempts"], done["result"]) == (2, {"attempt": 2})
        assert (done["fail_code"], done["fail_reason"]) == (None, None)
        assert running.stop() == 0
    db.check_history()


def test_an_error_is_stored_in_one_shape(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_FAIL", max_attempts=2)
        row = after_event(db, job_id, 1)
        [retried] = events(db, job_id)

        assert isinstance(row["last_error"], dict)
        at = datetime.fromisoformat(str(row["last_error"].pop("at")))
        assert at == moment(retried, "at")
        assert row["last_error"] == {
            "code": "COMMAND_FAILED",
            "message": "might work later",
            "retryable": True,
            "attempt": 1,
            "detail": None,
        }
        db.run(DUE_NOW, [job_id])
        dead = is_in(db, job_id, "DEAD_LETTER")
        assert isinstance(dead["last_error"], dict)
        assert dead["last_error"]["attempt"] == 2
        assert running.stop() == 0
    db.check_history()


def test_a_permanent_error_fails_at_once(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_FAIL", '{"family": "permanent", "code": "NOT_FOUND"}')
        failed = is_in(db, job_id, "FAILED")

        assert (failed["attempts"], failed["fail_code"], failed["fail_reason"]) == (
            1,
            "NOT_FOUND",
            "never works",
        )
        assert isinstance(failed["last_error"], dict)
        assert failed["last_error"]["retryable"] is False
        assert db.events(job_id) == ["job:failed"]
        assert running.metric("bpc_jobs_failed_total", type="TEST_FAIL", reason="NOT_FOUND") == 1
        assert running.stop() == 0
    db.check_history()


def test_a_bug_is_an_internal_error_and_is_tried_again(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_FAIL", '{"family": "bug", "until": 2}')
        row = after_event(db, job_id, 1)

        assert (row["status"], row["attempts"], row["fail_code"]) == ("QUEUED", 1, "INTERNAL_ERROR")
        assert "ZeroDivisionError" in str(row["fail_reason"])
        db.run(DUE_NOW, [job_id])
        assert is_in(db, job_id, "SUCCEEDED")["attempts"] == 2
        assert running.stop() == 0
    db.check_history()


def test_a_snooze_gives_the_attempt_back_and_grows(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_FAIL", '{"family": "snooze", "code": "RATE_LIMITED", "seconds": 1.5}')
        for snoozes in range(1, 4):
            row = after_event(db, job_id, snoozes)
            assert (row["status"], row["attempts"], row["snoozes"]) == ("QUEUED", 0, snoozes)
            db.run(DUE_NOW, [job_id])
        after_event(db, job_id, 4)

        for plain, delay in zip((1.5, 2, 4, 8), delays(db, job_id), strict=True):
            assert plain <= delay <= 1.1 * plain
        db.run("UPDATE jobs SET snoozes = 100, scheduled_at = now() WHERE job_id = %s", [job_id])
        dead = is_in(db, job_id, "DEAD_LETTER")
        assert dead["fail_code"] == "RATE_LIMITED"
        assert db.events(job_id) == ["job:snoozed"] * 4 + ["job:dead_lettered"]
        assert running.stop() == 0
    db.check_history()


def test_a_handler_over_its_time_is_stopped_and_tried_again(db: Database) -> None:
    with worker(db.url_as("bpc_worker"), BPC_WORKER_JOB_TIMEOUT_SECONDS=1) as running:
        job_id = db.enqueue("TEST_SLEEP", '{"seconds": 60}', max_attempts=2)
        row = after_event(db, job_id, 1)

        assert (row["status"], row["attempts"], row["fail_code"]) == ("QUEUED", 1, "HANDLER_TIMEOUT")
        db.run(DUE_NOW, [job_id])
        assert is_in(db, job_id, "DEAD_LETTER")["fail_code"] == "HANDLER_TIMEOUT"
        for tenure in tenures(db, job_id):
            assert 1 <= span(tenure.started_at, tenure.ended_at) <= 2
        assert running.stop() == 0
    db.check_history()


@pytest.mark.parametrize(
    ("job_type", "payload"),
    [
        ("TEST_NOOP", '{"nobody": "knows this"}'),
        ("TEST_FOLLOW", "{}"),
        ("TEST_FOLLOW", '{"depth": "deep"}'),
        ("TEST_NOOP", "[]"),
        ("TEST_NOOP", '"text"'),
        ("TEST_NOOP", "null"),
    ],
)
def test_a_payload_that_does_not_fit_fails_at_once(db: Database, job_type: str, payload: str) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue(job_type, payload)
        failed = is_in(db, job_id, "FAILED")

        assert (failed["attempts"], failed["fail_code"]) == (1, "VALIDATION_ERROR")
        assert not re.search("knows this|deep\\b", str(failed["last_error"])), "the payload was quoted"
        assert running.stop() == 0
    db.check_history()


def test_a_payload_five_thousand_levels_deep_harms_none_of_its_neighbours(db: Database) -> None:
    deep = "[" * 5000 + "]" * 5000
    hostile = [
        db.enqueue("TEST_ANY", f'{{"value": {deep}}}'),
        db.enqueue("TEST_NOOP", f'{{"value": {deep}}}'),
        db.enqueue("TEST_SLEEP", f'{{"seconds": {deep}}}'),
        db.enqueue("TEST_NOOP", deep),
    ]
    neighbours = [db.enqueue("TEST_EFFECT", f'{{"key": "{n}"}}') for n in range(5)]
    with worker(db.url_as("bpc_worker")) as running:
        until(lambda: statuses(db) == {"FAILED": 4, "SUCCEEDED": 5}, within=15)

        ended = db.run("SELECT status, attempts, fail_code FROM jobs ORDER BY created_at")
        assert [tuple(row.values()) for row in ended] == [
            *[("FAILED", 1, "VALIDATION_ERROR")] * 4,
            *[("SUCCEEDED", 1, None)] * 5,
        ]
        claims = [tenures(db, job_id)[0].transaction for job_id in (*hostile, *neighbours)]
        assert len(set(claims)) == 1, "they were not claimed together: the test showed nothing"
        assert running.get("/v1/health/live")[0] == 200
        assert running.stop() == 0
    db.check_history()


def test_a_running_job_is_cancelled_within_one_renewal(db: Database) -> None:
    renew = 3
    with worker(
        db.url_as("bpc_worker"), BPC_JOBS_LEASE_SECONDS=6, BPC_JOBS_LEASE_RENEW_SECONDS=renew
    ) as running:
        job_id = db.enqueue("TEST_EFFECT", '{"key": "a", "seconds": 60}')
        is_in(db, job_id, "RUNNING")
        with db.connect("bpc_operator") as operator:
            operator.execute("SELECT bpc_cancel_job(%s)", [job_id])
        cancelled = is_in(db, job_id, "CANCELLED")

        took = span(moment(cancelled, "cancel_requested_at"), moment(cancelled, "finished_at"))
        print(f"cancelled after {took:.2f} s")
        assert took <= renew + 0.5
        assert db.events(job_id) == ["job:cancel_requested", "job:cancelled"]
        assert db.run("SELECT * FROM test_effects") == []
        assert running.metric("bpc_worker_slots_in_use") == 0
        assert running.stop() == 0
    db.check_history()


def test_a_queued_job_is_cancelled_at_once_and_never_runs(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_NOOP", "{}", scheduled_at=now(db).replace(year=9000))
        with db.connect("bpc_operator") as operator:
            operator.execute("SELECT bpc_cancel_job(%s)", [job_id])
        later = db.enqueue("TEST_NOOP")
        is_in(db, later, "SUCCEEDED")

        assert db.job(job_id)["status"] == "CANCELLED"
        assert db.events(job_id) == ["job:cancelled"]
        assert tenures(db, job_id) == []
        assert running.stop() == 0
    db.check_history()


def test_a_job_that_fails_after_its_cancellation_was_asked_for_is_not_tried_again(db: Database) -> None:
    """Whichever is first, the cancel or the failure."""
    with worker(db.url_as("bpc_worker"), BPC_WORKER_JOB_TIMEOUT_SECONDS=2) as running:
        job_id = db.enqueue("TEST_SLEEP", '{"seconds": 60}')
        is_in(db, job_id, "RUNNING")
        with db.connect("bpc_operator") as operator:
            operator.execute("SELECT bpc_cancel_job(%s)", [job_id])
        cancelled = is_in(db, job_id, "CANCELLED")

        assert cancelled["attempts"] == 1
        assert cancelled["fail_code"] in {None, "HANDLER_TIMEOUT"}
        assert db.events(job_id) == ["job:cancel_requested", "job:cancelled"]
        assert running.stop() == 0
    db.check_history()
