"""Suspects, whose last workers died: they run apart from everybody else, and nobody waits for them."""

import os
import signal
from pathlib import Path

from tests.support.database import Database
from tests.support.history import moment, span, statuses, tenures
from tests.support.outages import lease
from tests.support.poison import enqueue_suspects, feed
from tests.support.worker import Worker, command, until, worker

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
        long = [db.enqueue("TEST_SLEEP", '{"seconds": 40}', queue=queue) for queue in ("one", "two")]
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
        assert float(str(gaps["longest"])) < 6
        assert {db.job(each)["status"] for each in long} == {"RUNNING"}, "they were over too soon"
        assert one.exit_code is two.exit_code is None
    db.check_history(nothing_left=False)


def process_of(running: Worker) -> int:
    """The pid of the process that runs suspects for this worker."""
    line = until(lambda: running.said("suspects_started"), within=30, what="a process for suspects")
    assert line is not None
    return int(str(line["pid"]))


def lives(pid: int) -> bool:
    """Whether it is more than an entry in a table."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def has_begun(db: Database, job_id: str) -> bool:
    """Not only claimed: an attempt whose holder dies before its handler starts is given back."""
    job = db.job(job_id)
    return job["status"] == "RUNNING" and job["begun_token"] == job["lease_token"]


def test_the_process_of_suspects_dies_with_its_worker_and_another_worker_goes_on(db: Database) -> None:
    with (
        worker(db.url, BPC_WORKER_ID="1", **SETTINGS) as one,
        worker(db.url, BPC_WORKER_ID="2", **SETTINGS) as two,
    ):
        one.wait_ready()
        two.wait_ready()
        [suspect] = enqueue_suspects(db, 1, seconds=4)
        until(lambda: has_begun(db, suspect), within=30)
        first = str(db.job(suspect)["lease_owner"])
        killed, survivor = (one, two) if first.startswith("1-suspects-") else (two, one)
        pid = process_of(killed)
        assert first.endswith(f"-suspects-{pid}")
        killed.send(signal.SIGKILL)
        killed.wait(10)
        until(lambda: not lives(pid), within=5)

        until(lambda: db.job(suspect)["status"] == "SUCCEEDED", within=60)
        assert sorted(tenure.owner[0] for tenure in tenures(db, suspect)) == ["1", "2"]
        assert db.job(suspect)["attempts"] == 4
        assert survivor.stop() == 0
    db.check_history()


def test_a_killed_process_of_suspects_costs_one_attempt_and_nobody_else_anything(db: Database) -> None:
    with worker(db.url, **SETTINGS) as running:
        running.wait_ready()
        suspects = enqueue_suspects(db, 2, seconds=1.5)
        until(lambda: any(has_begun(db, each) for each in suspects), within=30)
        [victim] = [each for each in suspects if db.job(each)["status"] == "RUNNING"]
        neighbour = db.enqueue("TEST_SLEEP", '{"seconds": 3}')
        until(lambda: db.job(neighbour)["status"] == "RUNNING", within=10)
        os.kill(process_of(running), signal.SIGKILL)

        until(lambda: statuses(db) == {"SUCCEEDED": 3}, within=60)
        assert running.exit_code is None
        attempts = {each: db.job(each)["attempts"] for each in [*suspects, neighbour]}
        assert attempts == {**dict.fromkeys(suspects, 3), victim: 4, neighbour: 1}
        assert db.events(victim) == ["reaper:requeued"]
        assert running.metric("bpc_suspect_processes_total", end="died") == 1
        assert running.metric("bpc_jobs_completed_total", type="TEST_EFFECT", status="SUCCEEDED") == 2
        assert running.stop() == 0
    db.check_history()


def test_a_worker_that_stops_waits_for_its_process_of_suspects(db: Database) -> None:
    quick, slow = enqueue_suspects(db, 1, seconds=2, due_for=1) + enqueue_suspects(db, 1, seconds=60)
    with worker(db.url, BPC_SHUTDOWN_GRACE_SECONDS=10, **SETTINGS) as running:
        until(lambda: db.job(quick)["status"] == "RUNNING", within=30)
        pid = process_of(running)
        assert running.stop() == 0
        assert not lives(pid)

        assert (db.job(quick)["status"], db.job(quick)["attempts"]) == ("SUCCEEDED", 3)
        assert (db.job(slow)["status"], db.job(slow)["attempts"]) == ("QUEUED", 2)
    with worker(db.url, BPC_SHUTDOWN_GRACE_SECONDS=3, **SETTINGS) as running:
        until(lambda: db.job(slow)["status"] == "RUNNING", within=30)
        pid = process_of(running)
        assert running.stop(15) == 0
        assert not lives(pid)

        assert (db.job(slow)["status"], db.job(slow)["attempts"]) == ("QUEUED", 2), (
            "the attempt is given back"
        )
        assert db.events(slow) == ["job:released"]
    db.check_history(nothing_left=False)


def test_its_settings_are_on_no_command_line_and_its_secrets_in_no_environment(db: Database) -> None:
    secret = "a-secret-that-nobody-sees"
    url = db.url.replace("bpc@", f"bpc:{secret}@")
    enqueue_suspects(db, 1, seconds=3)
    with worker(url, **SETTINGS) as running:
        seen = Path(f"/proc/{process_of(running)}")
        until(lambda: statuses(db).get("RUNNING"), within=30)
        assert secret.encode() not in (seen / "cmdline").read_bytes() + (seen / "environ").read_bytes()
        assert b"\0run\0--suspects\0" in (seen / "cmdline").read_bytes()
        until(lambda: statuses(db) == {"SUCCEEDED": 1}, within=30)
        assert running.stop() == 0
        assert secret not in "".join(running.raw)


def test_a_follow_up_of_a_suspect_is_rung_for(db: Database) -> None:
    with worker(db.url, BPC_JOBS_POLL_INTERVAL_MS=60_000, **SETTINGS) as running:
        running.wait_ready()
        suspect = db.enqueue("TEST_FOLLOW", '{"depth": 1}', attempts=2, fail_code="LEASE_EXPIRED")
        until(lambda: statuses(db) == {"SUCCEEDED": 2}, within=30)

        assert [tenure.owner.find("-suspects-") > 0 for tenure in tenures(db, suspect)] == [True]
        assert running.stop() == 0
    db.check_history()


def test_once_runs_suspects_too(db: Database) -> None:
    [innocent] = enqueue_suspects(db, 1, seconds=0)
    poison = db.enqueue("TEST_KILL", attempts=2, fail_code="LEASE_EXPIRED", priority=0)
    low = db.enqueue("TEST_NOOP", attempts=2, fail_code="LEASE_EXPIRED", priority=3)
    done = command(db.url, "once", **lease(60, 30))

    assert done.returncode == 0, done.stderr
    assert [db.job(each)["status"] for each in (poison, innocent, low)] == ["RUNNING", *["SUCCEEDED"] * 2]
    assert {db.job(each)["attempts"] for each in (poison, innocent, low)} == {3}


def test_it_is_no_command_for_people(db: Database) -> None:
    asked = command(db.url, "run", "--suspects")

    assert asked.returncode == 2
    assert "is how a worker starts a process of its own" in asked.stderr
    assert "--suspects" not in command(db.url, "run", "--help").stdout
