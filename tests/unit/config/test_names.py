"""Every name that a setting had elsewhere is read still, in its own unit, with a hint."""

from operator import attrgetter
from pathlib import Path

import pytest

from bpc_worker.config.aliases import ALIASES, DROPPED
from bpc_worker.config.load import load
from bpc_worker.config.settings import KEYS, Settings
from tests.support.configuration import file, problem


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no configuration file lies about."""
    monkeypatch.chdir(tmp_path)


# Old name, what it was set to, and where and what it is here.
VARIABLES = [
    ("DATABASE_URL", "postgresql://u@h/d", "database.url", "postgresql://u@h/d"),
    ("WORKER_ID", "w", "worker.id", "w"),
    ("POLL_INTERVAL", "0.25", "jobs.poll_interval_ms", 250),
    ("POLL_INTERVAL", "100ms", "jobs.poll_interval_ms", 100),
    ("DEFAULT_LEASE_SEC", "300", "jobs.lease_seconds", 300),
    ("QUEUE_VISIBILITY_SEC", "90", "jobs.lease_seconds", 90),
    ("HEARTBEAT_SEC", "15", "jobs.lease_renew_seconds", 15),
    ("JOB_MAX_ATTEMPTS", "3", "jobs.max_attempts_default", 3),
    ("QUEUE_MAX_ATTEMPTS", "4", "jobs.max_attempts_default", 4),
    ("QUEUE_RETRY_BACKOFF_MS_BASE", "500", "jobs.backoff_base", 2),
    ("QUEUE_RETRY_BACKOFF_MS_BASE", "2500", "jobs.backoff_base", 3),
    ("QUEUE_RETRY_BACKOFF_MS_MAX", "60000", "jobs.backoff_max", 60),
    ("REAPER_INTERVAL_SEC", "60", "reaper.interval_seconds", 60),
    ("CLIP_SLA_FACTOR", "4", "reaper.sla_factor", {"*": 6, "CLIP": 4}),
    ("ASR_SLA_FACTOR", "3", "reaper.sla_factor", {"*": 6, "ASR": 3}),
    ("BURNIN_SLA_FACTOR", "2.5", "reaper.sla_factor", {"*": 6, "BURNIN": 2.5}),
]
IN_THE_FILE = [
    ("worker.count", "worker: {count: 7}", "worker.concurrency", 7),
    ("worker.heartbeat_ttl", "worker: {heartbeat_ttl: 2m}", "jobs.lease_seconds", 120),
    ("worker.brpoplpush_timeout", "worker: {brpoplpush_timeout: 2500ms}", "jobs.lease_renew_seconds", 2.5),
    ("brpoplpush_timeout", "brpoplpush_timeout: 5s", "jobs.lease_renew_seconds", 5),
    ("worker.max_retries", "worker: {max_retries: 3}", "jobs.max_attempts_default", 3),
    ("worker.backoff.base", "worker: {backoff: {base: 3s}}", "jobs.backoff_base", 3),
    ("worker.backoff.max", "worker: {backoff: {max: 1m}}", "jobs.backoff_max", 60),
    ("backoff.base", "backoff: {base: 500ms}", "jobs.backoff_base", 2),
    ("backoff.max", "backoff: {max: 90.5}", "jobs.backoff_max", 91),
    ("QUEUE_SETTINGS.max_in_memory", "QUEUE_SETTINGS: {max_in_memory: 10}", "jobs.max_queued", 10),
    ("QUEUE_SETTINGS.warn_depth", "QUEUE_SETTINGS: {warn_depth: 8}", "jobs.warn_depth", 8),
    ("observability.metrics_port", "observability: {metrics_port: 9}", "http.port", 9),
    ("observability.log_level", "observability: {log_level: warn}", "log.level", "warning"),
    (
        "observability.queue_sample_interval",
        "observability: {queue_sample_interval: 5s}",
        "reaper.sample_interval",
        5,
    ),
    (
        "observability.tracing.enabled",
        "observability: {tracing: {enabled: true}}\ntracing: {endpoint: http://h}",
        "tracing.enabled",
        True,
    ),
    (
        "observability.tracing.endpoint",
        "observability: {tracing: {endpoint: http://h:4318}}",
        "tracing.endpoint",
        "http://h:4318",
    ),
    (
        "circuit_breaker.open_cooldown_seconds",
        "circuit_breaker: {open_cooldown_seconds: 12}",
        "circuit_breaker.cooldown_period",
        12,
    ),
    (
        "circuit_breaker.half_open_probe_count",
        "circuit_breaker: {half_open_probe_count: 2}",
        "circuit_breaker.half_open_probes",
        2,
    ),
]


def value(settings: Settings, name: str) -> object:
    found: object = attrgetter(name)(settings)
    return found


@pytest.mark.parametrize(("old", "given", "name", "expected"), VARIABLES)
def test_an_old_variable_is_read_in_its_own_unit(old: str, given: str, name: str, expected: object) -> None:
    settings = load(env={old: given})

    assert value(settings, name) == expected
    assert settings.sources[name] == f"env:{old}"
    [hint] = settings.hints
    assert hint.startswith(f"{old} is an old name of BPC_")


@pytest.mark.parametrize(("old", "text", "name", "expected"), IN_THE_FILE)
def test_an_old_key_of_the_file_is_read_in_its_own_unit(
    old: str, text: str, name: str, expected: object
) -> None:
    settings = load(env={}, config_path=file(text))

    assert value(settings, name) == expected
    assert settings.sources[name] == "file:file.yaml"
    [hint] = settings.hints
    assert hint.startswith(f"{old} is an old name of {name}")


def test_every_old_name_is_tried_here() -> None:
    tried = {row[0] for row in VARIABLES} | {row[0] for row in IN_THE_FILE}

    assert tried == {old.name for aliases in ALIASES.values() for old in aliases}
    assert set(ALIASES) <= {key.name for key in KEYS}


def test_a_hint_tells_what_is_different_today() -> None:
    settings = load(env={"QUEUE_RETRY_BACKOFF_MS_MAX": "1", "POLL_INTERVAL": "1"})

    assert settings.hints == (
        "POLL_INTERVAL is an old name of BPC_JOBS_POLL_INTERVAL_MS (it was in seconds)",
        "QUEUE_RETRY_BACKOFF_MS_MAX is an old name of BPC_JOBS_BACKOFF_MAX (in whole seconds, rounded up)",
    )


def test_factors_of_old_come_together_and_yield_to_the_new_variable() -> None:
    old = {"CLIP_SLA_FACTOR": "4", "ASR_SLA_FACTOR": "3"}
    settings = load(env=old)

    assert settings.reaper.sla_factor == {"*": 6, "CLIP": 4, "ASR": 3}
    assert settings.sources["reaper.sla_factor"] == "env:CLIP_SLA_FACTOR, env:ASR_SLA_FACTOR"
    new = load(env=old | {"BPC_REAPER_SLA_FACTOR": "2"})
    assert new.reaper.sla_factor == {"*": 2}
    assert all("ignored because of BPC_REAPER_SLA_FACTOR" in hint for hint in new.hints)


@pytest.mark.parametrize("given", ["x", "nan", "inf", "-1", "1e999", "99999999"])
def test_a_bad_value_under_an_old_name_is_told_with_both_names(given: str) -> None:
    text = problem({"QUEUE_RETRY_BACKOFF_MS_MAX": given})

    assert text == (
        f"jobs.backoff_max (env:QUEUE_RETRY_BACKOFF_MS_MAX): {given!r} is not allowed; allowed for "
        "jobs.backoff_max, in whole seconds, rounded up: a whole number from 1 to 86400"
    )


@pytest.mark.parametrize("name", DROPPED)
def test_a_name_without_a_successor_is_accepted_and_said_to_be_unused(name: str) -> None:
    settings = load(env={}, config_path=file(f"{name}: {{a: 1, b: [2]}}"))

    assert settings.hints == (f"{name} is not used any more: {DROPPED[name]}",)
    assert set(settings.sources.values()) == {"default"}


def test_a_whole_file_of_old_starts_a_worker() -> None:
    path = file(
        """
redis: {addr: "localhost:6379", password: secret, db: 0}
worker:
  count: 4
  heartbeat_ttl: 30s
  max_retries: 3
  backoff: {base: 2s, max: 60s}
  priorities: [high, low]
  queues: {high: fast, low: slow}
  processing_list_pattern: "worker:%s:processing"
  completed_list: done
  dead_letter_list: dead
  brpoplpush_timeout: 10s
circuit_breaker: {failure_threshold: 0.5, window: 1m, cooldown_period: 30s, min_samples: 20}
observability: {metrics_port: 9090, log_level: info, queue_sample_interval: 2s, tracing: {enabled: false}}
"""
    )
    settings = load(env={}, config_path=path)

    assert (settings.worker.concurrency, settings.worker.queues) == (4, ("fast", "slow"))
    assert (settings.jobs.lease_seconds, settings.jobs.lease_renew_seconds) == (30, 10)
    assert (settings.jobs.backoff_base, settings.jobs.backoff_max) == (2, 60)
    assert (settings.circuit_breaker.window, settings.circuit_breaker.min_samples) == (60, 20)
    assert "secret" not in str(settings.hints)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("worker: {concurency: 7}", "unknown key; did you mean worker.concurrency?"),
        (
            "circuit_breaker: {half_open_probe: 7}",
            "unknown key; did you mean circuit_breaker.half_open_probes?",
        ),
        ("observability: {metric_port: 7}", "unknown key"),
        ("observability: 5", "is a section; its keys stand below it"),
        ("redi: {addr: x}", "unknown key"),
    ],
)
def test_names_that_nobody_ever_had_stay_errors(text: str, expected: str) -> None:
    assert expected in problem(config_path=file(text))


def test_old_variables_are_not_keys_of_the_file_nor_the_other_way_round() -> None:
    assert "unknown key" in problem(config_path=file("DATABASE_URL: postgresql://h/d"))
    assert load(env={"worker.count": "3"}).worker.concurrency == 10
