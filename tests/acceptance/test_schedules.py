"""Schedules in real workers: one job per tick, whoever comes first and whoever dies."""

import signal

from tests.support.database import Database
from tests.support.schedules import LAST_TICK, MINUTELY, keys
from tests.support.worker import Worker, until, worker

IN_LINE = """SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
             WHERE NOT granted ORDER BY locktype = 'transactionid' DESC"""


def ticks(*workers: Worker) -> list[object]:
    """The jobs that the workers say they have queued."""
    return [line["job_id"] for each in workers for line in each.lines if line.get("msg") == "schedule_ticked"]


def at_the_turn(db: Database) -> list[str]:
    """Both workers, as they stand in line; nobody while one is missing."""
    names = [str(row["name"]) for row in db.run(IN_LINE)]
    return names if len(names) == 2 else []


def test_killed_while_it_takes_its_turn_at_a_tick(db: Database) -> None:
    """Both are about to take it when one of them dies: the other queues the job, once."""
    db.tenant()
    db.run(LAST_TICK)
    url = db.url_as("bpc_worker")
    with worker(url, **MINUTELY) as one, worker(url, **MINUTELY) as two:
        with db.connect() as other, other.transaction():
            other.execute("SELECT FROM schedule_ticks FOR UPDATE")
            queue = until(lambda: at_the_turn(db), within=20, what="both at the turn")
            assert ticks(one, two) == []
            # Who is next in line gets the turn even when dead, and keeps it for most of a minute.
            dying, living = (one, two) if queue[-1].endswith(f"-{one.pid}") else (two, one)
            dying.send(signal.SIGKILL)
            dying.wait(10)
        until(
            lambda: db.run("SELECT FROM schedule_ticks WHERE tick > now() - interval '2 minutes'"), within=20
        )
        with worker(url, **MINUTELY) as third:
            third.wait_ready()
            until(lambda: not db.run("SELECT FROM jobs WHERE status <> 'SUCCEEDED'"), within=20)
            assert third.stop() == 0
        assert living.stop() == 0
    found = keys(db)
    assert len(found) == len(set(found))
    # Of the five ticks that were missed only the last one got its job; a minute may have passed meanwhile.
    assert 1 <= len(found) <= 3
    assert len(db.run("SELECT FROM jobs WHERE attempts = 1")) == len(found)
    db.check_history()


def test_whoever_looks_again_adds_nothing(db: Database) -> None:
    """The note of the tick is lost, as if everybody had died before it: the key of the job still tells."""
    db.tenant()
    db.tenant("other")
    db.run(LAST_TICK)
    url = db.url_as("bpc_worker")
    for _ in range(2):
        with worker(url, **MINUTELY) as running:
            until(
                lambda: db.run("SELECT FROM schedule_ticks WHERE tick > now() - interval '2 minutes'"),
                within=20,
            )
            assert running.stop() == 0
        db.run("DELETE FROM schedule_ticks")
        db.run(LAST_TICK)
    found = db.run("SELECT tenant_id, idempotency_key FROM jobs")
    assert len(found) == len({tuple(row.values()) for row in found})
    assert len({row["tenant_id"] for row in found}) == 2
    assert len(found) in {2, 4}, "one for each tenant, or two if the minute was over in between"
