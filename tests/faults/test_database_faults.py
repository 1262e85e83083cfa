"""Minutes of a broken database: the same promises as in the short tests, for longer and from more sides."""

import random
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

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
    enqueue_mixture,
    frozen,
    lease,
    locked,
    read_only,
    renamed,
    restart,
    sessions,
    stopped,
    succeeded,
    survived,
    terminate_workers,
    through,
    watched,
)
from tests.support.tcp_proxy import TcpProxy
from tests.support.worker import COMMAND, environment, until, worker

SHORT = lease(6, 3)
USUAL = lease(60, 30)


def test_fifty_lost_answers_to_commit_are_fifty_effects(db: Database, proxy: TcpProxy) -> None:
    lost = 50
    proxy.lose_commit_answers(lost, only_after=b"test_effects")
    jobs = enqueue_many(db, "TEST_EFFECT", lost)
    with worker(through(proxy, db.url)) as running:
        all_succeed(db, within=60)

        assert counted_once_each(running, lost)
        assert running.stop() == 0
    assert proxy.commits_lost == lost
    assert at_first_attempt(db, jobs)
    assert effects_once_each(db)
    assert db.run("SELECT * FROM job_events") == []
    db.check_history()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lines_cut_for_long_lose_and_double_nothing(db: Database, proxy: TcpProxy, seed: int) -> None:
    dice = random.Random(seed)  # the same moments every time, as far as moments can be
    with worker(through(proxy, db.url), **SHORT, BPC_JOBS_POLL_INTERVAL_MS=100) as running:
        running.wait_ready()
        for _ in range(20):
            enqueue_many(db, "TEST_NOOP", 25)
            enqueue_many(db, "TEST_EFFECT", 25)
        give_up_at = time.monotonic() + 30
        while counts(db).keys() != {"SUCCEEDED"} and time.monotonic() < give_up_at:
            proxy.sever()
            time.sleep(dice.uniform(0.0, 0.06))
        all_succeed(db, within=60)

        assert counted_once_each(running, 1000)
        assert running.said("settle_retrying")
        assert running.stop() == 0
    assert effects_once_each(db)
    db.check_history()


@pytest.mark.parametrize("settings", [USUAL, SHORT], ids=["lease 60", "lease 6"])
def test_a_server_that_stands_still_for_long_is_survived(
    own_db: Database, settings: dict[str, object]
) -> None:
    with survived(own_db, settings, spanning=95, flow=50) as outage, frozen(own_db.server):
        print(f"ready 503 after {outage.turns_red():.1f} s")
        outage.lasts(90)


@pytest.mark.parametrize("settings", [USUAL, SHORT], ids=["lease 60", "lease 6"])
def test_a_worker_that_is_full_tells_that_the_server_stands_still(
    own_db: Database, settings: dict[str, object]
) -> None:
    """Nothing is claimed then, so somebody has to ask for the sake of the probe."""
    with worker(own_db.url, **settings, BPC_WORKER_CONCURRENCY=2) as running, watched(running) as [watch]:
        running.wait_ready()
        enqueue_many(own_db, "TEST_SLEEP", 2, seconds=30)
        until(lambda: counts(own_db) == {"RUNNING": 2}, within=10)
        with frozen(own_db.server):
            stopped_at = time.monotonic()
            turned = watch.turns(503, after=stopped_at, within=30)
        print(f"ready 503 after {turned:.1f} s")
        all_succeed(own_db, within=90)

        assert turned <= RED_WITHIN
        assert watch.was_always_live()
        assert running.stop() == 0
    own_db.check_history()


@pytest.mark.parametrize("settings", [USUAL, SHORT], ids=["lease 60", "lease 6"])
def test_crashes_of_the_server_are_survived(own_db: Database, settings: dict[str, object]) -> None:
    with survived(own_db, settings, spanning=25) as outage:
        for crash in range(3):
            restart(own_db.server, down_for=0)
            enqueue_mixture(own_db, 10)
            outage.lasts(10 * (crash + 1))


@pytest.mark.parametrize("settings", [USUAL, SHORT], ids=["lease 60", "lease 6"])
def test_a_server_that_is_down_for_a_while_is_survived(own_db: Database, settings: dict[str, object]) -> None:
    with survived(own_db, settings, spanning=15) as outage:
        restart(own_db.server, down_for=10)
        outage.turns_red()


@pytest.mark.parametrize("settings", [USUAL, SHORT], ids=["lease 60", "lease 6"])
def test_a_database_that_takes_no_writes_for_long_is_survived(
    own_db: Database, settings: dict[str, object]
) -> None:
    with survived(own_db, settings, spanning=20) as outage, read_only(own_db.server):
        outage.stays_red(40)


def test_a_minute_of_terminated_sessions_is_survived(db: Database) -> None:
    with survived(db, SHORT, spanning=20) as outage:
        terminated = 0
        while time.monotonic() < outage.began_at + 60:
            terminated += terminate_workers(db)
            enqueue_mixture(db, 1)
            time.sleep(0.2)
        print(f"{terminated} sessions terminated")

        assert terminated > 100


def test_a_worker_that_starts_while_the_server_stands_still_waits_for_it(own_db: Database) -> None:
    with ExitStack() as workers:
        with frozen(own_db.server):
            running = workers.enter_context(worker(own_db.url, **SHORT))
            until(lambda: running.said("database_unreachable"), within=30)

            assert running.get("/v1/health/live")[0] == 200
            assert running.get("/v1/health/ready")[0] == 503

        running.wait_ready(within=WORK_GOES_ON_WITHIN)
        own_db.enqueue("TEST_NOOP")
        all_succeed(own_db, within=20)

        assert running.stop() == 0
    own_db.check_history()


def test_a_worker_that_waits_for_a_server_that_stands_still_can_be_stopped(own_db: Database) -> None:
    with frozen(own_db.server), worker(own_db.url, BPC_SHUTDOWN_GRACE_SECONDS=2) as running:
        until(lambda: running.said("started"), within=20)
        asked_at = time.monotonic()
        running.send(signal.SIGTERM)
        running.wait(within=30)

        assert time.monotonic() - asked_at <= 2 + 5


@pytest.mark.parametrize("settings", [USUAL, SHORT], ids=["lease 60", "lease 6"])
@pytest.mark.parametrize("after", [0.0, 3.0, 8.0])
def test_a_worker_is_stopped_in_time_at_any_moment_of_a_stand_still(
    own_db: Database, settings: dict[str, object], after: float
) -> None:
    """Handlers at work, handlers inside their completing transaction, settles and looks on their way."""
    grace = 2
    for seconds in (0.0, 0.5, 2.5, 20.0):
        enqueue_many(own_db, "TEST_EFFECT", 2, seconds=seconds)
    enqueue_many(own_db, "TEST_SLEEP", 1, seconds=0.5)
    with worker(own_db.url, **settings, BPC_SHUTDOWN_GRACE_SECONDS=grace) as first:
        until(lambda: counts(own_db).get("RUNNING"), within=20)
        with frozen(own_db.server):
            time.sleep(after)
            asked_at = time.monotonic()
            first.send(signal.SIGTERM)
            code = first.wait(within=30)
            took = time.monotonic() - asked_at

    print(f"stopped after {took:.1f} s")
    assert code == 1
    assert took <= grace + 5

    with worker(own_db.url, **settings) as second:
        all_succeed(own_db, within=150)
        assert second.stop() == 0
    assert effects_once_each(own_db)
    own_db.check_history()


@pytest.mark.parametrize("column", ["stage", "result", "lease_token", "scheduled_at", "fail_code"])
def test_a_missing_column_fails_no_job(db: Database, column: str) -> None:
    with worker(db.url, **SHORT) as running, watched(running) as [watch]:
        running.wait_ready()
        for kind in ("TEST_SLEEP", "TEST_EFFECT"):
            enqueue_many(db, kind, 2, seconds=1)
        until(lambda: counts(db).get("RUNNING") == 4, within=10)
        with renamed(db, column):
            renamed_at = time.monotonic()
            turned = watch.turns(503, after=renamed_at, within=RED_WITHIN)
            enqueue_many(db, "TEST_NOOP", 20)
            time.sleep(15)
            repaired_at = time.monotonic()
            seen = counts(db)
        all_succeed(db, within=60)
        watch.turns(200, after=repaired_at, within=WORK_GOES_ON_WITHIN)

        assert seen.get("QUEUED", 0) >= 20, "claiming went on"
        assert watch.ready_between(renamed_at + turned, repaired_at) == {503}
        assert watch.was_always_live()
        assert running.stop() == 0
    assert effects_once_each(db)
    db.check_history()


def test_once_does_not_take_a_failed_look_for_an_empty_queue(db: Database, tmp_path: Path) -> None:
    job_id = db.enqueue("TEST_NOOP")
    said = tmp_path / "said"
    with said.open("w") as out, renamed(db, "stage"):
        once = subprocess.Popen([*COMMAND, "once"], env=environment(db.url), stderr=out)
        until(lambda: "claim_failed" in said.read_text() or once.poll() is not None, within=30)
    try:
        assert once.wait(timeout=30) == 0
        assert db.job(job_id)["status"] == "SUCCEEDED"
    finally:
        once.kill()
        once.wait()
    db.check_history()


SLOW_READ = """
ALTER TABLE test_effects RENAME TO effects;
CREATE VIEW test_effects AS SELECT effects.* FROM pg_sleep(8) LEFT JOIN effects ON true
"""


def test_a_slow_statement_of_a_handler_is_no_outage(db: Database) -> None:
    """The limit of one statement is a setting, and longer than the engine waits for its own."""
    db.run(SLOW_READ)
    job_id = db.enqueue("TEST_READ")
    with worker(db.url, BPC_DB_STATEMENT_TIMEOUT_SECONDS=20) as running:
        all_succeed(db, within=30)

        assert running.stop() == 0
    assert at_first_attempt(db, [job_id])
    assert db.events(job_id) == []
    db.check_history()


def test_a_statement_that_exceeds_its_limit_costs_an_attempt(db: Database) -> None:
    db.run(SLOW_READ)
    job_id = db.enqueue("TEST_READ", max_attempts=2)
    with worker(db.url, **SHORT, BPC_DB_STATEMENT_TIMEOUT_SECONDS=1) as running:
        until(lambda: db.job(job_id)["status"] == "DEAD_LETTER", within=30)

        assert running.get("/v1/health/ready")[0] == 200
        assert running.stop() == 0
    job = db.job(job_id)
    assert (job["attempts"], job["fail_code"]) == (2, "DB_UNAVAILABLE")
    assert db.events(job_id) == ["job:retried", "job:dead_lettered"]
    db.check_history()


SLOW_COMMIT = """
CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN PERFORM pg_sleep(25); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER be_slow AFTER INSERT ON test_effects DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION be_slow()
"""
QUICK_COMMIT = """
CREATE OR REPLACE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$
"""


def test_a_commit_that_did_not_take_place_gives_the_attempt_back(db: Database) -> None:
    """Nobody answered COMMIT, the lease ran out meanwhile, and then the row says: rolled back."""
    db.run(SLOW_COMMIT)
    job_id = db.enqueue("TEST_EFFECT", '{"key": "a"}')
    with worker(db.url, **{**lease(5, 2), "BPC_REAPER_INTERVAL_SECONDS": 3600}) as running:
        ended = "SELECT lease_expires_at < clock_timestamp() AS it FROM jobs WHERE job_id = %s"
        until(lambda: db.one(ended, [job_id])["it"], within=30)
        db.run(QUICK_COMMIT)
        for pid in sessions(db, "COMMIT"):
            db.run("SELECT pg_terminate_backend(%s)", [pid])
        all_succeed(db, within=30)

        assert running.stop() == 0
    assert at_first_attempt(db, [job_id])
    assert db.events(job_id) == ["job:snoozed"]
    assert effects_once_each(db)
    db.check_history()


def test_a_claim_that_takes_place_after_it_was_given_up_is_undone(db: Database) -> None:
    """A session stands still with our claim in its buffer, and carries it out when nobody waits for it."""
    with worker(db.url, **SHORT, BPC_WORKER_CONCURRENCY=1) as running:
        running.wait_ready()
        until(lambda: running.metric("bpc_looks_total") > 1, within=10)  # the first is over
        with stopped(sessions(db, "-- Take up to")):
            until(lambda: running.said("claim_failed"), within=20)
            busy_with = db.enqueue("TEST_SLEEP", '{"seconds": 1.5}')
            until(lambda: db.job(busy_with)["status"] == "RUNNING", within=20)
            victim = db.enqueue("TEST_NOOP", max_attempts=1)
        until(lambda: db.job(victim)["status"] == "RUNNING", within=5)
        all_succeed(db, within=20)

        assert running.stop() == 0
    assert at_first_attempt(db, [victim])
    assert db.events(victim) == ["job:released"]
    db.check_history()


def test_a_progress_that_cannot_be_stored_costs_nobody_his_lease(db: Database) -> None:
    """All leases of a worker are renewed by one statement, and the progress travels with it."""
    jobs = [db.enqueue("TEST_REFUSED", '{"where": "progress", "seconds": 6}')]
    jobs += enqueue_many(db, "TEST_SLEEP", 3, seconds=6)
    with worker(db.url, **lease(5, 2)) as running:
        all_succeed(db, within=30)

        assert running.metric("bpc_leases_lost_total") == 0
        assert running.stop() == 0
    assert at_first_attempt(db, jobs)
    assert db.run("SELECT * FROM job_events") == []
    db.check_history()


@pytest.mark.parametrize("settings", [lease(5, 2), USUAL], ids=["lease 5", "lease 60"])
@pytest.mark.parametrize("seconds", [3, 8])
def test_rows_that_somebody_has_locked_for_long_hold_up_no_other(
    db: Database, settings: dict[str, object], seconds: float
) -> None:
    """A lock that outlasts a lease may cost its own job a run, never the job itself, and never another's."""
    [on, ends, *others] = [
        *enqueue_many(db, "TEST_SLEEP", 1, seconds=10),
        *enqueue_many(db, "TEST_SLEEP", 1, seconds=1.5),
        *enqueue_many(db, "TEST_SLEEP", 3, seconds=10),
    ]
    with worker(db.url, **settings) as running, watched(running) as [watch]:
        until(lambda: counts(db) == {"RUNNING": 5}, within=20)
        with locked(db, [on, ends]):
            locked_at = time.monotonic()
            until(lambda: running.said("settle_retrying"), within=6)
            flow_at = time.monotonic()
            flow = enqueue_many(db, "TEST_NOOP", 200)
            until(lambda: succeeded(db, flow), within=10)
            print(f"200 others took {time.monotonic() - flow_at:.1f} s beside the locked row")
            time.sleep(max(0.0, locked_at + seconds - time.monotonic()))
        released_at = time.monotonic()
        all_succeed(db, within=60)

        assert watch.ready_between(locked_at, time.monotonic()) == {200}
        assert running.stop() == 0
    events = db.run("SELECT DISTINCT job_id::text AS id FROM job_events")
    held_for = released_at - locked_at
    outlasted = held_for > float(str(settings["BPC_JOBS_LEASE_SECONDS"])) / 2  # the lease was part used up
    assert {str(row["id"]) for row in events} <= ({on, ends} if outlasted else set())
    assert at_first_attempt(db, others + flow)
    db.check_history()
