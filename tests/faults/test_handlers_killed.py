"""Every step of a passport's way, killed before, in and after its transaction: the rows of one clean run."""

import pytest

from bpc_worker.pipeline.rules import add_rules, run_rule_tests
from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.chains import check_chains
from tests.support.database import Database
from tests.support.kills import MOMENTS, ONE_AT_A_TIME, TRANSACTIONS, clean_run, kill_worker, killed_run
from tests.support.pipeline import pipeline
from tests.support.worker import until, worker


@pytest.fixture(scope="module")
def clean(server: Server) -> dict[str, list[str]]:
    with databases.database(server) as db:
        return clean_run(db)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("nth", range(1, TRANSACTIONS + 1))
def test_a_killed_worker_leaves_no_trace(
    db: Database, clean: dict[str, list[str]], moment: str, nth: int
) -> None:
    assert killed_run(db, moment, nth) == clean


RULES = """
field a.b: Int = 1;
property always: cases(500) seed(1) { } forall n: Int in [1, 9] => field("a.b") <= n;
"""


@pytest.mark.parametrize("moment", MOMENTS)
def test_rules_whose_worker_was_killed_are_validated_once(db: Database, moment: str) -> None:
    path = pipeline(db)
    path.call(lambda pipeline: add_rules(pipeline, "small", RULES))
    path.call(lambda pipeline: run_rule_tests(pipeline, "small"))
    kill_worker(db, moment, 1)
    with worker(db.url_as("bpc_worker"), **ONE_AT_A_TIME):
        until(lambda: db.one("SELECT status FROM jobs")["status"] == "SUCCEEDED", within=60)
    assert db.one("SELECT count(*) AS n FROM rule_tests_runs")["n"] == 1
    assert db.one("SELECT count(*) AS n FROM events WHERE event_type = 'RULES_VALIDATED'") == {"n": 1}
    check_chains(db)
    db.check_history()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_death_whose_teller_was_killed_is_told_once(db: Database, moment: str) -> None:
    dead = db.enqueue("TEST_FAIL", max_attempts=1)
    kill_worker(db, moment, 1)
    with worker(db.url_as("bpc_worker"), **ONE_AT_A_TIME):
        unended = "SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING')"
        until(lambda: not db.run(unended), within=60)
    assert db.job(dead)["status"] == "DEAD_LETTER"
    assert db.run("SELECT event_type, aggregate_id::text FROM events") == [
        {"event_type": "JOB_DEAD_LETTERED", "aggregate_id": dead}
    ]
    check_chains(db)
    db.check_history()
