"""An operator at the terminal, as logins with one role each: what is printed and how it ends."""

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.database import Database, free_port
from tests.support.operators import letters, operate, told
from tests.support.worker import COMMAND, command, environment, hear_control_c, until, worker

NOBODY = "00000000-0000-0000-0000-000000000007"
READING = (
    ["jobs", "list"], ["jobs", "show", "JOB"], ["jobs", "explain", "JOB"], ["dead", "list"],
    ["dead", "list", "--count"], ["dead", "show", "JOB"], ["dead", "export"], ["dead", "retry", "--all"],
    ["stats"], ["stats", "--all"], ["top", "--once"], ["tail", "--no-follow"], ["pauses"],
)  # fmt: skip
ACTING = (
    ["jobs", "retry", "JOB"], ["jobs", "cancel", "JOB"], ["jobs", "replay", "JOB"],
    ["dead", "retry", "JOB", "--yes"], ["dead", "retry", "JOB", "--set", "a=1", "--yes"],
    ["dead", "retry", "--all", "--yes"], ["dead", "discard", "JOB", "--yes"],
    ["dead", "discard", "--all", "--yes"], ["pause", "type", "TEST_NOOP", "--reason", "x"],
    ["resume", "type", "TEST_NOOP"],
)  # fmt: skip


def about(job_id: str, arguments: list[str]) -> list[str]:
    return [job_id if part == "JOB" else part for part in arguments]


@pytest.mark.parametrize("role", ["bpc_reader", "bpc_operator"])
def test_whoever_may_look_can_look(db: Database, role: str) -> None:
    [job_id] = letters(db)
    db.run("SELECT bpc_pause('queue', 'other', 'a test')")

    for arguments in READING:
        shown = operate(db, *about(job_id, arguments), role=role)
        assert shown.returncode == 0, (arguments, shown.stderr)
        assert "\x1b" not in shown.stdout, "colours are for terminals"
        if role == "bpc_reader" and arguments[-1] not in {"--all", "export"}:
            lines = operate(db, *about(job_id, arguments), "--json", role=role)
            assert all(isinstance(json.loads(line), dict) for line in lines.stdout.splitlines()), arguments
    assert (db.job(job_id)["status"], db.events(job_id)) == ("DEAD_LETTER", [])


def test_who_may_only_look_is_told_what_he_lacks(db: Database) -> None:
    [job_id] = letters(db)
    before = db.job(job_id)

    for arguments in ACTING:
        refused = operate(db, *about(job_id, arguments), role="bpc_reader")
        assert refused.returncode == 1, arguments
        assert "permission denied" in refused.stderr
        assert "GRANT bpc_operator TO the login" in refused.stderr
    assert (db.job(job_id), db.events(job_id)) == (before, [])
    assert "GRANT bpc_operator or bpc_reader" in operate(db, "jobs", "list", role="bpc_producer").stderr


def test_one_job_after_the_other(db: Database) -> None:
    with worker(db.url_as("bpc_worker")) as running:
        first, second = letters(db, 2, payload='{"seconds": "soon"}', job_type="TEST_SLEEP", status="FAILED")
        done = db.enqueue("TEST_NOOP", status="SUCCEEDED")

        some = operate(db, "jobs", "retry", first, done, NOBODY)
        assert (some.returncode, some.stdout) == (1, f"{first}  QUEUED\n")
        assert f"job {done} is SUCCEEDED: only DEAD_LETTER and FAILED can be retried" in some.stderr
        assert f"no job {NOBODY}" in some.stderr
        waited = operate(db, "jobs", "wait", first, done)
        assert waited.returncode == 1
        assert sorted(waited.stdout.splitlines()) == sorted([f"{first}  FAILED", f"{done}  SUCCEEDED"])
        assert f"bpc-worker jobs retry {first}" in waited.stderr

        dry = operate(db, "dead", "retry", second, "--set", "seconds=0.1")
        assert (dry.returncode, dry.stdout) == (0, "")
        assert "1 job would be retried; nothing was done: add --yes" in dry.stderr
        assert db.job(second)["status"] == "FAILED"
        assert operate(db, "dead", "retry", second, "--set", "seconds=0.1", "--yes").returncode == 0
        assert operate(db, "jobs", "wait", second).stdout == f"{second}  SUCCEEDED\n"
        assert db.job(second)["payload"] == {"seconds": 0.1}
        assert db.events(second) == ["job:payload_patched", "job:requeued"]

        made = operate(db, "jobs", "replay", second).stdout.strip()
        assert told(operate(db, "jobs", "wait", made, "--json"))[0]["status"] == "SUCCEEDED"
        [shown] = told(operate(db, "jobs", "show", second, "--json"))
        assert shown["children"] == [{"job_id": made, "type": "TEST_SLEEP", "status": "SUCCEEDED"}]
        assert running.stop() == 0
    db.check_history()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["jobs", "show", NOBODY], 3, "see `bpc-worker jobs list`"),
        (["jobs", "explain", NOBODY], 3, "no job"),
        (["jobs", "wait", NOBODY], 3, "no job"),
        (["jobs", "cancel", NOBODY], 3, "no job"),
        (["jobs", "list", "--tenant", "acmee"], 3, "no tenant 'acmee'"),
        (["resume", "queue", "default"], 3, "is not paused; see `bpc-worker pauses`"),
        (["dead", "retry", "--yes"], 2, "which ones? name jobs, or give --type"),
        (["dead", "retry", NOBODY, "--all", "--yes"], 2, "name jobs or give filters, not both"),
        (["dead", "export", "--out", "/nowhere/at/all"], 1, "name a file in a folder that you may write to"),
        (["dead", "discard", "--tenant", "acmee", "--yes"], 3, "no tenant 'acmee'"),
    ],
)
def test_what_goes_wrong_has_a_code_and_a_next_step(
    db: Database, arguments: list[str], code: int, said: str
) -> None:
    ran = operate(db, *arguments)

    assert (ran.returncode, ran.stdout) == (code, "")
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_no_database(db: Database) -> None:
    away = db.url.replace(db.url.rpartition(":")[2].partition("/")[0], str(free_port()))

    ran = command(away, "stats")

    assert ran.returncode == 69
    assert "check BPC_DATABASE_URL" in ran.stderr


def test_an_old_schema_is_told_to_migrate(db: Database) -> None:
    db.run("DROP FUNCTION bpc_explain_job")

    ran = operate(db, "jobs", "explain", NOBODY)

    assert (ran.returncode, "run `bpc-worker migrate`" in ran.stderr) == (1, True)


def test_what_is_exported_is_what_is_stored(db: Database, tmp_path: Path) -> None:
    ids = letters(db, 3, payload='{"exact": 1.10, "text": "ünïcode\\n"}')
    file = tmp_path / "dead.jsonl"

    assert operate(db, "dead", "export", "--out", str(file)).returncode == 0

    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["job_id"] for line in lines] == ids
    assert '"payload":{"text": "ünïcode\\n", "exact": 1.10}' in lines[0]


def test_prune_removes_what_the_settings_say_and_tells_how_much(db: Database) -> None:
    old = {
        status: letters(db, status=status, age="31 days")[0]
        for status in ("SUCCEEDED", "FAILED", "DEAD_LETTER")
    }
    young = letters(db, status="SUCCEEDED", age="29 days")[0]
    waiting = db.enqueue("TEST_NOOP")
    db.run("INSERT INTO job_events (job_id, type) SELECT job_id, 'job:retried' FROM jobs")
    url, days = db.url_as("bpc_operator"), {"BPC_JOBS_RETENTION_DAYS": 30}

    unset = command(url, "jobs", "prune", BPC_JOBS_RETENTION_DAYS=0)
    assert unset.returncode == 1
    assert "CONFIG_MISSING: every job is kept: set jobs.retention_days" in unset.stderr
    refused = command(db.url_as("bpc_reader"), "jobs", "prune", **days)
    assert refused.returncode == 1
    assert "GRANT bpc_operator TO the login" in refused.stderr
    with db.connect() as other, other.transaction():
        other.execute("SELECT FROM prune_progress FOR UPDATE")
        second = command(url, "jobs", "prune", **days)
    assert second.returncode == 1
    assert "somebody else is removing jobs this very moment; try again later" in second.stderr
    assert db.one("SELECT count(*) AS n FROM jobs")["n"] == 5

    done = command(url, "jobs", "prune", **days)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("bpc-worker: 1 job and 1 event removed\n")
    left = {str(row["job_id"]) for row in db.run("SELECT job_id FROM jobs")}
    assert left == {old["FAILED"], old["DEAD_LETTER"], young, waiting}
    of_jobs = db.run("SELECT job_id FROM job_events WHERE type <> 'jobs:pruned'")
    assert {str(row["job_id"]) for row in of_jobs} == left


def test_tail_follows_until_it_is_stopped(db: Database) -> None:
    [old, new] = letters(db, 2)
    operate(db, "jobs", "retry", old)
    with subprocess.Popen(
        [*COMMAND, "tail", "--json"],
        env=environment(db.url_as("bpc_reader")),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hear_control_c,  # noqa: PLW1509 - no thread of ours is at work here
    ) as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["job_id"] == old
        operate(db, "jobs", "retry", new)
        event = json.loads(following.stdout.readline())
        following.send_signal(signal.SIGINT)
        try:
            assert following.wait(10) == 0
        finally:
            following.kill()  # else one that does not hear would be waited for without end

    assert (event["job_id"], event["type"], event["data"]["by"]) == (
        new,
        "job:requeued",
        "bpc_operator_login",
    )


def test_a_list_has_titles_on_a_terminal_and_none_in_a_file(db: Database) -> None:
    letters(db)
    env = environment(db.url_as("bpc_reader")) | {"TERM": "xterm", "COLUMNS": "300"}
    for arguments, first in ((["jobs", "list"], "job"), (["dead", "list", "--count"], "count")):
        ours, its = pty.openpty()
        ran = subprocess.run([*COMMAND, *arguments], stdout=its, env=env, timeout=60, check=True)
        os.close(its)
        shown = os.read(ours, 10_000).decode()
        os.close(ours)
        piped = operate(db, *arguments, role="bpc_reader").stdout

        assert ran.returncode == 0
        assert shown.splitlines()[0].startswith(first)
        assert [line.split() for line in shown.splitlines()[1:]] == [
            line.split() for line in piped.splitlines()
        ]


def test_top_draws_on_a_terminal_and_ends_with_control_c(db: Database) -> None:
    letters(db, code="WEBHOOK_GONE")
    ours, its = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "top", "--every", "0.1"], stdin=its, stdout=its, stderr=its,
        env=environment(db.url_as("bpc_reader"), TERM="xterm", COLUMNS=120),
        preexec_fn=hear_control_c,  # noqa: PLW1509 - nor here
    ) as running:  # fmt: skip
        os.close(its)
        seen = b""

        def drawn() -> bool:
            nonlocal seen
            seen += os.read(ours, 65536)
            return seen.count(b"WEBHOOK_GONE") >= 3

        until(drawn, within=20, what="three looks")
        running.send_signal(signal.SIGINT)
        assert running.wait(10) == 0
    os.close(ours)
    assert b"\x1b[?1049h" in seen, "on a screen of its own"
    assert b"no worker has announced itself" in seen
