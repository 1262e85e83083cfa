"""Every statement in sql/ is one that PostgreSQL accepts against the migrated schema."""

import re
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from bpc_worker.adapters.sql_files import prepared
from tests.support.database import Database

ROOT = Path(__file__).parents[2] / "sql"
QUERIES = sorted((ROOT / "queries").rglob("*.sql"))
DLQ = sorted((ROOT / "dlq").glob("*.sql"))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(ROOT / "queries")))
def test_postgres_accepts_the_query(path: Path, db: Database) -> None:
    name = str(path.relative_to(ROOT / "queries").with_suffix(""))
    parts = sorted(set(re.findall(r"-- if (?:no )?(\w+)", path.read_text())))
    choices = [chosen for count in range(len(parts) + 1) for chosen in combinations(parts, count)]
    with db.connect() as connection:
        for number, chosen in enumerate(choices):
            connection.execute(f"PREPARE q{number} AS ".encode() + prepared(name, *chosen).text)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(ROOT / "queries")))
def test_a_query_is_one_statement_with_a_comment_on_top(path: Path) -> None:
    text = path.read_text()

    assert text.startswith("-- ")
    assert ";" not in re.sub(r"--[^\n]*", "", text)
    assert not re.search(r"SELECT \*(?! FROM claimed)", text)


@pytest.mark.parametrize("path", DLQ, ids=lambda path: path.name)
def test_an_operator_can_run_the_script_with_psql(path: Path, db: Database) -> None:
    job_id = db.enqueue("TEST_NOOP")
    wanted = "QUEUED" if path.name == "cancel.sql" else "DEAD_LETTER"
    if wanted == "DEAD_LETTER":
        db.run(
            "UPDATE jobs SET status = 'RUNNING', attempts = 1, lease_owner = 'x', lease_expires_at = now()"
        )
        db.run(
            "UPDATE jobs SET status = 'DEAD_LETTER', lease_owner = NULL, lease_expires_at = NULL,"
            " fail_code = 'COMMAND_FAILED', finished_at = now()"
        )
    done = subprocess.run(
        [
            str(db.server.bin_dir / "psql"), db.url_as("bpc_operator"), "-X", "-v", "ON_ERROR_STOP=1",
            "-v", f"job={job_id}", "-v", "type=TEST_NOOP", "-v", "code=COMMAND_FAILED", "-f", str(path),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    expected = {
        "retry.sql": "QUEUED", "retry_by_type.sql": "QUEUED", "retry_by_code.sql": "QUEUED",
        "discard.sql": "CANCELLED", "cancel.sql": "CANCELLED",
    }  # fmt: skip
    assert db.job(job_id)["status"] == expected.get(path.name, wanted)
    if path.name in expected:
        event = db.run("SELECT data FROM job_events WHERE job_id = %s", [job_id])[-1]
        assert event["data"]["by"] == "bpc_operator_login"  # type: ignore[index]  # jsonb
    else:
        assert job_id in done.stdout
