"""The file's description for editors, its example, and its page in the docs, held against the settings."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from bpc_worker.cli import main
from bpc_worker.config.aliases import DROPPED
from bpc_worker.config.load import load
from bpc_worker.config.schema import example, schema
from bpc_worker.config.settings import KEYS
from tests.support.configuration import file, problems
from tests.support.configuration_table import PAGE, with_tables
from tests.support.json_schema import complaints

_TYPES = {"object", "array", "string", "integer", "number", "boolean"}
_WORDS = {
    "$schema", "title", "type", "properties", "additionalProperties", "description", "default", "deprecated",
    "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "pattern", "enum", "items",
    "minItems", "anyOf", "required", "contentEncoding",
}  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no configuration file lies about."""
    monkeypatch.chdir(tmp_path)


def nodes(node: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Every schema in the schema."""
    yield node
    for word in ("properties", "anyOf", "additionalProperties", "items"):
        below = node.get(word)
        many = list(below.values()) if word == "properties" and isinstance(below, dict) else [below]
        for each in below if isinstance(below, list) else many:
            if isinstance(each, dict):
                yield from nodes(each)


def at(name: str) -> dict[str, object]:
    found: dict[str, object] = schema()
    for part in name.split("."):
        properties = found["properties"]
        assert isinstance(properties, dict)
        found = properties[part]
    return found


def test_the_schema_is_json_of_words_that_the_standard_has() -> None:
    assert json.loads(json.dumps(schema())) == schema()
    for node in nodes(schema()):
        assert set(node) <= _WORDS, node
        assert node.get("type", "object") in _TYPES
        assert set(_list(node.get("required"))) <= set(_dict(node.get("properties")))
        re.compile(str(node.get("pattern", "")))


def _list(value: object) -> list[str]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def test_every_setting_and_every_old_name_has_its_place() -> None:
    for key in KEYS:
        described = at(key.name)
        assert key.env in str(described["description"])
        assert "deprecated" not in described
        assert {"type", "enum", "anyOf"} & set(described), key.name
        for old in key.aliases:
            if not old.is_variable:
                assert at(old.name)["deprecated"] is True
    assert all(at(name)["deprecated"] for name in DROPPED)


def test_sections_allow_nothing_else() -> None:
    sections = [node for node in nodes(schema()) if "properties" in node]

    assert len(sections) > 10
    assert all(node["additionalProperties"] is False for node in sections)


def test_the_schema_shows_no_secret() -> None:
    assert all("default" not in at(key.name) for key in KEYS if key.secret)


def test_the_example_changes_nothing() -> None:
    settings = load(env={}, config_path=file(example()))

    assert set(settings.sources.values()) == {"default"}
    assert settings.hints == ()


def test_the_example_with_its_marks_removed_is_the_defaults() -> None:
    """Whoever removes a # gets a line that is read, with the value that counted before."""
    without_words = re.sub(r"^ *# .* \(BPC_\w+\)$", "", example(), flags=re.MULTILINE)
    plain = re.sub(r"^( *)# (\w+:.*)$", r"\1\2", without_words, flags=re.MULTILINE)
    settings = load(env={}, config_path=file(plain), default_worker_id="w")
    bare = load(env={}, default_worker_id="w")

    read = {name for name, source in settings.sources.items() if source != "default"}
    assert read == {key.name for key in KEYS if key.default is not None}
    assert dataclasses.replace(settings, sources=bare.sources) == bare


GOOD = """
env: prod
database: {url: "postgresql:///d", prepared_statements: false}
jobs: {lease_seconds: 90.5, retention_days: {RUN_COMMAND: 7, "*": 30}}
reaper: {sla_factor: 4, tables: []}
circuit_breaker: {window: 1m30s, cooldown_period: 30, failure_threshold: 1}
rate_limits: {RUN_COMMAND: 5, inbox: {per_second: 1, burst: 3}}
schedules: {nightly: {cron: "0 3 * * *", type: RUN_COMMAND, payload: {a: [1]}}}
commands: {ls: {argv: [/bin/ls], env: {A: b}}}
worker: {count: 3, queues: [a, b], priorities: [high]}
redis: {addr: x}
"""
BAD = [
    "env: production",
    "jobs: {lease_seconds: 1}",
    "jobs: {lease_second: 60}",
    "jobs: {lease_renew_seconds: 0}",
    "jobs: {retention_days: {RUN_COMMAND: -1}}",
    "circuit_breaker: {window: 5x}",
    "http: {port: 70000}",
    "http: {port: '80a'}",
    "health: {require_queue: 5}",
    "worker: {queues: []}",
    "commands: {ls: {timeout_seconds: 5}}",
    "schedules: {a: {cron: '* * * * *', type: A_TYPE, tpye: x}}",
    "database: {url: 'mysql://h'}",
]


def test_an_editor_with_the_schema_and_the_worker_agree_on_what_is_good() -> None:
    assert load(env={}, config_path=file(GOOD)).schedules
    assert complaints(schema(), yaml.safe_load(GOOD)) == []


@pytest.mark.parametrize("text", BAD)
def test_an_editor_with_the_schema_and_the_worker_agree_on_what_is_bad(text: str) -> None:
    assert problems(config_path=file(text))
    assert complaints(schema(), yaml.safe_load(text))


def test_the_commands_print_them() -> None:
    as_schema = CliRunner().invoke(main, ["config", "--schema"])
    as_example = CliRunner().invoke(main, ["config", "--example"])
    as_lines = CliRunner().invoke(main, ["config", "--json"])

    assert json.loads(as_schema.output) == schema()
    assert as_example.output == example()
    assert len([json.loads(line)["key"] for line in as_lines.stdout.splitlines()]) == len(
        load(env={}).sources
    )


def test_the_page_in_the_docs_has_every_setting_and_every_old_name() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == with_tables(page), "run: python -m tests.support.configuration_table"
