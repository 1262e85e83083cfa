"""Every statement in sql/ is one that PostgreSQL accepts against the migrated schema."""

import re
import subprocess
from pathlib import Path
from uuid import UUID

import pytest

from bpc_worker.postgres.sql_files import prepared
from tests.support.database import Database
from tests.support.paste import pasted

ROOT = Path(__file__).parents[3] / "sql"
QUERIES = sorted((ROOT / "queries").rglob("*.sql"))
DLQ = sorted((ROOT / "dlq").glob("*.sql"))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(ROOT / "queries")))
def test_postgres_accepts_the_query(path: Path, untouched_db: Database) -> None:
    name = str(path.relative_to(ROOT / "queries").with_suffix(""))
    with untouched_db.connect() as connection:
        connection.execute(b"PREPARE wanted AS " + prepared(name).text)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(ROOT / "queries")))
def test_a_query_is_one_statement_with_a_comment_on_top(path: Path) -> None:
    text = path.read_text()

    assert text.startswith("-- ")
    assert ";" not in re.sub(r"--[^\n]*", "", text)
    assert not re.search(r"SELECT \*(?! FROM claimed)", text)


# What is due, and what is suspect: a partial index serves only those who say its condition word by word.
CONDITIONS = re.findall(
    r"WHERE (status = 'QUEUED' AND .*?LEASE_EXPIRED.*?);",
    (ROOT / "migrations" / "0102_queue.sql").read_text(),
)
SAY_IT = [
    path
    for path in [*QUERIES, *sorted((ROOT / "functions").glob("*.sql"))]
    if re.search(r"WHERE (\w\.)?status = 'QUEUED'[^;]*LEASE_EXPIRED", path.read_text())
]


@pytest.mark.parametrize("path", SAY_IT, ids=lambda path: path.stem)
def test_who_looks_for_queued_jobs_says_the_condition_of_an_index(path: Path) -> None:
    text = re.sub(r"--[^\n]*", "", path.read_text())
    said = re.findall(r"WHERE ((?:\w\.)?status = 'QUEUED'[^;]*?LEASE_EXPIRED'[^;]*?)(?=WHERE|;|$)", text)

    assert len(CONDITIONS) == 3
    assert said
    for each in said:
        plain = " ".join(re.sub(r"\b(?:\w|jobs)\.", "", each).split())
        assert plain.startswith(tuple(CONDITIONS)), each


def paste(db: Database, name: str) -> subprocess.CompletedProcess[str]:
    """What a person does with it."""
    return subprocess.run(
        [db.server.bin_dir / "psql", "-X", "-At", "-v", "ON_ERROR_STOP=1", db.url],
        input=pasted(name), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_claim_can_be_pasted_into_psql(db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP")
    done = paste(db, "jobs/claim")

    assert done.returncode == 0, done.stderr
    assert job_id in done.stdout
    assert db.job(job_id)["status"] == "RUNNING"


@pytest.mark.parametrize("name", ["jobs/settle", "jobs/settle_group"])
def test_a_settle_can_be_pasted_into_psql(name: str, db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP")
    db.run(
        "UPDATE jobs SET job_id = %s, lease_token = %s, status = 'RUNNING', attempts = 1,"
        " lease_owner = 'by hand', lease_expires_at = now() + interval '1 minute' WHERE job_id = %s",
        [UUID(int=1), UUID(int=2), job_id],
    )
    done = paste(db, name)

    assert done.returncode == 0, done.stderr
    assert "SUCCEEDED" in done.stdout
    assert db.job(str(UUID(int=1)))["status"] == "SUCCEEDED"


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(ROOT / "queries")))
def test_psql_can_prepare_every_query(path: Path, untouched_db: Database) -> None:
    prepare, _, execute = pasted(str(path.relative_to(ROOT / "queries").with_suffix(""))).rpartition(
        "\n\nEXECUTE "
    )
    with untouched_db.connect() as connection:
        connection.execute(prepare.encode())

    assert execute.endswith(";\n")


GIVEN = {
    "type": "TEST_NOOP", "code": "COMMAND_FAILED", "tenant": "acme", "older": "0 seconds", "newer": "1 day",
    "path": "a", "value": "2", "kind": "type", "name": "TEST_NOOP", "reason": "a test", "for": "2 hours",
}  # fmt: skip
BECOMES = {
    "retry.sql": "QUEUED", "retry_by_type.sql": "QUEUED", "retry_by_code.sql": "QUEUED",
    "retry_by_tenant.sql": "QUEUED", "retry_by_age.sql": "QUEUED", "retry_matching.sql": "QUEUED",
    "patch_and_retry.sql": "QUEUED", "discard.sql": "CANCELLED", "discard_matching.sql": "CANCELLED",
    "cancel.sql": "CANCELLED",
}  # fmt: skip
SAYS = {
    "count.sql": "COMMAND_FAILED", "pause.sql": "bpc_pause", "pauses.sql": "a test", "resume.sql": "t\n",
    "replay.sql": "new_job",
}  # fmt: skip


def run_script(
    db: Database, script: Path, role: str = "bpc_operator", **given: str
) -> subprocess.CompletedProcess[str]:
    variables = [part for name, value in given.items() for part in ("-v", f"{name}={value}")]
    psql = str(db.server.bin_dir / "psql")
    return subprocess.run(
        [psql, "-X", "-v", "ON_ERROR_STOP=1", *variables, "-f", script, db.url_as(role)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def kill(db: Database, job_id: str) -> None:
    db.run(
        "UPDATE jobs SET status = 'RUNNING', attempts = 1, lease_owner = 'x', lease_expires_at = now()"
        " WHERE job_id = %s",
        [job_id],
    )
    db.run(
        "UPDATE jobs SET status = 'DEAD_LETTER', lease_owner = NULL, lease_expires_at = NULL,"
        " fail_code = 'COMMAND_FAILED', finished_at = now() WHERE job_id = %s",
        [job_id],
    )


@pytest.mark.parametrize("path", DLQ, ids=lambda path: path.name)
def test_an_operator_can_run_the_script_with_psql(path: Path, db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP", '{"a": 1}')
    if path.name != "cancel.sql":
        kill(db, job_id)
    if path.name in {"pauses.sql", "resume.sql"}:
        db.run("SELECT bpc_pause('type', 'TEST_NOOP', 'a test')")

    done = run_script(db, path, job=job_id, **GIVEN)

    assert done.returncode == 0, done.stderr
    assert db.job(job_id)["status"] == BECOMES.get(path.name, "DEAD_LETTER")
    if path.name in BECOMES:
        event = db.run("SELECT data FROM job_events WHERE job_id = %s", [job_id])[-1]
        assert event["data"]["by"] == "bpc_operator_login"  # type: ignore[index]  # jsonb
    else:
        assert SAYS.get(path.name, job_id) in done.stdout


@pytest.mark.parametrize("name", ["retry_matching", "discard_matching"])
def test_a_script_that_was_not_told_which_ones_touches_none(name: str, db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP")
    kill(db, job_id)

    nothing = run_script(db, ROOT / "dlq" / f"{name}.sql")
    unknown = run_script(db, ROOT / "dlq" / f"{name}.sql", tenant="acmee")

    assert "which ones?" in nothing.stderr
    assert "no tenant acmee" in unknown.stderr
    assert (nothing.returncode, unknown.returncode) == (3, 3)
    assert db.job(job_id)["status"] == "DEAD_LETTER"


@pytest.mark.parametrize("path", DLQ, ids=lambda path: path.name)
def test_a_reader_can_look_and_change_nothing(path: Path, db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP", '{"a": 1}')
    kill(db, job_id)

    done = run_script(db, path, "bpc_reader", job=job_id, **GIVEN)

    acts = path.name in BECOMES or path.name in {"pause.sql", "resume.sql", "replay.sql"}
    assert (done.returncode != 0) == acts, done.stderr
    assert not acts or "permission denied" in done.stderr
    assert db.job(job_id)["status"] == "DEAD_LETTER"
    assert db.run("SELECT kind FROM job_pauses") == []
    assert db.events(job_id) == []
