"""Why does it not run? Each reason brought about for real, and named by `jobs explain`."""

import re
import signal
from typing import cast

from tests.support.database import Database
from tests.support.history import statuses
from tests.support.operators import letters, operate, told
from tests.support.outages import through
from tests.support.target import Target
from tests.support.tcp_proxy import TcpProxy
from tests.support.worker import Worker, until, worker

SHORT_LEASE = {"BPC_JOBS_LEASE_SECONDS": 5, "BPC_JOBS_LEASE_RENEW_SECONDS": 1}
QUICK_REAPER = {"BPC_REAPER_INTERVAL_SECONDS": 0.5}


def reasons(db: Database, job_id: str) -> dict[str, str]:
    """Word and message of every reason, as somebody sees it who may only look."""
    found = told(operate(db, "jobs", "explain", job_id, "--json", role="bpc_reader"))
    assert all(reason["remedy"] for reason in found), "every reason has a next step"
    return {cast("str", reason["reason"]): cast("str", reason["message"]) for reason in found}


def announced(db: Database, running: Worker) -> Worker:
    rows = "SELECT types FROM workers WHERE pid = %s"
    until(lambda: db.run(rows, [running.pid]), within=20, what="announced")
    return running


def status(db: Database, job_id: str) -> str:
    return str(db.job(job_id)["status"])


def test_nobody_works(db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP")
    assert list(reasons(db, job_id)) == ["no_worker"]

    with worker(db.url_as("bpc_worker"), "--role", "reaper") as reaper:
        announced(db, reaper)
        assert list(reasons(db, job_id)) == ["no_worker"], "who only reaps runs nothing"
        assert reaper.stop() == 0
    assert db.run("SELECT pid FROM workers") == [], "who leaves says so"


def test_nobody_has_the_handler_or_looks_into_the_queue(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        announced(db, running)
        unknown = db.enqueue("NOBODYS_TYPE")
        aside = db.enqueue("TEST_NOOP", queue="aside")

        assert reasons(db, unknown) == {"no_handler": "no running worker has a handler for NOBODYS_TYPE"}
        assert reasons(db, aside) == {"no_queue": "workers handle TEST_NOOP, but none looks into queue aside"}
        assert running.stop() == 0
    assert list(reasons(db, unknown)) == ["no_worker"]


def test_somebody_has_paused_it(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        announced(db, running)
        for kind, name in (("queue", "default"), ("type", "TEST_NOOP"), ("tenant", "acme")):
            tenant = db.tenant()
            ran = operate(db, "pause", kind, name, "--reason", f"because of {kind}", "--for", "2h")
            assert ran.returncode == 0, ran.stderr
            job_id = db.enqueue("TEST_NOOP")

            [line] = told(operate(db, "jobs", "explain", job_id, "--json", role="bpc_reader"))
            assert line["reason"] == "paused"
            assert f"the {kind} {name} is paused by bpc_operator_login" in str(line["message"])
            assert f"because of {kind}" in str(line["message"])
            key = tenant if kind == "tenant" else name
            assert line["until"] is not None
            assert line["remedy"] == f"bpc-worker resume {kind} {key}"
            assert status(db, job_id) == "QUEUED"

            assert operate(db, "resume", kind, key).returncode == 0
            until(lambda job_id=job_id: status(db, job_id) == "SUCCEEDED", within=10)  # type: ignore[misc]
        assert running.stop() == 0
    db.check_history()


def test_it_is_not_due(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        announced(db, running)
        later = db.enqueue("TEST_NOOP", scheduled_at="2100-01-01T00:00:00Z")
        failing = db.enqueue("TEST_FAIL", "{}", attempts=3)
        waits = '{"family": "snooze", "code": "SNAPSHOT_NOT_READY", "seconds": 600}'
        snoozed = db.enqueue("TEST_FAIL", waits)
        until(lambda: len(db.run("SELECT FROM job_events")) == 2, within=10)

        assert reasons(db, later)["not_due"].startswith("not due until 2100-01-01T00:00:00Z, in ")
        assert "attempt 4 of 5 failed: COMMAND_FAILED: might work later" in reasons(db, failing)["not_due"]
        [(reason, message)] = reasons(db, snoozed).items()
        assert reason == "snoozed"
        assert "put off once, without counting attempts: SNAPSHOT_NOT_READY: not now" in message
        assert running.stop() == 0


def test_its_type_has_used_up_its_rate(db: Database) -> None:
    limits = '{"TEST_NOOP": {"per_second": 0.01, "burst": 1}}'
    with worker(db.url_as("bpc_worker"), BPC_RATE_LIMITS=limits) as running:
        announced(db, running)
        first = db.enqueue("TEST_NOOP")
        until(lambda: status(db, first) == "SUCCEEDED", within=10)
        second, third = db.enqueue("TEST_NOOP"), db.enqueue("TEST_NOOP")
        later = db.enqueue("TEST_NOOP", scheduled_at="2100-01-01T00:00:00Z")
        until(lambda: running.metric("bpc_rate_limited_total") > 0, within=10)

        for job_id in (second, third):
            [line] = told(operate(db, "jobs", "explain", job_id, "--json", role="bpc_reader"))
            assert line["reason"] == "rate_limited"
            words = r"no more than 0\.01 of TEST_NOOP may start in a second; the next one in (\S+) s, and 2"
            found = re.match(words, str(line["message"]))
            assert found, line["message"]
            assert 60 < float(found[1]) <= 100
            ends = db.one("SELECT %s::timestamptz - now() < interval '100 s' AS soon", [line["until"]])
            assert ends["soon"]
            assert "raise rate_limits.TEST_NOOP" in str(line["remedy"])
        assert list(reasons(db, later)) == ["not_due"], "no limit keeps back what is not due"
        assert {status(db, job_id) for job_id in (second, third, later)} == {"QUEUED"}
        assert running.stop() == 0


def test_its_target_has_failed_too_often(db: Database) -> None:
    """A receiver that answers 503 opens the breaker; as soon as it answers again, everything goes through."""
    rules = {
        "BPC_CIRCUIT_BREAKER_MIN_SAMPLES": 3,
        "BPC_CIRCUIT_BREAKER_COOLDOWN_PERIOD": 3,
        "BPC_JOBS_BACKOFF_BASE": 60,
        "BPC_WORKER_CONCURRENCY": 1,
    }
    move = "UPDATE jobs SET scheduled_at = now() + %s::interval WHERE status = 'QUEUED'"
    with Target() as target, worker(db.url_as("bpc_worker"), **rules) as running:
        announced(db, running)
        target.status = 503
        payload = f'{{"port": {target.port}}}'
        jobs = [db.enqueue("TEST_CALL", payload) for _ in range(5)]
        until(lambda: len(db.run("SELECT FROM job_events")) == len(jobs), within=10)
        db.run(move, ["1 hour"])  # five commands take longer than the snooze

        for job_id in jobs[:3]:
            assert "attempt 1 of 5 failed: WEBHOOK_FAILED: it answered 503" in reasons(db, job_id)["not_due"]
        for job_id in jobs[3:]:
            [(reason, message)] = reasons(db, job_id).items()
            assert reason == "breaker_open"
            assert "put off once, without counting attempts: WEBHOOK_FAILED: 127.0.0.1 has failed" in message
            assert (db.job(job_id)["attempts"], db.job(job_id)["snoozes"]) == (0, 1)
        assert running.metric("bpc_circuit_breaker_state", target="127.0.0.1") == 2
        assert target.calls == 3, "while it is open nobody is called"

        target.status = 410  # permanent, but an answer: the target lives
        gone = db.enqueue("TEST_CALL", payload)
        until(lambda: status(db, gone) == "FAILED", within=20)
        assert running.metric("bpc_circuit_breaker_state", target="127.0.0.1") == 0
        target.status = 200
        db.run(move, ["0 s"])
        until(lambda: not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING')"), within=20)
        assert {status(db, job_id) for job_id in jobs} == {"SUCCEEDED"}
        assert running.stop() == 0
    db.check_history()


def test_the_database_went_away_under_it(db: Database) -> None:
    with TcpProxy("127.0.0.1", db.server.port) as proxy:
        url = through(proxy, db.url_as("bpc_worker"))
        with worker(url, BPC_JOBS_BACKOFF_BASE=60) as running:
            announced(db, running)
            job_id = db.enqueue("TEST_READ", '{"seconds": 1}')
            until(lambda: status(db, job_id) == "RUNNING", within=10)
            proxy.refuse(True)
            proxy.sever()
            until(lambda: running.said("claim_failed"), within=20, what="noticed")
            # Long enough for a handler that waits for its turn to connect.
            until(lambda: db.run("SELECT FROM jobs WHERE started_at < now() - interval '13 s'"), within=30)
            proxy.refuse(False)
            until(lambda: status(db, job_id) == "QUEUED", within=30)

            [(reason, message)] = reasons(db, job_id).items()
            assert reason == "outage"
            assert "put off once, without counting attempts: DB_UNAVAILABLE: no database" in message
            assert (db.job(job_id)["attempts"], db.job(job_id)["snoozes"]) == (0, 1)
            assert running.stop() == 0
    db.check_history(nothing_left=False)


def test_others_come_first(db: Database) -> None:
    one = {"BPC_WORKER_CONCURRENCY": 1, "BPC_SHUTDOWN_GRACE_SECONDS": 0}
    with worker(db.url_as("bpc_worker"), **one) as running:
        announced(db, running)
        busy = db.enqueue("TEST_SLEEP", '{"seconds": 60}')
        until(lambda: status(db, busy) == "RUNNING", within=10)
        db.enqueue("NOBODYS_TYPE", priority=0)  # in nobody's way
        before = [db.enqueue("TEST_NOOP") for _ in range(2)]
        job_id = db.enqueue("TEST_NOOP", priority=3)

        assert "behind 0 others" in reasons(db, before[0])["waiting"]
        [(reason, message)] = reasons(db, job_id).items()
        assert reason == "waiting"
        assert "behind 2 others in queue default; workers that handle it: 1, slots busy: 1 of 1" in message
        assert running.stop() == 0


def test_somebody_holds_it(db: Database) -> None:
    """It runs; it is asked to stop while its worker stands still; then the lease ends."""
    lease = {"BPC_JOBS_LEASE_SECONDS": 20, "BPC_JOBS_LEASE_RENEW_SECONDS": 5}  # three commands fit into it
    with worker(db.url_as("bpc_worker"), BPC_WORKER_ID="the-holder", **lease) as running:
        announced(db, running)
        job_id = db.enqueue("TEST_SLEEP", '{"seconds": 60}', expected_duration_ms=1)
        until(lambda: status(db, job_id) == "RUNNING", within=10)
        running.send(signal.SIGSTOP)

        found = reasons(db, job_id)
        assert list(found) == ["running", "overdue"]
        assert "attempt 1 of 5" in found["running"]
        assert "the-holder holds the lease until 2" in found["running"]
        asked = operate(db, "jobs", "cancel", job_id)
        assert asked.stdout == f"{job_id}  RUNNING, asked to stop\n"
        assert list(reasons(db, job_id)) == ["running", "cancel_requested", "overdue"]

        until(lambda: db.run("SELECT FROM jobs WHERE lease_expires_at < now()"), within=30)
        assert "the-holder had the lease until 2" in reasons(db, job_id)["lease_ended"]
    with worker(db.url_as("bpc_worker"), "--role", "reaper", **QUICK_REAPER) as reaper:
        until(lambda: status(db, job_id) == "CANCELLED", within=10)
        assert reasons(db, job_id)["cancelled"].endswith("by bpc_operator_login")
        assert reaper.stop() == 0
    db.check_history()


def test_it_is_suspected_of_killing_workers(db: Database) -> None:
    with worker(db.url_as("bpc_worker"), "--role", "reaper", **SHORT_LEASE, **QUICK_REAPER) as reaper:
        job_id = db.enqueue("TEST_KILL")
        for attempts in (1, 2):
            with worker(db.url_as("bpc_worker"), **SHORT_LEASE) as victim:
                victim.wait(20)
            until(
                lambda n=attempts: (status(db, job_id), db.job(job_id)["attempts"]) == ("QUEUED", n),  # type: ignore[misc]
                within=15,
            )
        move = "UPDATE jobs SET scheduled_at = now() + %s::interval WHERE job_id = %s"
        db.run(move, ["1 hour", job_id])
        with worker(db.url_as("bpc_worker"), BPC_REAPER_INTERVAL_SECONDS=900) as running:  # nor looks for it
            announced(db, running)
            assert list(reasons(db, job_id)) == ["not_due", "suspect"]
            db.run(move, ["0 s", job_id])

            [(reason, message)] = reasons(db, job_id).items()
            assert reason == "suspect"
            assert "its last worker died on it, attempt 2 of 5" in message
            assert "behind 0 others; no worker keeps it at the moment" in message
            db.run(
                "UPDATE suspect_watch SET owner = 'w 1 ' || gen_random_uuid(), until = now() + interval '1 h'"
            )
            assert "behind 0 others; kept now by w 1" in reasons(db, job_id)["suspect"]
            assert operate(db, "jobs", "cancel", job_id).stdout == f"{job_id}  CANCELLED\n"
        assert reaper.stop() == 0
    db.check_history(nothing_left=False)


def test_it_has_ended(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        done = db.enqueue("TEST_NOOP")
        failed = db.enqueue("TEST_FAIL", '{"family": "permanent", "code": "NOT_FOUND"}')
        dead = db.enqueue("TEST_FAIL", "{}", max_attempts=1)
        until(lambda: not {"QUEUED", "RUNNING"} & set(statuses(db)), within=10)

        assert "it succeeded at 2" in reasons(db, done)["succeeded"]
        assert "attempt 1 of 5: NOT_FOUND: never works" in reasons(db, failed)["failed"]
        said = reasons(db, dead)["dead_letter"]
        assert "attempt 1 of 1: COMMAND_FAILED: might work later" in said
        [given_up] = letters(db)
        assert operate(db, "dead", "discard", given_up, "--yes").returncode == 0
        assert reasons(db, given_up)["cancelled"].endswith("by bpc_operator_login")
        assert running.stop() == 0
    db.check_history()
