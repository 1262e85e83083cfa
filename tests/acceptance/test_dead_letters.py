"""Ten thousand dead letters of three kinds: one is looked at, counted and retried while workers run.

By the commands, and by psql alone. Nothing else is touched, and everything is noted.
"""

import subprocess
from pathlib import Path
from typing import Any

from tests.support.database import Database
from tests.support.operators import kinds, letters, operate, told
from tests.support.worker import COMMAND, environment, until, worker

DLQ = Path(__file__).parents[2] / "sql" / "dlq"
EFFECT, OTHER_CODE, OTHER_TYPE = 3400, 3300, 3300
OPERATOR = "bpc_operator_login"


def three_kinds(db: Database) -> list[str]:
    """The ids of those that will be retried."""
    ids = letters(db, EFFECT, job_type="TEST_EFFECT", code="LEASE_EXPIRED", payload='{"key": "x"}')
    letters(db, OTHER_CODE, job_type="TEST_EFFECT", code="COMMAND_FAILED", payload='{"key": "y"}')
    letters(db, OTHER_TYPE, job_type="TEST_NOOP", code="LEASE_EXPIRED", tenant="other")
    return ids


def others(db: Database) -> object:
    """A print of every row of the other kinds."""
    return db.one(
        "SELECT count(*), md5(string_agg(jobs::text, '' ORDER BY job_id)) FROM jobs"
        " WHERE type = 'TEST_NOOP' OR payload = '{\"key\": \"y\"}'"
    )


def noted(db: Database) -> list[tuple[Any, ...]]:
    rows = db.run(
        "SELECT e.type, e.data ->> 'by' AS by, j.type AS job_type, count(*), count(DISTINCT e.job_id) AS jobs"
        " FROM job_events e JOIN jobs j USING (job_id) GROUP BY 1, 2, 3 ORDER BY 1, 3"
    )
    return [tuple(row.values()) for row in rows]


def ran_once(db: Database, ids: list[str]) -> bool:
    rows = db.run("SELECT job_id FROM test_effects")
    return sorted(str(row["job_id"]) for row in rows) == sorted(ids)


def test_by_the_commands(db: Database) -> None:
    ids = three_kinds(db)
    before = others(db)
    one_kind = ("--type", "TEST_EFFECT", "--code", "LEASE_EXPIRED")
    with worker(db.url_as("bpc_worker")) as first, worker(db.url_as("bpc_worker")) as second:
        for running in (first, second):
            running.wait_ready()
        counted = told(operate(db, "dead", "list", "--count", "--json", role="bpc_reader"))
        assert [kind["count"] for kind in counted] == [EFFECT, OTHER_CODE, OTHER_TYPE]
        listed = told(operate(db, "dead", "list", *one_kind, "--limit", "5000", "--json"))
        assert [line["job_id"] for line in listed] == ids[::-1]

        dry = operate(db, "dead", "retry", *one_kind)
        assert dry.returncode == 0
        assert f"{EFFECT} dead letters would be retried; nothing was done: add --yes" in dry.stderr
        assert kinds(db)["TEST_EFFECT", "DEAD_LETTER"] == EFFECT + OTHER_CODE
        assert noted(db) == []

        done = operate(db, "dead", "retry", *one_kind, "--yes")
        assert (done.returncode, done.stdout) == (0, f"{EFFECT}\n")
        progress = [f"bpc-worker: {n} of {EFFECT} retried" for n in (*range(500, EFFECT, 500), EFFECT)]
        assert done.stderr.splitlines() == progress
        until(lambda: kinds(db).get(("TEST_EFFECT", "SUCCEEDED")) == EFFECT, within=60)
        assert operate(db, "dead", "retry", *one_kind, "--yes").stdout == "0\n"
        assert (first.stop(), second.stop()) == (0, 0)

    assert others(db) == before
    assert noted(db) == [("job:requeued", OPERATOR, "TEST_EFFECT", EFFECT, EFFECT)]
    assert ran_once(db, ids)

    given_up = operate(db, "dead", "discard", "--tenant", "other", "--older", "30m", "--yes")
    assert (given_up.returncode, given_up.stdout) == (0, f"{OTHER_TYPE}\n")
    assert kinds(db) == {
        ("TEST_EFFECT", "SUCCEEDED"): EFFECT,
        ("TEST_EFFECT", "DEAD_LETTER"): OTHER_CODE,
        ("TEST_NOOP", "CANCELLED"): OTHER_TYPE,
    }
    assert noted(db)[0] == ("job:cancelled", OPERATOR, "TEST_NOOP", OTHER_TYPE, OTHER_TYPE)
    db.check_history()


def script(db: Database, name: str, **given: str) -> subprocess.CompletedProcess[str]:
    variables = [part for key, value in given.items() for part in ("-v", f"{key}={value}")]
    return subprocess.run(
        [db.server.bin_dir / "psql", "-X", "-At", "-v", "ON_ERROR_STOP=1", *variables, "-f", DLQ / name,
         db.url_as("bpc_operator")],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip


def test_by_psql_alone(db: Database) -> None:
    ids = three_kinds(db)
    before = others(db)
    one_kind = {"type": "TEST_EFFECT", "code": "LEASE_EXPIRED"}
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        counts = [line.split("|")[:3] for line in script(db, "count.sql").stdout.splitlines()]
        assert [int(count) for _, _, count in counts] == [EFFECT, OTHER_CODE, OTHER_TYPE]
        assert script(db, "count.sql", **one_kind).stdout.startswith(f"TEST_EFFECT|LEASE_EXPIRED|{EFFECT}|")
        assert len(script(db, "list.sql", **one_kind).stdout.splitlines()) == 100
        assert noted(db) == []

        done = script(db, "retry_matching.sql", **one_kind)
        assert done.stdout.strip() == str(EFFECT)
        assert done.stderr.count("NOTICE") == 7, "in pages of 500"
        until(lambda: kinds(db).get(("TEST_EFFECT", "SUCCEEDED")) == EFFECT, within=60)
        assert script(db, "retry_matching.sql", **one_kind).stdout.strip() == "0"
        assert running.stop() == 0

    assert others(db) == before
    assert noted(db) == [("job:requeued", OPERATOR, "TEST_EFFECT", EFFECT, EFFECT)]
    assert ran_once(db, ids)
    assert script(db, "discard_matching.sql", tenant="other", older="30 minutes").stdout.strip() == str(
        OTHER_TYPE
    )
    assert kinds(db)["TEST_NOOP", "CANCELLED"] == OTHER_TYPE
    assert kinds(db)["TEST_EFFECT", "DEAD_LETTER"] == OTHER_CODE
    db.check_history()


def test_a_bulk_retry_that_was_killed_goes_on_with_the_rest(db: Database) -> None:
    letters(db, 5000)
    arguments = ["dead", "retry", "--type", "TEST_NOOP", "--yes"]
    with subprocess.Popen(
        [*COMMAND, *arguments], env=environment(db.url_as("bpc_operator")), stderr=subprocess.PIPE, text=True
    ) as killed:
        assert killed.stderr is not None
        assert killed.stderr.readline() == "bpc-worker: 500 of 5000 retried\n"
        killed.kill()
    done = kinds(db).get(("TEST_NOOP", "QUEUED"), 0)
    assert 500 <= done < 5000

    rest = operate(db, *arguments)

    # what the killed one had sent may have been done after we looked
    assert int(rest.stdout) in {5000 - done, 5000 - done - 500}
    assert kinds(db) == {("TEST_NOOP", "QUEUED"): 5000}
    assert noted(db) == [("job:requeued", OPERATOR, "TEST_NOOP", 5000, 5000)]
    db.check_history(nothing_left=False)
