"""Minutes of freezing and killing: every job has one result, and no neighbour dies of another."""

import random
import signal
import time

from tests.support.database import Database
from tests.support.history import effects, now, span, statuses, tenures, told
from tests.support.outages import lease
from tests.support.poison import check_neighbours, check_poison, check_suspects_were_alone, feed
from tests.support.supervisor import supervise
from tests.support.worker import Worker, until, worker

LEASE = 6
SETTINGS = lease(LEASE, 3)


def test_with_the_default_settings_a_killed_workers_job_is_taken_over_in_time(db: Database) -> None:
    lease, reap, backoff, poll = 60, 1.25 * 15, 2.2, 1.1
    with worker(db.url, BPC_WORKER_ID="1") as one, worker(db.url, BPC_WORKER_ID="2") as two:
        one.wait_ready()
        two.wait_ready()
        job_id = db.enqueue("TEST_EFFECT", '{"key": "a", "seconds": 10}')
        until(lambda: db.job(job_id)["status"] == "RUNNING", within=10)
        killed, survivor = (one, two) if db.job(job_id)["lease_owner"] == "1" else (two, one)
        killed_at = now(db)
        killed.send(signal.SIGKILL)
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=150)

        first, second = tenures(db, job_id)
        after_kill = span(killed_at, second.started_at)
        after_lease = span(first.lease_expires_at, second.started_at)
        print(f"taken over {after_kill:.2f} s after the kill, {after_lease:.2f} s after the end of the lease")
        assert 0 < after_lease <= reap + backoff + poll
        assert after_kill <= lease + reap + backoff + poll
        assert effects(db) == [("a", 2, survivor.pid)]
        assert survivor.stop() == 0
    db.check_history()


def test_a_job_that_kills_its_workers_dies_alone_among_several(db: Database) -> None:
    """Two workers, the usual pauses between attempts, neighbours that run for a while."""
    poison = db.enqueue("TEST_KILL")
    others = [db.enqueue("TEST_SLEEP", '{"seconds": 3}') for _ in range(20)]

    exits = supervise(
        db.url,
        SETTINGS,
        lambda: statuses(db) == {"SUCCEEDED": 20, "DEAD_LETTER": 1} and told(db),
        within=400,
        workers=2,
    )

    check_poison(db, poison, exits)
    check_neighbours(db, others)
    assert check_suspects_were_alone(db) >= 3
    db.check_history()


def test_workers_that_freeze_in_turn_past_their_leases_give_one_result_each(db: Database) -> None:
    """Both have one name, and whoever wakes up finds its jobs in the other's hands."""
    keys = [f"job {n}" for n in range(60)]
    for n, key in enumerate(keys):
        db.enqueue("TEST_EFFECT", f'{{"key": "{key}", "seconds": {1 + n % 4}}}', max_attempts=20)
    with (
        worker(db.url, BPC_WORKER_ID="twin", BPC_WORKER_CONCURRENCY=4, **SETTINGS) as one,
        worker(db.url, BPC_WORKER_ID="twin", BPC_WORKER_CONCURRENCY=4, **SETTINGS) as two,
    ):
        for frozen in (one, two, one, two):
            until(lambda at=frozen: at.metric("bpc_worker_slots_in_use") > 0, within=60)  # type: ignore[misc]
            frozen.send(signal.SIGSTOP)
            time.sleep(LEASE + 3)  # time is what this test is made of
            frozen.send(signal.SIGCONT)
        until(lambda: statuses(db) == {"SUCCEEDED": len(keys)}, within=240)

        lost = one.metric("bpc_leases_lost_total") + two.metric("bpc_leases_lost_total")
        print(f"{lost:g} leases were lost")
        assert lost > 0
        assert sorted(key for key, _, _ in effects(db)) == sorted(keys)
        assert one.get("/v1/health/live")[0] == two.get("/v1/health/live")[0] == 200
        assert one.stop() == two.stop() == 0
    db.check_history()


def test_workers_that_are_killed_at_random_lose_and_double_nothing(db: Database) -> None:
    dice = random.Random(7)  # the same victims every time
    keys = [f"job {n}" for n in range(100)]
    for key in keys:
        payload = f'{{"key": "{key}", "seconds": {dice.uniform(0, 3):.2f}}}'
        db.enqueue("TEST_EFFECT", payload, max_attempts=20)
    next_kill, last_kill = time.monotonic() + 3, time.monotonic() + 60

    def kill(running: list[Worker]) -> None:
        nonlocal next_kill
        if next_kill <= time.monotonic() <= last_kill:
            dice.choice(running).send(signal.SIGKILL)
            next_kill = time.monotonic() + dice.uniform(1, 4)

    exits = supervise(
        db.url,
        {**SETTINGS, "BPC_WORKER_CONCURRENCY": 4},
        lambda: statuses(db) == {"SUCCEEDED": len(keys)},
        within=400,
        workers=3,
        torment=kill,
    )

    print(
        f"{len(exits)} workers were killed; attempts: {max(attempt for _, attempt, _ in effects(db))} at most"
    )
    assert set(exits) == {-signal.SIGKILL}
    assert len(exits) > 5
    assert sorted(key for key, _, _ in effects(db)) == sorted(keys)
    check_suspects_were_alone(db)
    db.check_history()


def test_many_suspects_are_not_starved_by_workers_that_are_always_busy(db: Database) -> None:
    with (
        worker(db.url, BPC_WORKER_CONCURRENCY=4, **SETTINGS) as one,
        worker(db.url, BPC_WORKER_CONCURRENCY=4, **SETTINGS) as two,
    ):
        feed(db, 40, priority=0)
        until(lambda: statuses(db).get("SUCCEEDED", 0) >= 8, within=20)
        suspects = [
            db.enqueue(
                "TEST_EFFECT", f'{{"key": "{n}", "seconds": 0.5}}', attempts=2, fail_code="LEASE_EXPIRED"
            )
            for n in range(4)
        ]
        started_at = time.monotonic()
        while any(db.job(job_id)["status"] != "SUCCEEDED" for job_id in suspects):
            assert time.monotonic() - started_at < 120, "the suspects are starved"
            feed(db, 40 - statuses(db).get("QUEUED", 0), priority=0)
            time.sleep(0.05)
        print(f"four suspects were done after {time.monotonic() - started_at:.1f} s")

        until(lambda: statuses(db).keys() == {"SUCCEEDED"}, within=60)
        assert one.stop() == two.stop() == 0
    assert check_suspects_were_alone(db) == 4
    db.check_history()
