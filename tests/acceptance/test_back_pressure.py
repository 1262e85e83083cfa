"""Jobs that wait for a child leave slots to those that need none."""

from tests.support.database import Database
from tests.support.worker import until, worker


def running_hangs(db: Database) -> int:
    row = db.one("SELECT count(*) AS n FROM jobs WHERE type = 'TEST_CPU_HANG' AND status = 'RUNNING'")
    return int(str(row["n"]))


def unended_noops(db: Database) -> bool:
    return bool(db.run("SELECT FROM jobs WHERE type = 'TEST_NOOP' AND status <> 'SUCCEEDED' LIMIT 1"))


def test_jobs_that_never_leave_their_children_hold_up_nobody_else(db: Database) -> None:
    for _ in range(20):
        db.enqueue("TEST_CPU_HANG")
    with worker(
        db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=50, BPC_SHUTDOWN_GRACE_SECONDS=0
    ) as running:
        until(lambda: running_hangs(db) == 4, within=20, what="two in work, two at hand")
        for _ in range(3):
            for _ in range(10):
                db.enqueue("TEST_NOOP")
            until(lambda: not unended_noops(db), within=20, what="ten that need no child")
        assert running_hangs(db) == 4, "the others are left to workers whose children are free"
        assert running.stop() == 0
    assert running_hangs(db) == 0


def test_a_child_that_gets_free_gets_the_next_job_at_once(db: Database) -> None:
    for number in range(30):
        db.enqueue("TEST_CPU_A" if number % 2 else "TEST_CPU_B", '{"rounds": 1000}')
    with worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=3_600_000) as running:
        until(
            lambda: not db.run("SELECT FROM jobs WHERE status <> 'SUCCEEDED' LIMIT 1"),
            within=30,
            what="all done, and no poll to help",
        )
        assert running.stop() == 0
    db.check_history()
