"""The database breaks while real workers run: nothing is lost, nothing happens twice, work goes on."""

import random
import signal
import time

from bpc_worker.postgres.embedded.server import Server
from tests.support.database import Database
from tests.support.outages import (
    RED_WITHIN,
    WORK_GOES_ON_WITHIN,
    all_succeed,
    at_first_attempt,
    counted_once_each,
    counts,
    effects_once_each,
    enqueue_many,
    frozen,
    lease,
    locked,
    read_only,
    renamed,
    restart,
    start,
    succeeded,
    survived,
    terminate_workers,
    through,
    watched,
)
from tests.support.tcp_proxy import TcpProxy
from tests.support.worker import Worker, until, worker

SHORT = {**lease(6, 3), "BPC_JOBS_BACKOFF_BASE": 1}


def test_a_lost_answer_to_commit_is_neither_a_second_effect_nor_a_second_attempt(
    db: Database, proxy: TcpProxy
) -> None:
    lost = 10
    proxy.lose_commit_answers(lost, only_after=b"test_effects")
    jobs = enqueue_many(db, "TEST_EFFECT", lost)
    with worker(through(proxy, db.url)) as running:
        all_succeed(db, within=30)

        assert counted_once_each(running, lost)
        assert running.stop() == 0
    assert proxy.commits_lost == lost
    assert at_first_attempt(db, jobs)
    assert effects_once_each(db)
    assert db.run("SELECT * FROM job_events") == []
    db.check_history()


def test_lines_cut_at_random_moments_lose_and_double_nothing(db: Database, proxy: TcpProxy) -> None:
    """The answer to a plain settle is lost, too: the row's token tells whether it took place."""
    dice = random.Random(1)  # the same moments every time, as far as moments can be
    with worker(through(proxy, db.url), **SHORT, BPC_JOBS_POLL_INTERVAL_MS=100) as running:
        running.wait_ready()
        jobs = 0
        give_up_at = time.monotonic() + 60
        while not (jobs >= 200 and running.said("settle_retrying") and running.said("claim_failed")):
            assert time.monotonic() < give_up_at, "no cut has met both a claim and a settle"
            enqueue_many(db, "TEST_NOOP", 25)
            enqueue_many(db, "TEST_EFFECT", 25)
            jobs += 50
            proxy.sever()
            time.sleep(dice.uniform(0.0, 0.1))
        all_succeed(db, within=60)

        assert counted_once_each(running, jobs)
        assert running.stop() == 0
    assert effects_once_each(db)
    db.check_history()


def test_a_server_that_stands_still_is_survived_and_keeps_no_worker_from_leaving(own_db: Database) -> None:
    grace = 2
    own_db.enqueue("TEST_NOOP")
    left_behind = own_db.enqueue("TEST_EFFECT", '{"key": "left", "seconds": 7}')
    alone = {"BPC_WORKER_CONCURRENCY": 1, "BPC_SHUTDOWN_GRACE_SECONDS": grace}
    with worker(own_db.url, **SHORT, **alone) as leaving:
        until(lambda: own_db.job(left_behind)["status"] == "RUNNING", within=20)
        with (
            survived(own_db, SHORT, spanning=6.5, left_behind=[left_behind]) as outage,
            frozen(own_db.server),
        ):
            asked_at = time.monotonic()
            leaving.send(signal.SIGTERM)
            code = leaving.wait(within=30)
            took = time.monotonic() - asked_at
            outage.turns_red()
            outage.lasts(9)

    assert code == 1
    assert took <= grace + 5


def test_a_server_that_crashes_is_survived(own_db: Database) -> None:
    with survived(own_db, SHORT, spanning=3):
        restart(own_db.server, down_for=0)


def test_a_database_that_takes_no_writes_is_survived(own_db: Database) -> None:
    with survived(own_db, SHORT, spanning=1.5, flow=10) as outage, read_only(own_db.server):
        outage.stays_red(6)


def test_sessions_that_are_terminated_again_and_again_are_survived(db: Database) -> None:
    with survived(db, SHORT, spanning=3, flow=0) as outage:
        terminated = 0
        while time.monotonic() < outage.began_at + 8:
            terminated += terminate_workers(db)
            enqueue_many(db, "TEST_EFFECT", 2)
            enqueue_many(db, "TEST_NOOP", 2)
            time.sleep(0.2)

        assert terminated > 40


def test_a_worker_without_a_database_waits_for_it(own_db: Database) -> None:
    own_db.server.stop("fast")
    with worker(own_db.url, **SHORT) as running, watched(running) as [watch]:
        until(lambda: running.said("database_unreachable"), within=20)
        time.sleep(3)
        assert _times_said(running, "database_unreachable") == 1, "one a minute is enough"

        assert running.get("/v1/health/live")[0] == 200
        assert running.get("/v1/health/ready")[0] == 503

        start(own_db.server)
        running.wait_ready(within=30)
        own_db.enqueue("TEST_EFFECT", '{"key": "a"}')
        all_succeed(own_db, within=10)

        assert watch.was_always_live()
        assert running.stop() == 0
    assert effects_once_each(own_db)
    own_db.check_history()


def _times_said(running: Worker, msg: str) -> int:
    return sum(line.get("msg") == msg for line in tuple(running.lines))


def test_a_worker_refuses_a_database_without_the_schema(server: Server) -> None:
    with worker(server.url("postgres")) as running:
        assert running.wait(within=20) == 2
        assert "bpc-worker migrate" in "".join(running.raw)


def test_a_worker_refuses_a_newer_schema_that_tells_it_to_stop(db: Database) -> None:
    db.run("INSERT INTO schema_migrations VALUES ('9999_future', 'abc', false)")
    with worker(db.url) as running:
        assert running.wait(within=20) == 2
        said = "".join(running.raw)
        assert "9999_future" in said
        assert "upgrade bpc-worker" in said


def test_a_worker_works_on_a_newer_schema_that_lets_it(db: Database) -> None:
    db.run("INSERT INTO schema_migrations VALUES ('9998_future', 'abc', true)")
    with worker(db.url) as running:
        running.wait_ready()
        db.run("INSERT INTO schema_migrations VALUES ('9999_future', 'abc', true)")
        db.enqueue("TEST_NOOP")
        all_succeed(db, within=10)

        assert running.get("/v1/health/ready")[0] == 200
        assert running.stop() == 0
    db.check_history()


def test_a_statement_of_ours_that_does_not_fit_fails_no_job(db: Database) -> None:
    with worker(db.url, **SHORT) as running, watched(running) as [watch]:
        running.wait_ready()
        for kind in ("TEST_SLEEP", "TEST_EFFECT"):
            enqueue_many(db, kind, 2, seconds=0.5)
        until(lambda: counts(db).get("RUNNING") == 4, within=10)
        with renamed(db, "result"):  # which the settle alone names
            renamed_at = time.monotonic()
            turned = watch.turns(503, after=renamed_at, within=RED_WITHIN)
            time.sleep(1)
            repaired_at = time.monotonic()
        enqueue_many(db, "TEST_NOOP", 20)
        all_succeed(db, within=30)
        watch.turns(200, after=repaired_at, within=WORK_GOES_ON_WITHIN)

        assert watch.ready_between(renamed_at + turned, repaired_at) == {503}
        assert watch.was_always_live()
        assert running.stop() == 0
    assert effects_once_each(db)
    db.check_history()


def test_a_result_that_cannot_be_stored_fails_its_own_job_only(db: Database) -> None:
    bad = [db.enqueue("TEST_REFUSED", f'{{"where": "{where}"}}') for where in ("result", "complete")]
    good = enqueue_many(db, "TEST_NOOP", 20)
    with worker(db.url) as running:
        until(lambda: counts(db) == {"FAILED": 2, "SUCCEEDED": 20}, within=20)

        assert sum(line.get("msg") == "claim_failed" for line in running.lines) <= len(
            bad
        )  # none harms a claim twice
        assert running.stop() == 0
    for job_id in bad:
        assert db.job(job_id)["fail_code"] == "VALIDATION_ERROR"
        assert db.events(job_id) == ["job:failed"]
    assert at_first_attempt(db, [*good, *bad])
    db.check_history()


def test_rows_that_somebody_has_locked_hold_up_no_other(db: Database) -> None:
    """Neither renewals nor settles nor readiness; and for less than a lease not even their own jobs."""
    ends, on, *others = enqueue_many(db, "TEST_SLEEP", 5, seconds=1.5, step=0.5)
    with worker(db.url, **lease(8, 2)) as running, watched(running) as [watch]:
        until(lambda: counts(db) == {"RUNNING": 5}, within=20)
        with locked(db, [ends, on]):
            locked_at = time.monotonic()
            since = db.one("SELECT clock_timestamp() AS now")["now"]
            until(lambda: running.said("settle_retrying"), within=4)
            flow = enqueue_many(db, "TEST_NOOP", 50)
            until(lambda: succeeded(db, flow), within=4)
            until(lambda: _beaten(db, since) == set(others), within=4)
        all_succeed(db, within=30)

        assert watch.ready_between(locked_at, time.monotonic()) == {200}
        assert running.stop() == 0
    assert at_first_attempt(db, [ends, on, *others, *flow])
    assert db.run("SELECT * FROM job_events") == []
    db.check_history()


def _beaten(db: Database, since: object) -> set[str]:
    """Whose lease was renewed since then."""
    rows = db.run("SELECT job_id FROM jobs WHERE type = 'TEST_SLEEP' AND last_heartbeat_at > %s", [since])
    return {str(row["job_id"]) for row in rows}
