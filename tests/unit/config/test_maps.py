"""Settings that are mappings, and those that depend on others."""

import dataclasses
from pathlib import Path

import pytest

from bpc_worker.config.load import describe, load
from bpc_worker.config.maps import Rate, Schedule
from tests.support.configuration import file, problem, problems


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no configuration file lies about."""
    monkeypatch.chdir(tmp_path)


def test_the_settings_for_what_is_off_by_default() -> None:
    settings = load(env={})

    assert (settings.jobs.max_queued, settings.jobs.warn_depth) == (0, 0)
    assert (settings.reaper.sla_factor, settings.reaper.tables) == ({"*": 6}, ())
    assert settings.reaper.sample_interval == 15
    assert (settings.tracing.enabled, settings.tracing.endpoint) == (False, None)
    breaker = settings.circuit_breaker
    assert (breaker.failure_threshold, breaker.window, breaker.cooldown_period) == (0.5, 60, 30)
    assert (breaker.min_samples, breaker.half_open_probes) == (10, 1)
    assert (settings.rate_limits, settings.schedules) == ({}, {})
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.circuit_breaker.window = 1  # type: ignore[misc]


def test_finished_jobs_go_after_ninety_days_unless_told() -> None:
    assert load(env={}).jobs.retention_days == {"*": 90}
    assert load(env={"BPC_JOBS_RETENTION_DAYS": '{"RUN_COMMAND": 7}'}).jobs.retention_days == {
        "*": 90,
        "RUN_COMMAND": 7,
    }
    assert load(env={"BPC_JOBS_RETENTION_DAYS": "0"}).jobs.retention_days == {"*": 0}


def test_postgresqls_bell_is_heard_where_there_is_no_broker_unless_told() -> None:
    broker = {"BPC_QUEUE_URL": "amqp://h"}

    assert load(env={}).notify.enabled is True
    assert load(env=broker).notify.enabled is False
    assert load(env=broker | {"BPC_NOTIFY_ENABLED": "on"}).notify.enabled is True
    assert load(env={"BPC_NOTIFY_ENABLED": "off"}).notify.enabled is False


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("8", {"*": 8}),
        ('{"RUN_COMMAND": 2}', {"*": 6, "RUN_COMMAND": 2}),
        (' {"*": 3, "RUN_COMMAND": 2.5}', {"*": 3, "RUN_COMMAND": 2.5}),
    ],
)
def test_a_number_per_type(given: str, expected: object) -> None:
    assert load(env={"BPC_REAPER_SLA_FACTOR": given}).reaper.sla_factor == expected
    path = file(f"reaper: {{sla_factor: {given}}}")
    assert load(env={}, config_path=path).reaper.sla_factor == expected


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ('{"lower": 2}', "lower: a job type matches ^[A-Z][A-Z0-9_]{2,63}$"),
        ('{"RUN_COMMAND": 0}', "RUN_COMMAND: 0 is not a number from 1 to 1000"),
        ("0.5", "*: '0.5' is not a number from 1 to 1000"),
        ("{", ""),
        ("[]", "*: '[]' is not a number from 1 to 1000"),
    ],
)
def test_a_bad_number_per_type_is_named(given: str, why: str) -> None:
    text = problem({"BPC_REAPER_SLA_FACTOR": given})

    assert text.startswith(f"reaper.sla_factor (env:BPC_REAPER_SLA_FACTOR): {given!r} is not allowed")
    assert why in text


def test_further_tables_are_plain_names() -> None:
    assert load(env={"BPC_REAPER_TABLES": "asr_jobs, other"}).reaper.tables == ("asr_jobs", "other")
    assert "Asr is no plain name" in problem({"BPC_REAPER_TABLES": "Asr"})
    assert "is no plain name" in problem({"BPC_REAPER_TABLES": "jobs; DROP TABLE jobs"})


@pytest.mark.parametrize(("given", "seconds"), [("90", 90), ("1m30s", 90), ("1.5h", 5400), ("1500ms", 1.5)])
def test_durations_have_units(given: str, seconds: float) -> None:
    path = file(f"circuit_breaker: {{cooldown_period: {given}}}")

    assert load(env={}, config_path=path).circuit_breaker.cooldown_period == seconds


@pytest.mark.parametrize("given", ["", "s", "5x", "-5s", "5 s 3", "1e3s", "0", "25h"])
def test_other_words_are_no_durations(given: str) -> None:
    path = file(f"circuit_breaker: {{cooldown_period: '{given}'}}")

    assert "or a duration like 500ms, 30s or 1m30s" in problem(config_path=path)


def test_rates_have_a_speed_and_a_size() -> None:
    path = file("rate_limits: {RUN_COMMAND: 5, DELIVER_WEBHOOK: {per_second: 0.5, burst: 20}, inbox: 0.1}")

    assert load(env={}, config_path=path).rate_limits == {
        "RUN_COMMAND": Rate(per_second=5, burst=5),
        "DELIVER_WEBHOOK": Rate(per_second=0.5, burst=20),
        "inbox": Rate(per_second=0.1, burst=1),
    }
    text = problem({"BPC_RATE_LIMITS": '{"A": 0, "B": {"per_second": 1, "brust": 2}, "C": true}'})
    assert all(part in text for part in ("A: ", "B: ", "brust", "C: "))


def test_schedules_have_cron_type_and_payload() -> None:
    path = file(
        'schedules: {nightly: {cron: "30 3 * * 1-5", type: RUN_COMMAND, tenant: acme, payload: {command: x}}}'
    )
    settings = load(env={}, config_path=path)

    assert settings.schedules == {
        "nightly": Schedule(cron="30 3 * * 1-5", type="RUN_COMMAND", tenant="acme", payload={"command": "x"})
    }
    assert ("schedules", "nightly", "file:file.yaml") in describe(settings)


@pytest.mark.parametrize(
    "cron", ["* * * * *", "*/5 0-6,12 1 1,7 0", "0 0 31 12 7", "5/10 * * * *", "0 0 * JAN,jun mon-Fri"]
)
def test_cron_expressions(cron: str) -> None:
    path = file(f'schedules: {{a: {{cron: "{cron}", type: RUN_COMMAND}}}}')

    assert load(env={}, config_path=path).schedules["a"].cron == cron


@pytest.mark.parametrize(
    ("cron", "why"),
    [
        ("* * * *", "has 4 fields, not five: minute hour day month weekday"),
        ("60 * * * *", "'60' is no minute: numbers 0 to 59"),
        ("* 24 * * *", "'24' is no hour"),
        ("* * 0 * *", "'0' is no day: numbers 1 to 31"),
        ("* * * MON *", "'MON' is no month: numbers 1 to 12, jan to dec"),
        ("* * * * 5-2", "'5-2' is no weekday"),
        ("*/0 * * * *", "'*/0' is no minute"),
        ("1,,2 * * * *", "'' is no minute"),
        ("@daily", "has 1 fields"),
    ],
)
def test_bad_cron_expressions_are_told_by_field(cron: str, why: str) -> None:
    assert why in problem(config_path=file(f'schedules: {{a: {{cron: "{cron}", type: RUN_COMMAND}}}}'))


def test_everything_that_is_wrong_with_schedules_comes_at_once() -> None:
    path = file('schedules: {A: {cron: "* * * * *", type: X}, b: {cron: "* * * * *", type: x}, c: 5}')
    text = problem(config_path=path)

    assert all(part in text for part in ("A: the name must match", "b: a job type matches", "c: "))


def test_a_warning_that_comes_too_late_is_an_error() -> None:
    assert problem({"BPC_JOBS_MAX_QUEUED": "10", "BPC_JOBS_WARN_DEPTH": "10"}) == (
        "jobs.warn_depth (env:BPC_JOBS_WARN_DEPTH): 10 is not below jobs.max_queued "
        "(env:BPC_JOBS_MAX_QUEUED): 10; warn before jobs are refused, or set it to 0"
    )
    assert len(problems({"BPC_JOBS_MAX_QUEUED": "x", "BPC_JOBS_WARN_DEPTH": "10"})) == 1
    assert load(env={"BPC_JOBS_WARN_DEPTH": "10"}).jobs.warn_depth == 10


def test_tracing_needs_to_know_where_to() -> None:
    assert problem({"BPC_TRACING_ENABLED": "on"}) == (
        "tracing.enabled (env:BPC_TRACING_ENABLED): also needs tracing.endpoint (BPC_TRACING_ENDPOINT)"
    )


def test_a_retention_is_told_by_kind_and_everything_else_is_kept() -> None:
    settings = load(env={"BPC_RETENTION_DAYS": '{"documents": 365}'})

    assert settings.retention.days == {"drafts": 0, "documents": 365, "deliveries": 0, "passports": 0}
    assert set(load(env={}).retention.days.values()) == {0}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('{"documents": 29}', "documents: 0, or 30 to 36500"),
        ('{"passports": 3649}', "passports: 0, or 3650 to 36500"),
        ('{"events": 365}', "there are drafts, documents, deliveries, passports"),
        ('{"documents": "long"}', "documents: Expected `int`"),
        ("365", "it is not a mapping"),
    ],
)
def test_a_retention_that_is_too_short_is_refused(value: str, said: str) -> None:
    assert said in problem({"BPC_RETENTION_DAYS": value})
