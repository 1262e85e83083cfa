"""The command line as a person meets it: what it prints, how it ends, what it says on errors."""

import subprocess
from pathlib import Path

import pytest

from tests.support.database import Database, free_port
from tests.support.worker import COMMAND, command, environment, worker


def bare(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Without a database URL."""
    kept = {name: value for name, value in environment("").items() if name != "BPC_DATABASE_URL"}
    return subprocess.run(
        [*COMMAND, *arguments], env=kept | settings, capture_output=True, text=True, timeout=60, check=False
    )


def test_help_lists_the_commands_and_the_exit_codes() -> None:
    done = bare("--help")

    assert done.returncode == 0
    for word in (
        "run",
        "once",
        "enqueue",
        "migrate",
        "tenant",
        "health",
        "config",
        "demo",
        "db",
        "Exit codes",
    ):
        assert word in done.stdout


def test_prod_without_a_database_is_refused() -> None:
    done = bare("run", BPC_ENV="prod")

    assert done.returncode == 2
    assert "BPC_DATABASE_URL" in done.stderr
    assert "embedded PostgreSQL is for development" in done.stderr


def test_every_configuration_error_is_named_at_once() -> None:
    done = bare(
        "run",
        BPC_DATABASE_URL="mysql://nope",
        BPC_JOBS_LEASE_SECONDS="4",
        BPC_JOBS_LEASE_RENEW_SECONDS="soon",
        BPC_WORKER_CONCURRENCY="0",
        BPC_QUEUE_ENABLED="perhaps",
        BPC_LOG_LEVEL="loud",
        BPC_JOBS_LEASE_SECOND="60",
        BPC_HTTP_PORT="99999",
    )

    assert done.returncode == 2
    for word in (
        "BPC_DATABASE_URL", "BPC_JOBS_LEASE_SECONDS", "BPC_JOBS_LEASE_RENEW_SECONDS",
        "BPC_WORKER_CONCURRENCY",
        "BPC_QUEUE_ENABLED", "BPC_LOG_LEVEL", "BPC_JOBS_LEASE_SECOND", "BPC_HTTP_PORT",
    ):  # fmt: skip
        assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_a_renewal_slower_than_half_a_lease_is_refused() -> None:
    done = bare("run", BPC_JOBS_LEASE_SECONDS="10", BPC_JOBS_LEASE_RENEW_SECONDS="6")

    assert done.returncode == 2
    assert "more than half" in done.stderr


def test_a_config_file_that_is_named_must_exist(tmp_path: Path) -> None:
    assert bare("config", "--config", str(tmp_path / "none.yaml")).returncode == 2


def test_config_shows_sources_and_masks_secrets(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("jobs: {lease_seconds: 90}\n")
    done = command(
        "postgresql://u:hunter2@h/d", "config", "--config", str(file), BPC_QUEUE_URL="amqp://a:hunter3@h/"
    )

    assert done.returncode == 0
    assert "hunter" not in done.stdout
    [lease] = [line for line in done.stdout.splitlines() if line.startswith("jobs.lease_seconds")]
    assert "90" in lease
    assert str(file) in lease


def test_unknown_commands_and_roles_are_wrong_usage() -> None:
    assert bare("dance").returncode == 2
    assert bare("run", "--role", "king").returncode == 2


def test_a_tenant_is_added_once(db: Database) -> None:
    first, again = command(db.url, "tenant", "add", "volt"), command(db.url, "tenant", "add", "volt")

    assert first.returncode == again.returncode == 0
    assert first.stdout == again.stdout


def test_enqueue_and_once_run_a_job(db: Database) -> None:
    command(db.url, "tenant", "add", "volt")
    queued = command(
        db.url, "enqueue", "RUN_COMMAND", "--tenant", "volt", "--priority", "high", "--key", "k",
        "--payload", '{"command": "hi", "args": ["there"]}',
    )  # fmt: skip
    assert queued.returncode == 0, queued.stderr
    ran = command(db.url, "once", BPC_COMMANDS='{"hi": {"argv": ["/bin/echo"], "args": ["[a-z]+"]}}')
    row = db.job(queued.stdout.strip())

    assert ran.returncode == 0, ran.stderr
    assert (row["status"], row["priority"], row["idempotency_key"]) == ("SUCCEEDED", 1, "k")
    assert row["result"] == {"exit_code": 0, "answer": None, "stdout": "there\n", "stderr": ""}
    assert row["spec_hash"] is not None
    db.check_history()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["RUN_COMMAND", "--tenant", "nobody", "--payload", '{"command": "x"}'], 3, "tenant add"),
        (["RUN_COMMAND", "--tenant", "acme", "--payload", "{"], 2, "not JSON"),
        (["RUN_COMMAND", "--tenant", "acme", "--payload", '{"comand": "x"}'], 2, "comand"),
        (["RUN_COMMAND", "--tenant", "acme", "--payload", "@/no/file"], 2, "/no/file"),
        (
            ["RUN_COMMAND", "--tenant", "acme", "--payload", '{"command":"x"}', "--priority", "9"],
            2,
            "priority",
        ),
        (["lower case", "--tenant", "acme"], 2, "jobs_type_check"),
    ],
)
def test_a_wrong_enqueue_says_what_is_wrong(db: Database, arguments: list[str], code: int, said: str) -> None:
    db.tenant("acme")
    done = command(db.url, "enqueue", *arguments)

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_that_is_away_is_said_so() -> None:
    done = command(f"postgresql://u@127.0.0.1:{free_port()}/d", "tenant", "add", "volt")

    assert done.returncode == 69
    assert "BPC_DATABASE_URL" in done.stderr


def test_an_empty_database_is_refused_with_the_remedy(db: Database) -> None:
    db.run("DROP TABLE schema_migrations")
    done = command(db.url, "run")

    assert done.returncode == 2
    assert "bpc-worker migrate" in done.stderr


def test_health_asks_the_running_worker(db: Database) -> None:
    port = free_port()
    with worker(db.url, BPC_HTTP_PORT=port) as running:
        running.wait_ready()
        well = command(db.url, "health", "--ready", BPC_HTTP_PORT=port)
    gone = command(db.url, "health", BPC_HTTP_PORT=port)

    assert (well.returncode, gone.returncode) == (0, 1)
    assert '"database": "ok"' in well.stdout


def test_a_port_that_is_taken_is_said_so(db: Database) -> None:
    port = free_port()
    with worker(db.url, BPC_HTTP_PORT=port) as running:
        running.wait_ready()
        second = command(db.url, "run", BPC_HTTP_PORT=port)

    assert second.returncode == 1
    assert "BPC_HTTP_PORT" in second.stderr
