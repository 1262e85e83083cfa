"""The pauses between attempts, waited for in full."""

from tests.support.database import Database
from tests.support.history import events, moment, span, tenures
from tests.support.worker import until, worker


def test_a_job_that_always_fails_is_tried_five_times_in_half_a_minute(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        job_id = db.enqueue("TEST_FAIL")
        until(lambda: db.job(job_id)["status"] == "DEAD_LETTER", within=60)

        claims = tenures(db, job_id)
        settled = [moment(event, "at") for event in events(db, job_id)]
        for plain, ended_at, following in zip((2, 4, 8, 16), settled, claims[1:], strict=False):
            due_at = moment(following.claimed, "scheduled_at")
            delay, late = span(ended_at, due_at), span(due_at, following.started_at)
            print(f"due after {delay:.2f} s, claimed {late:.2f} s later")
            assert plain <= delay <= 1.1 * plain
            assert 0 <= late <= 1.1
        assert len(claims) == 5
        assert running.stop() == 0
    db.check_history()
