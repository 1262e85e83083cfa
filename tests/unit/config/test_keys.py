import json
from pathlib import Path

import pytest

from bpc_worker.config.load import load
from bpc_worker.config.settings import KEYS
from bpc_worker.handler_api import Command
from tests.support.configuration import file, problem


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no configuration file lies about."""
    monkeypatch.chdir(tmp_path)


def test_every_key_has_its_own_variable_and_a_word_of_help() -> None:
    variables = [variable for key in KEYS for variable in key.variables]

    assert len(set(variables)) == len(variables)
    assert all(key.env.startswith("BPC_") and key.help and key.kind.allowed for key in KEYS)


BAD_VALUES = [
    ("BPC_ENV", "production", "dev or prod"),
    ("BPC_JOBS_POLL_INTERVAL_MS", "49", "a whole number from 50 to 3600000"),
    ("BPC_JOBS_POLL_INTERVAL_MS", "1e3", "a whole number from 50 to 3600000"),
    ("BPC_JOBS_POLL_INTERVAL_MS", "1" * 5000, "a whole number from 50 to 3600000"),
    ("BPC_JOBS_LEASE_SECONDS", "4.9", "a number from 5 to 86400"),
    ("BPC_JOBS_LEASE_SECONDS", "nan", "a number from 5 to 86400"),
    ("BPC_JOBS_LEASE_SECONDS", "inf", "a number from 5 to 86400"),
    ("BPC_JOBS_LEASE_SECONDS", "1m", "a number from 5 to 86400"),
    ("BPC_JOBS_LEASE_RENEW_SECONDS", "0", "a number above 0 to 86400"),
    ("BPC_DB_PREPARED_STATEMENTS", "maybe", "true or false (also 1/0, yes/no, on/off)"),
    ("BPC_WORKER_QUEUES", "a,,b", "names of 1 to 100 characters"),
    ("BPC_WORKER_QUEUES", "a" * 101, "names of 1 to 100 characters"),
    ("BPC_WORKER_ID", "a\nb", "text of 1 to 200 printable characters"),
    ("BPC_WORKER_ID", "a" * 201, "text of 1 to 200 printable characters"),
    ("BPC_HTTP_PORT", "65536", "a whole number from 0 to 65535"),
    ("BPC_LOG_LEVEL", "loud", "debug or info or warning or error"),
    ("BPC_PRODUCER_SCAN_DIR", "inbox", "the absolute path of a folder"),
    ("BPC_PRODUCER_INCLUDE_GLOBS", "a,,b", "patterns like *.csv"),
    ("BPC_PRODUCER_HIGH_PRIORITY_EXTS", "a,,b", "endings of file names"),
    ("BPC_PRODUCER_DEFAULT_PRIORITY", "urgent", "critical, high, normal or low (or 0 to 3)"),
    ("BPC_PRODUCER_DEFAULT_PRIORITY", "4", "critical, high, normal or low (or 0 to 3)"),
    ("BPC_PRODUCER_RATE_LIMIT_PER_SEC", "-1", "a number from 0 to 1e+06"),
]


@pytest.mark.parametrize(("variable", "value", "allowed"), BAD_VALUES)
def test_a_bad_value_is_refused_with_key_source_value_and_what_is_allowed(
    variable: str, value: str, allowed: str
) -> None:
    [name] = [key.name for key in KEYS if key.env == variable]

    text = problem({variable: value})

    assert text.startswith(f"{name} (env:{variable}): {value!r}"[:100])
    assert f" is not allowed; allowed: {allowed}" in text
    assert len(text) < 300


@pytest.mark.parametrize(
    "text",
    [
        "worker: {concurrency: true}",
        "worker: {concurrency: 1.0}",
        "worker: {concurrency: [1]}",
        "worker: {concurrency: {a: 1}}",
        "worker: {queues: []}",
        "worker: {queues: [1]}",
        "worker: {queues: 5}",
        "worker: {id: 5}",
        "jobs: {lease_seconds: true}",
        "jobs: {lease_seconds: .inf}",
        "jobs: {lease_seconds: 2026-01-01}",
        f"jobs: {{lease_seconds: 1{'0' * 400}}}",
        "health: {require_queue: 1.0}",
        "database: {url: 5}",
    ],
)
def test_values_of_another_type_in_the_file_are_refused(text: str) -> None:
    assert " (file:file.yaml): " in problem(config_path=file(text))


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *[(word, True) for word in ("true", "1", "YES", " on ")],
        *[(word, False) for word in ("false", "0", "No", "off")],
    ],
)
def test_switches_know_the_usual_words(word: str, value: object) -> None:
    assert load(env={"BPC_HEALTH_REQUIRE_QUEUE": word}).health.require_queue is value
    path = file(f"health: {{require_queue: {word}}}")
    assert load(env={}, config_path=path).health.require_queue is value


def test_numbers_choices_and_lists_are_read_generously() -> None:
    settings = load(
        env={
            "BPC_JOBS_LEASE_SECONDS": " 90.5 ",
            "BPC_LOG_LEVEL": "WARNING",
            "BPC_WORKER_QUEUES": "default, slow,default",
        }
    )

    assert settings.jobs.lease_seconds == 90.5
    assert settings.log.level == "warning"
    assert settings.worker.queues == ("default", "slow")


def test_numbers_and_lists_may_come_from_the_file_and_from_flags() -> None:
    path = file("worker: {queues: [a, b]}\njobs: {lease_seconds: 120, poll_interval_ms: '50'}")
    settings = load(env={}, config_path=path, flags={"worker.queues": ("c",), "http.port": 0})

    assert settings.jobs.lease_seconds == 120
    assert settings.jobs.poll_interval_ms == 50
    assert settings.worker.queues == ("c",)
    assert settings.http.port == 0


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        "postgres://h",
        "postgresql://u@h:5432/db?sslmode=require",
        "postgresql://u:p%40@[::1]:5432/db",
        "postgresql://u@%2Frun%2Fpostgresql/db",
        "postgresql://u@h1:1,h2:2/db",
        "postgresql://u:p%25@h:65535/a@b",
    ],
)
def test_database_urls_of_every_form_are_accepted(url: str) -> None:
    assert load(env={"BPC_DATABASE_URL": url}).database.url == url


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:secret@h",
        "secret",
        "host=h password=secret",
        "postgresql://u:secret",
        "postgresql://u:sec@ret@h",
        "postgresql://u:sec/ret@h",
        "postgresql://u:secret@h\n",
        "postgresql://u: secret@h",
        "postgresql://u:secret%7@h",
        "postgresql://u:%secret@h",
        "postgresql://u:secret%00@h",
        "postgresql://h/db?password=secret%7",
        "postgresql://u:12/secret@h",
        "postgresql://u:secret@h:65536",
        "postgresql://u:secret@[h]",
        "amqp://u:secret@h",
    ],
)
def test_a_bad_secret_is_refused_without_being_shown(url: str) -> None:
    text = problem({"BPC_DATABASE_DIRECT_URL": url})

    assert text.startswith("database.direct_url (env:BPC_DATABASE_DIRECT_URL): *** is not allowed")
    assert "postgresql:// or postgres://" in text
    assert "sec" not in text


def test_a_percent_sign_that_means_itself_is_explained() -> None:
    text = problem({"BPC_DATABASE_URL": "postgresql://u:geheim%7@h"})

    assert text.endswith("user and password percent-encoded (a % that means itself is written %25)")
    assert "geheim" not in text


COMMANDS = {
    "pdf-to_text2": {
        "argv": ["/usr/bin/pdftotext", "-"],
        "timeout_seconds": 2.5,
        "env": {"LANG": "C"},
        "cwd": "/tmp",  # noqa: S108 - only a path
        "args": ["[a-z]+", r"\d+"],
        "tenants": ["acme"],
        "network": True,
    },
    "ls": {"argv": ["/bin/ls"], "cwd": None},
}


def test_commands_come_from_the_file_or_as_json_from_the_environment() -> None:
    expected = {
        "pdf-to_text2": Command(
            argv=("/usr/bin/pdftotext", "-"),
            timeout_seconds=2.5,
            env={"LANG": "C"},
            cwd="/tmp",  # noqa: S108 - only a path
            args=("[a-z]+", r"\d+"),
            tenants=("acme",),
            network=True,
        ),
        "ls": Command(argv=("/bin/ls",), timeout_seconds=60, env={}, cwd=None),
    }
    as_json = json.dumps(COMMANDS)

    assert load(env={"BPC_COMMANDS": as_json}).commands == expected
    assert load(env={}, config_path=file(f"commands: {as_json}")).commands == expected


@pytest.mark.parametrize(
    ("name", "entry", "detail"),
    [
        ("Ls", {"argv": ["/bin/ls"]}, "the name must match"),
        ("a" * 65, {"argv": ["/bin/ls"]}, "the name must match"),
        ("ls", {}, "missing required field `argv`"),
        ("ls", {"argv": []}, "`$.argv`"),
        ("ls", {"argv": "/bin/ls"}, "`$.argv`"),
        ("ls", {"argv": ["ls"]}, "argv[0] must be an absolute path"),
        ("ls", {"argv": ["/bin/ls", 1]}, "`$.argv[1]`"),
        ("ls", {"argv": ["/bin/ls\0"]}, "`$.argv[0]`"),
        ("ls", {"argv": ["/bin/ls"], "timeout_seconds": 0}, "`$.timeout_seconds`"),
        ("ls", {"argv": ["/bin/ls"], "timeout_seconds": float("nan")}, "`$.timeout_seconds`"),
        ("ls", {"argv": ["/bin/ls"], "memory_mb": 1}, "`$.memory_mb`"),
        ("ls", {"argv": ["/bin/ls"], "cpu_seconds": 0.5}, "`$.cpu_seconds`"),
        ("ls", {"argv": ["/bin/ls"], "env": {"A": 1}}, "`$.env[...]`"),
        ("ls", {"argv": ["/bin/ls"], "env": {"A=B": "1"}}, "`$.env`"),
        ("ls", {"argv": ["/bin/ls"], "cwd": "here"}, "`$.cwd`"),
        ("ls", {"argv": ["/bin/ls"], "shell": True}, "unknown field `shell`"),
        ("ls", {"argv": ["/bin/ls"], "trusted": True}, "unknown field `trusted`"),
        ("ls", {"argv": ["/bin/ls"], "args": ["[a-"]}, "args[0] is no regular expression"),
        ("ls", {"argv": ["/bin/ls"], "args": ".*"}, "`$.args`"),
        ("ls", {"argv": ["/bin/ls"], "tenants": []}, "`$.tenants`"),
        ("ls", {"argv": ["/bin/ls"], "network": "yes"}, "`$.network`"),
        ("ls", ["/bin/ls"], "Expected `object`, got `array`"),
    ],
)
def test_a_bad_command_is_refused_with_its_place(name: str, entry: object, detail: str) -> None:
    text = problem(flags={"commands": {name: entry}})

    assert text.startswith("commands (flag): *** is not allowed; allowed: a mapping")
    assert f"({name}: " in text
    assert detail in text


@pytest.mark.parametrize("more", [{"args": [".*"]}, {"tenants": ["acme"]}, {"network": True}])
def test_a_signing_command_is_nobody_s_to_call_and_has_the_worker_s_rights(more: dict[str, object]) -> None:
    assert problem(flags={"signing.command": {"argv": ["/bin/sign"], **more}}).startswith("signing.command")


def test_all_bad_commands_are_named() -> None:
    text = problem({"BPC_COMMANDS": '{"a": {}, "B": {"argv": ["/b"]}, "c": {"argv": ["/c"]}}'})

    assert text.endswith(
        "(a: Object missing required field `argv`; B: the name must match ^[a-z][a-z0-9_-]{0,63}$)"
    )


@pytest.mark.parametrize("value", ["{", "[]", "5", "[" * 100_000, '{"a": {}} x'])
def test_commands_must_be_a_mapping(value: str) -> None:
    assert problem({"BPC_COMMANDS": value}).startswith("commands (env:BPC_COMMANDS): ***")


def test_an_inbox_is_configured_in_the_words_of_people() -> None:
    settings = load(
        env={
            "BPC_PRODUCER_SCAN_DIR": "/srv/inbox",
            "BPC_PRODUCER_HIGH_PRIORITY_EXTS": "json, .CSV",
            "BPC_PRODUCER_DEFAULT_PRIORITY": "3",
        }
    ).producer

    assert settings.scan_dir == "/srv/inbox"
    assert settings.high_priority_exts == (".json", ".csv")
    assert settings.default_priority == "low"
    assert settings.include_globs == ("*",)


def test_nothing_need_be_excluded() -> None:
    path = file("producer: {exclude_globs: [], scan_dir: /srv/inbox}")

    assert load(env={}, config_path=path).producer.exclude_globs == ()
