from pathlib import Path

import pytest

from bpc_worker.config import sources as config_layers
from bpc_worker.config.load import load
from tests.support.configuration import file, problem

URL = "postgresql://u:secret@h/db"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no configuration file lies about."""
    monkeypatch.chdir(tmp_path)


def test_an_empty_variable_counts_as_not_given() -> None:
    settings = load(env={"BPC_HTTP_PORT": "", "BPC_DATABASE_URL_FILE": "", "BPC_CONFIG": ""})

    assert set(settings.sources.values()) == {"default"}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("BPC_JOBS_LEASE_SECOND", "; did you mean BPC_JOBS_LEASE_SECONDS?"),
        ("BPC_DATABSE_URL_FILE", "; did you mean BPC_DATABASE_URL_FILE?"),
        ("BPC_HTTP_PORT_FILE", "; did you mean BPC_HTTP_PORT?"),
        ("BPC_QQQ", ""),
    ],
)
def test_an_unknown_variable_is_an_error_that_does_not_show_its_value(name: str, hint: str) -> None:
    assert problem({name: "secret"}) == f"env:{name}: unknown variable{hint}"


def test_variables_of_tests_of_others_and_of_kubernetes_are_ignored() -> None:
    settings = load(
        env={
            "BPC_TEST_DATA": "x",
            "BPC_BENCH_JOBS": "x",
            "HOME": "x",
            "BPC_SERVICE_HOST": "10.0.0.1",
            "BPC_WORKER_SERVICE_PORT_HTTP": "80",
            "BPC_WORKER_PORT": "tcp://10.0.0.1:80",
            "BPC_WORKER_PORT_80_TCP_ADDR": "10.0.0.1",
        }
    )

    assert set(settings.sources.values()) == {"default"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jobs: {lease_second: 1}", "unknown key; did you mean jobs.lease_seconds?"),
        ("lease_seconds: 1", "unknown key; did you mean jobs.lease_seconds?"),
        ("job: {lease_seconds: 60}", "unknown key; did you mean jobs.lease_seconds?"),
        ("qqq:", "unknown key"),
        ("1: 2", "unknown key"),
        ("jobs: 5", "is a section; its keys stand below it"),
    ],
)
def test_an_unknown_key_in_the_file_is_an_error(text: str, expected: str) -> None:
    assert problem(config_path=file(text)).endswith(f" (file:file.yaml): {expected}")


@pytest.mark.parametrize("text", ["", "# nothing\n", "jobs:\nworker: {id: null}", "{}"])
def test_empty_files_sections_and_keys_count_as_not_given(text: str) -> None:
    settings = load(env={}, config_path=file(text), default_worker_id="w")

    assert set(settings.sources.values()) == {"default"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a", "the root must be a mapping"),
        ("just words", "the root must be a mapping"),
        ("worker: {id: a}\nworker: {id: b}", "line 2, column 1: duplicate key 'worker'"),
        ("worker:\n  id: a\n  id: b", "line 3, column 3: duplicate key 'id'"),
        ("worker: {id: a}\nworker.id: b", "worker.id is given twice"),
        ("a: !!python/object:os.system x", "line 1, column 4: could not determine a constructor"),
        ("a: [secret", "line 1, column 11: expected ',' or ']', but got '<stream end>'"),
        ("a: 2026-13-45", "it is not valid YAML"),
        ("a: \x01", "it is not valid YAML"),
        ("a: &a {b: *a}", "it is nested too deeply"),
        ("[" * 1500, "it is nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_without_its_text(text: str, expected: str) -> None:
    found = problem(config_path=file(text))

    assert found.startswith(f"file:file.yaml: {expected}")
    assert "secret" not in found


def test_what_is_merged_in_may_be_overridden() -> None:
    path = file("commands:\n  a: &a {argv: [/a], timeout_seconds: 5}\n  b: {<<: *a, argv: [/b]}\n")
    commands = load(env={}, config_path=path).commands

    assert (commands["b"].argv, commands["b"].timeout_seconds) == (("/b",), 5)


def test_a_file_in_another_encoding_is_an_error() -> None:
    Path("file.yaml").write_bytes(b"worker: {id: \xff}")

    assert problem(config_path="file.yaml") == "file:file.yaml: it is not UTF-8"


def test_the_default_file_is_read_where_it_exists() -> None:
    Path(config_layers.DEFAULT_PATH).write_text("http: {port: 1}", encoding="utf-8")
    settings = load(env={})

    assert settings.http.port == 1
    assert settings.sources["http.port"] == "file:bpc-worker.yaml"


def test_a_file_that_is_named_must_exist() -> None:
    expected = "file:absent.yaml: there is no such file"

    assert problem(config_path="absent.yaml") == expected
    assert problem({"BPC_CONFIG": "absent.yaml"}) == expected


def test_a_folder_is_no_file() -> None:
    assert problem(config_path=".") == "file:.: Is a directory"


def test_the_flag_for_the_file_beats_the_variable() -> None:
    settings = load(env={"BPC_CONFIG": "absent.yaml"}, config_path=file("http: {port: 2}"))

    assert settings.http.port == 2


def test_a_secret_may_stand_in_a_file_of_its_own() -> None:
    Path("url").write_text(f"{URL}\n", encoding="utf-8")
    settings = load(env={"BPC_DATABASE_URL_FILE": "url"})

    assert settings.database.url == URL
    assert settings.sources["database.url"] == "env:BPC_DATABASE_URL_FILE"


def test_a_secret_given_twice_or_in_a_missing_file_is_an_error() -> None:
    both = problem({"BPC_DATABASE_URL": URL, "BPC_DATABASE_URL_FILE": "url"})
    missing = problem({"BPC_DATABASE_URL_FILE": "absent", "BPC_ENV": "prod"})

    assert both == (
        "database.url (env:BPC_DATABASE_URL): is given, and BPC_DATABASE_URL_FILE too; give one of them"
    )
    assert missing == (
        "database.url (env:BPC_DATABASE_URL_FILE): cannot read 'absent': No such file or directory"
    )


def test_a_secret_file_in_another_encoding_is_an_error() -> None:
    Path("url").write_bytes(b"\xff")

    assert "cannot read 'url': it is not UTF-8" in problem({"BPC_QUEUE_URL_FILE": "url"})


def test_an_old_name_is_read_with_a_hint() -> None:
    settings = load(env={"DATABASE_URL": URL, "WORKER_ID": "w"})

    assert settings.database.url == URL
    assert settings.worker.id == "w"
    assert settings.sources["database.url"] == "env:DATABASE_URL"
    assert settings.hints == (
        "DATABASE_URL is an old name of BPC_DATABASE_URL",
        "WORKER_ID is an old name of BPC_WORKER_ID",
    )


def test_an_old_name_is_ignored_beside_the_new_one() -> None:
    settings = load(env={"DATABASE_URL": "mysql://x", "BPC_DATABASE_URL": URL})

    assert settings.database.url == URL
    assert settings.hints == (
        "DATABASE_URL is an old name of BPC_DATABASE_URL, and ignored because of BPC_DATABASE_URL",
    )


def test_an_old_name_may_be_one_in_the_file() -> None:
    settings = load(env={}, config_path=file("worker: {count: 7}"))

    assert settings.worker.concurrency == 7
    assert settings.hints == ("worker.count is an old name of worker.concurrency",)
