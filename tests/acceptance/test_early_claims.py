"""Jobs that are claimed ahead of their slots, because those before them were short."""

import json

from tests.support.database import Database
from tests.support.worker import until, worker

SLOTS = 5
ROUNDS = 5
SHORT, LONG = 60, 2 * SLOTS
SECONDS = 0.7  # far longer than a job waits that came early


def enqueue_by_turns(db: Database) -> None:
    """Many short jobs, then long ones for which there are not slots enough; and again."""
    for _ in range(ROUNDS):
        for job_type, payload, count in (
            ("TEST_NOOP", {}, SHORT),
            ("TEST_SLEEP", {"seconds": SECONDS}, LONG),
        ):
            db.run(
                "INSERT INTO jobs (tenant_id, type, payload) SELECT %s, %s, %s FROM generate_series(1, %s)",
                [db.tenant(), job_type, json.dumps(payload), count],
            )


def most_at_once(db: Database) -> int:
    """Handlers of long jobs, by their own clock: each says when it began, and is known to take so long."""
    rows = db.run("SELECT (result ->> 'started_ns')::bigint AS began FROM jobs WHERE type = 'TEST_SLEEP'")
    began = sorted(int(str(row["began"])) for row in rows)
    return max(sum(first <= each < first + SECONDS * 1e9 for each in began) for first in began)


def test_long_jobs_behind_short_ones_find_a_slot_or_go_back(db: Database) -> None:
    enqueue_by_turns(db)
    with worker(db.url_as("bpc_worker"), BPC_WORKER_CONCURRENCY=SLOTS) as running:
        until(
            lambda: not db.run("SELECT FROM jobs WHERE status <> 'SUCCEEDED' LIMIT 1"), within=60, what="all"
        )
        assert running.stop() == 0

    assert most_at_once(db) == SLOTS
    back = db.run("SELECT job_id FROM job_events WHERE type = 'job:released'")
    assert 0 < len(back) <= ROUNDS * SLOTS, "came early, and was given back"
    assert db.one("SELECT max(attempts) AS most FROM jobs")["most"] == 1
    db.check_history()
