import dataclasses
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from bpc_worker.config import kinds as config_kinds
from bpc_worker.config.load import describe, load
from bpc_worker.config.settings import KEYS
from tests.support.configuration import file, problem, problems

URL = "postgresql://u:secret@h/db"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no configuration file lies about."""
    monkeypatch.chdir(tmp_path)


def test_without_anything_the_defaults_count() -> None:
    settings = load(env={}, default_worker_id="host-1")

    assert settings.env == "dev"
    assert settings.database.url is None
    assert settings.database.direct_url is None
    assert settings.database.migrate_url is None
    assert settings.database.prepared_statements is True
    assert settings.database.handler_connections == 4
    assert settings.database.statement_timeout_seconds == 30
    assert settings.queue.enabled is False
    assert settings.queue.url is None
    assert (settings.queue.exchange, settings.queue.routing_key) == ("bpc", "jobs.trigger")
    assert settings.jobs.poll_interval_ms == 1000
    assert settings.jobs.lease_seconds == 60
    assert settings.jobs.lease_renew_seconds == 30
    assert settings.jobs.max_attempts_default == 5
    assert (settings.jobs.backoff_base, settings.jobs.backoff_max) == (2, 1024)
    assert settings.worker.id == "host-1"
    assert (settings.worker.concurrency, settings.worker.processes) == (10, 2)
    assert settings.worker.queues == ("default",)
    assert settings.worker.job_timeout_seconds == 300
    assert settings.worker.shutdown_grace_seconds == 25
    assert (settings.worker.child_memory_mb, settings.worker.child_cpu_seconds) == (1024, 300)
    assert settings.worker.child_idle_seconds == 2
    assert settings.reaper.interval_seconds == 15
    assert (settings.http.host, settings.http.port) == ("127.0.0.1", 8080)
    assert settings.health.require_queue is False
    assert (settings.log.level, settings.log.format) == ("info", "auto")
    assert settings.data_dir is None
    assert settings.commands == {}
    assert settings.hints == ()
    assert set(settings.sources.values()) == {"default"}


def test_every_key_but_the_parts_of_the_url_is_an_attribute_and_described() -> None:
    parts = {key.name for key in KEYS if key.part}

    assert [row[0] for row in describe(load(env={}))] == [key.name for key in KEYS if key.name not in parts]


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("BPC_DB_PREPARED_STATEMENTS", "database.prepared_statements"),
        ("BPC_DB_HANDLER_CONNECTIONS", "database.handler_connections"),
        ("BPC_DB_STATEMENT_TIMEOUT_SECONDS", "database.statement_timeout_seconds"),
        ("BPC_JOBS_MAX_ATTEMPTS_DEFAULT", "jobs.max_attempts_default"),
        ("BPC_WORKER_CHILD_MEMORY_MB", "worker.child_memory_mb"),
        ("BPC_SHUTDOWN_GRACE_SECONDS", "worker.shutdown_grace_seconds"),
        ("BPC_REAPER_INTERVAL_SECONDS", "reaper.interval_seconds"),
        ("BPC_HTTP_PORT", "http.port"),
        ("BPC_HEALTH_REQUIRE_QUEUE", "health.require_queue"),
    ],
)
def test_variables_have_the_documented_names(variable: str, name: str) -> None:
    settings = load(env={variable: "1" if variable != "BPC_WORKER_CHILD_MEMORY_MB" else "128"})

    assert settings.sources[name] == f"env:{variable}"


def test_flags_beat_the_environment_which_beats_the_file_which_beats_the_defaults() -> None:
    path = file("worker: {concurrency: 1, processes: 11, id: file}\nhttp.port: 1")
    settings = load(
        env={"BPC_WORKER_CONCURRENCY": "2", "BPC_WORKER_PROCESSES": "12"},
        flags={"worker.concurrency": 3, "log.level": None},
        config_path=path,
        default_worker_id="default",
    )

    assert settings.worker.concurrency == 3
    assert settings.worker.processes == 12
    assert settings.worker.id == "file"
    assert settings.sources["worker.concurrency"] == "flag"
    assert settings.sources["worker.processes"] == "env:BPC_WORKER_PROCESSES"
    assert settings.sources["worker.id"] == "file:file.yaml"
    assert settings.sources["log.level"] == "default"


def test_settings_are_frozen_and_do_not_print_secrets() -> None:
    settings = load(env={"BPC_DATABASE_URL": URL, "BPC_QUEUE_URL": "amqp://u:secret@h"})

    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.jobs.lease_seconds = 1  # type: ignore[misc]
    assert "secret" not in repr(settings)


def test_all_errors_come_at_once() -> None:
    path = file("worker: {concurrency: 0, procesess: 3}\njobs: {lease_seconds: 1}")
    found = problems(
        {"BPC_HTTP_PORT": "x", "BPC_NONSENSE": "1", "BPC_WORKER_CONCURRENCY": "-1"},
        flags={"log.level": "loud", "log.lvl": "info"},
        config_path=path,
    )

    assert [text.partition(":")[0] for text in found] == [
        "jobs.lease_seconds (file",
        "worker.concurrency (file",
        "worker.procesess (file",
        "worker.concurrency (env",
        "http.port (env",
        "env",
        "log.level (flag)",
        "log.lvl (flag)",
    ]


def test_the_parts_of_a_database_url_are_composed() -> None:
    parts = {"BPC_DB_HOST": "h", "BPC_DB_USER": "u", "BPC_DB_NAME": "db"}
    more = {"BPC_DB_PORT": "5433", "BPC_DB_PASSWORD": "p", "BPC_DB_SSLMODE": "require"}
    settings = load(env=parts)

    assert settings.database.url == "postgresql://u@h/db"
    assert settings.sources["database.url"] == "env:BPC_DB_HOST, env:BPC_DB_USER, env:BPC_DB_NAME"
    assert "database.password" not in settings.sources
    assert load(env=parts | more).database.url == "postgresql://u:p@h:5433/db?sslmode=require"


def test_parts_are_quoted() -> None:
    password = "a@b:c/d?e#f%g h'ü"
    env = {
        "BPC_DB_HOST": "h",
        "BPC_DB_USER": "u@v:w",
        "BPC_DB_PASSWORD": password,
        "BPC_DB_NAME": "my/db?x",
    }
    settings = load(env=env)

    url = urlsplit(settings.database.url or "")
    assert unquote(url.username or "") == "u@v:w"
    assert unquote(url.password or "") == password
    assert url.hostname == "h"
    assert unquote(url.path) == "/my/db?x"
    assert config_kinds.url("postgresql").parse(settings.database.url) == settings.database.url
    assert dict(row[:2] for row in describe(settings))["database.url"] == (
        "postgresql://u%40v%3Aw:***@h/my%2Fdb%3Fx"
    )


@pytest.mark.parametrize(("host", "place"), [("::1", "[::1]"), ("/run/postgresql", "%2Frun%2Fpostgresql")])
def test_addresses_and_socket_folders_have_their_own_spelling(host: str, place: str) -> None:
    env = {"BPC_DB_HOST": host, "BPC_DB_USER": "u", "BPC_DB_NAME": "db", "BPC_DB_PORT": "1"}

    assert load(env=env).database.url == f"postgresql://u@{place}:1/db"


def test_parts_need_host_user_and_name() -> None:
    assert problem({"BPC_DB_PORT": "1", "BPC_DB_USER": "u"}) == (
        "database.port (env:BPC_DB_PORT), database.user (env:BPC_DB_USER): "
        "also needs database.host (BPC_DB_HOST), database.name (BPC_DB_NAME)"
    )


def test_url_and_parts_together_are_an_error() -> None:
    path = file("database: {host: h}")

    assert problem({"BPC_DATABASE_URL": URL}, config_path=path) == (
        "database.url (env:BPC_DATABASE_URL) and database.host (file:file.yaml): "
        "give either the URL or its parts"
    )


def test_a_bad_part_is_one_problem_and_not_two() -> None:
    env = {"BPC_DB_HOST": "h", "BPC_DB_USER": "u", "BPC_DB_NAME": "\n", "BPC_ENV": "prod"}

    assert problem(env).startswith("database.name (env:BPC_DB_NAME): ")


def test_production_needs_a_database() -> None:
    text = problem({"BPC_ENV": "prod"})

    assert "the embedded PostgreSQL is for development" in text
    for variable in ("BPC_DATABASE_URL", "BPC_DB_HOST", "BPC_DB_USER", "BPC_DB_NAME"):
        assert variable in text
    assert load(env={"BPC_ENV": "prod", "BPC_DATABASE_URL": "postgresql:///d"}).env == "prod"


def test_the_queue_is_on_when_it_has_a_url_unless_told() -> None:
    url = {"BPC_QUEUE_URL": "amqps://u:p@h/v"}

    assert load(env=url).queue.enabled is True
    assert load(env=url | {"BPC_QUEUE_ENABLED": "off"}).queue.enabled is False
    assert load(env={"BPC_QUEUE_ENABLED": "off"}).queue.enabled is False


def test_the_queue_cannot_be_on_without_a_url() -> None:
    assert problem({"BPC_QUEUE_ENABLED": "on"}) == (
        "queue.enabled (env:BPC_QUEUE_ENABLED): needs queue.url (BPC_QUEUE_URL)"
    )
    assert problem({"BPC_QUEUE_ENABLED": "on", "BPC_QUEUE_URL": "http://h"}).startswith("queue.url")


def test_renewals_must_fit_twice_into_a_lease() -> None:
    assert problem({"BPC_JOBS_LEASE_SECONDS": "59"}) == (
        "jobs.lease_renew_seconds (default): 30 is more than half of "
        "jobs.lease_seconds (env:BPC_JOBS_LEASE_SECONDS): 59"
    )
    assert problem({"BPC_JOBS_LEASE_SECONDS": "x", "BPC_JOBS_LEASE_RENEW_SECONDS": "50"}).startswith(
        "jobs.lease_seconds (env:BPC_JOBS_LEASE_SECONDS): 'x' is not allowed"
    )
    half = load(env={"BPC_JOBS_LEASE_SECONDS": "5", "BPC_JOBS_LEASE_RENEW_SECONDS": "2.5"})
    assert half.jobs.lease_renew_seconds == 2.5


def test_the_description_shows_values_and_sources_and_masks_passwords() -> None:
    settings = load(
        env={
            "BPC_DATABASE_URL": "postgresql://u:secret@h/db?sslpassword=secret",
            "BPC_QUEUE_URL": "amqp://u:secret@h",
            "BPC_WORKER_QUEUES": "a,b",
            "BPC_COMMANDS": '{"ls": {"argv": ["/bin/ls"], "env": {"TOKEN": "secret"}}}',
        },
        flags={"jobs.lease_seconds": 90.5},
    )

    rows = describe(settings)
    assert "secret" not in str(rows)
    assert (
        "database.url",
        "postgresql://u:***@h/db?sslpassword=***",
        "env:BPC_DATABASE_URL",
    ) in rows
    assert ("queue.url", "amqp://u:***@h", "env:BPC_QUEUE_URL") in rows
    assert ("queue.enabled", "true", "default") in rows
    assert ("worker.queues", "a, b", "env:BPC_WORKER_QUEUES") in rows
    assert ("commands", "ls", "env:BPC_COMMANDS") in rows
    assert ("jobs.lease_seconds", "90.5", "flag") in rows
    assert ("reaper.interval_seconds", "15", "default") in rows
    assert ("data_dir", "", "default") in rows
