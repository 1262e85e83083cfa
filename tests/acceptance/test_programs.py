"""RUN_COMMAND from the row to the result, and a worker that is killed while a program runs."""

import json
import os
import sys
from pathlib import Path

from tests.support.database import Database
from tests.support.outages import lease
from tests.support.worker import command, until, worker

SLEEPER = """
import os, subprocess, sys, time
daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open(sys.argv[1] + ".part", "w") as file:
    file.write(f"{os.getpid()} {daemon.pid}")
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(0 if os.environ["BPC_ATTEMPT"] == "2" else 600)
print('"done"')
"""


def commands(**scripts: str) -> str:
    """Each takes one argument, if any."""
    return json.dumps(
        {
            name: {"argv": [sys.executable, "-I", "-c", text], "args": ["/.*"]}
            for name, text in scripts.items()
        }
    )


def test_a_program_s_answer_is_the_result_of_its_job(db: Database) -> None:
    script = (
        "import json, sys; sys.stderr.write('hm'); print(json.dumps({'twice': 2 * json.load(sys.stdin)}))"
    )
    job_id = db.enqueue("RUN_COMMAND", '{"command": "twice", "stdin": 21}')
    with worker(db.url_as("bpc_worker"), BPC_COMMANDS=commands(twice=script)):
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=20)

    row = db.job(job_id)
    assert row["result"] == {
        "exit_code": 0,
        "answer": {"twice": 42},
        "stdout": '{"twice": 42}\n',
        "stderr": "hm",
    }
    assert isinstance(row["spec_hash"], bytes)


def test_why_a_program_failed_is_in_the_row(db: Database) -> None:
    script = "import sys; sys.exit('no such part')"
    job_id = db.enqueue("RUN_COMMAND", '{"command": "fail"}', max_attempts=1)
    with worker(db.url_as("bpc_worker"), BPC_COMMANDS=commands(fail=script)):
        until(lambda: db.job(job_id)["status"] == "DEAD_LETTER", within=20)

    error = db.one("SELECT last_error->'detail' AS detail, fail_code FROM jobs WHERE job_id = %s", [job_id])
    assert error == {"detail": {"exit_code": 1, "stderr": "no such part"}, "fail_code": "COMMAND_FAILED"}


def test_a_worker_that_is_killed_takes_its_programs_along_and_another_runs_them_again(
    db: Database, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    payload = json.dumps({"command": "sleep", "args": [str(pids)]})
    job_id = db.enqueue("RUN_COMMAND", payload)
    settings = {**lease(5, 2), "BPC_JOBS_BACKOFF_BASE": 1, "BPC_COMMANDS": commands(sleep=SLEEPER)}
    with worker(db.url_as("bpc_worker"), **settings) as victim:
        until(pids.exists, within=20)
        program, daemon = (int(word) for word in pids.read_text().split())
        victim.end()
    until(lambda: not _alive(program) and not _alive(daemon), within=5)
    with worker(db.url_as("bpc_worker"), **settings):
        until(lambda: db.job(job_id)["status"] == "SUCCEEDED", within=40)
    assert db.job(job_id)["attempts"] == 2


def test_arguments_that_nobody_allowed_end_the_job_with_what_to_do(db: Database, tmp_path: Path) -> None:
    made = tmp_path / "made"
    args = ["-exec", "/bin/sh", "-c", f"id > {made}", "{}", "+"]
    job_id = db.enqueue("RUN_COMMAND", json.dumps({"command": "find", "args": args}))
    allowed = json.dumps({"find": {"argv": ["/usr/bin/find", "/etc/passwd"]}})
    with worker(db.url_as("bpc_worker"), BPC_COMMANDS=allowed):
        until(lambda: db.job(job_id)["status"] == "FAILED", within=20)

    row = db.job(job_id)
    assert (row["fail_code"], row["attempts"]) == ("FORBIDDEN", 1)
    assert "commands.find.args" in str(row["last_error"])
    assert not made.exists()


def test_a_program_for_one_tenant_by_its_name(db: Database) -> None:
    insert = "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'RUN_COMMAND', %s) RETURNING job_id"
    jobs = [db.one(insert, [db.tenant(name), '{"command": "hi"}'])["job_id"] for name in ("acme", "other")]
    acme, other = map(str, jobs)
    allowed = json.dumps({"hi": {"argv": ["/bin/echo"], "tenants": ["acme"]}})
    with worker(db.url_as("bpc_worker"), BPC_COMMANDS=allowed):
        until(lambda: db.job(acme)["status"] == "SUCCEEDED", within=20)
        until(lambda: db.job(other)["status"] == "FAILED", within=20)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_account_that_children_cannot_have_is_told_at_the_start(db: Database) -> None:
    done = command(db.url, "run", BPC_WORKER_CHILD_ACCOUNT="no-such-account")

    assert done.returncode == 2
    assert ("no account 'no-such-account'" in done.stderr) or ("only root can" in done.stderr)
