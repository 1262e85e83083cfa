"""Every name of the programs that this one follows: what it is called here, and the test that shows it.

One row per row of the table of names in the contract.
"""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest

from bpc_worker.config.load import load
from bpc_worker.doctor.catalogue import expected
from bpc_worker.engine.health import Health
from bpc_worker.engine.maintenance import reaper as reaper_module
from bpc_worker.engine.maintenance.reaper import Reaper
from bpc_worker.jobs.model import JobId, Priority, Status
from bpc_worker.jobs.store import JobStore, Reaped
from bpc_worker.observability.log import ALLOWED
from bpc_worker.observability.metrics import Metrics
from bpc_worker.pipeline.tenants import priority_from
from bpc_worker.postgres.queue import store
from tests.support.configuration import file, problem

TESTS = Path(__file__).parents[1]
HERE = "unit/test_names.py"
OLD = "unit/config/test_names.py::test_an_old_variable_is_read_in_its_own_unit"
OLD_KEY = "unit/config/test_names.py::test_an_old_key_of_the_file_is_read_in_its_own_unit"
DROPPED = "unit/config/test_names.py::test_a_name_without_a_successor_is_accepted_and_said_to_be_unused"


@dataclass(frozen=True, slots=True)
class Row:
    """Names of a predecessor (by its number), and the tests of what became of them."""

    of: str
    names: str
    tests: tuple[str, ...]


ROWS = (
    Row("003", "BPC_QUEUE_ENABLED URL EXCHANGE ROUTING_KEY", (f"{HERE}::test_003_queue",)),
    Row("003", "BPC_JOBS_POLL_INTERVAL_MS LEASE_SECONDS LEASE_RENEW_SECONDS", (f"{HERE}::test_003_timing",)),
    Row("003", "BPC_JOBS_MAX_ATTEMPTS_DEFAULT", (f"{HERE}::test_003_max_attempts",)),
    Row(
        "003",
        "BPC_HEALTH_REQUIRE_QUEUE, /v1/health/ready",
        (
            "unit/config/test_settings.py::test_variables_have_the_documented_names",
            (
                "acceptance/test_broker.py::"
                "test_a_broker_that_comes_later_and_goes_again_is_heard_whenever_it_is_there"
            ),
        ),
    ),
    Row("003", "BPC_WORKER_ID", (f"{HERE}::test_003_worker_id",)),
    Row(
        "003",
        "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64, BPC_SIGNING_KEY_ID, BPC_COMPILER_BUILD_ID",
        (
            "unit/config/test_pipeline.py::test_keys_come_as_base64_from_the_environment",
            "unit/config/test_pipeline.py::test_a_build_id_that_the_core_does_not_know_is_refused",
        ),
    ),
    Row(
        "003",
        "QR code: size, characters, black on white",
        (
            (
                "unit/domain/test_qr_image.py::"
                "test_the_png_of_a_passport_has_one_bit_a_pixel_and_is_650_wide_at_300_dpi"
            ),
            "unit/domain/test_qr_image.py::test_a_text_beyond_version_40_is_refused",
        ),
    ),
    Row("003", "event_id", ("integration/test_immutability.py::test_an_events_id_is_nobodys_to_choose",)),
    Row(
        "003",
        "valid status transitions",
        (
            "acceptance/test_operators.py::test_what_has_ended_well_cannot_be_resurrected",
            "integration/test_immutability.py::test_status_goes_along_its_edges_only",
        ),
    ),
    Row("000", "worker.count", (OLD_KEY,)),
    Row(
        "000",
        "worker.heartbeat_ttl, brpoplpush_timeout",
        (OLD_KEY, "unit/config/test_settings.py::test_renewals_must_fit_twice_into_a_lease"),
    ),
    Row("000", "worker.max_retries, backoff: {base, max}", (OLD_KEY,)),
    Row("000", "worker.priorities, worker.queues", (f"{HERE}::test_000_priorities_and_queues", DROPPED)),
    Row(
        "000",
        "redis:, list and key patterns",
        (DROPPED, "unit/config/test_names.py::test_a_whole_file_of_old_starts_a_worker"),
    ),
    Row(
        "000",
        "producer.*",
        (
            "unit/config/test_keys.py::test_an_inbox_is_configured_in_the_words_of_people",
            "unit/config/test_keys.py::test_nothing_need_be_excluded",
            (
                "unit/inbox/test_layout.py::"
                "test_patterns_without_a_slash_are_about_the_name_others_about_the_place"
            ),
            "acceptance/test_inbox.py::test_what_is_configured_and_declared_is_in_the_job",
            "acceptance/test_inbox.py::test_several_producers_share_one_rate",
        ),
    ),
    Row(
        "000",
        "circuit_breaker: {failure_threshold window cooldown_period min_samples}",
        (
            "unit/config/test_maps.py::test_the_settings_for_what_is_off_by_default",
            "unit/egress/test_breaker.py::test_it_opens_by_the_share_of_failures_and_not_before_there_are_enough",
            "acceptance/test_explain.py::test_its_target_has_failed_too_often",
        ),
    ),
    Row("000", "observability: {metrics_port log_level queue_sample_interval tracing}", (OLD_KEY,)),
    Row(
        "000",
        "--role, --config, a missing file",
        (
            "acceptance/test_commands.py::test_unknown_commands_and_roles_are_wrong_usage",
            "acceptance/test_commands.py::test_a_config_file_that_is_named_must_exist",
            "unit/config/test_sources.py::test_the_default_file_is_read_where_it_exists",
        ),
    ),
    Row("000", "job id filepath filesize priority retries creation_time", (f"{HERE}::test_000_job_columns",)),
    Row(
        "000",
        "metrics jobs_consumed_total …",
        (
            f"{HERE}::test_000_metrics",
            "unit/observability/test_metrics.py::test_every_name_of_the_contract_is_there_with_its_labels",
        ),
    ),
    Row(
        "000",
        "reaper: pages, passes, pauses",
        (
            f"{HERE}::test_000_reaper",
            "contract/test_bringing_back.py::test_the_reaper_brings_back_what_expired_and_nothing_else",
        ),
    ),
    Row(
        "000",
        "log keys, span tags",
        (
            f"{HERE}::test_000_log_keys",
            "unit/observability/test_tracing.py::test_a_span_has_the_queue_the_id_and_the_outcome_and_of_an_error_its_code_only",
            "unit/observability/test_log.py::test_strictness_turns_an_unknown_key_into_an_error_at_the_caller",
        ),
    ),
    Row("001", "QUEUE_SETTINGS.priorities max_in_memory warn_depth", (OLD_KEY, DROPPED)),
    Row(
        "001",
        "_ready_heap _scheduled_heap snapshot() purge() LAST_EXCEPTIONS",
        (
            "unit/memory/test_store.py::test_a_snapshot_counts_what_waits_and_what_runs",
            "unit/memory/test_store.py::test_what_is_purged_was_never_there_but_what_runs_goes_on",
            "unit/memory/test_store.py::test_the_last_hundred_failures_are_remembered",
            "unit/memory/test_store.py::test_a_long_queue_of_retries_stays_in_order",
        ),
    ),
    Row(
        "001",
        "breaker open_cooldown_seconds, half_open_probe_count",
        (OLD_KEY, "unit/egress/test_breaker.py::test_after_the_cooldown_one_call_decides"),
    ),
    Row("001", "metrics queue_depth dequeue_latency_histogram …", (f"{HERE}::test_001_metrics",)),
    Row("002", "locked_by … next_earliest_run_at expected_duration_ms", (f"{HERE}::test_002_job_columns",)),
    Row("002", "REAPER_INTERVAL_SEC … QUEUE_RETRY_BACKOFF_MS_MAX", (OLD, f"{HERE}::test_002_defaults")),
    Row(
        "002",
        "CLIP_SLA_FACTOR ASR_SLA_FACTOR BURNIN_SLA_FACTOR",
        (
            OLD,
            "unit/config/test_names.py::test_factors_of_old_come_together_and_yield_to_the_new_variable",
            "integration/test_operator.py::test_overdue_is_what_the_settings_say",
        ),
    ),
    Row(
        "002",
        "reaper:requeued, reaper:failed(timeout)",
        ("contract/test_bringing_back.py::test_a_job_that_kills_every_holder_is_a_dead_letter",),
    ),
    Row(
        "002",
        "reaper.requeues reaper.failures reaper.scan_duration_ms",
        (f"{HERE}::test_002_reaper_metrics",),
    ),
    Row(
        "002",
        "transient errors, ServiceResult, claimJob heartbeatJob finishJob",
        (
            "unit/engine/test_attempt.py::test_an_exception_becomes_one_outcome",
            "integration/postgres/queue/test_store.py::test_a_renewal_knows_lost_settled_and_locked_apart",
        ),
    ),
    Row(
        "002",
        "tables jobs, asr_jobs",
        (
            "unit/config/test_maps.py::test_further_tables_are_plain_names",
            "integration/postgres/queue/test_lease_tables.py::test_only_plain_names_are_taken",
            (
                "integration/postgres/queue/test_lease_tables.py::test_what_a_dead_worker_left_is_queued_again_or_given_up"
            ),
            "acceptance/test_doctor.py::test_a_further_table_that_cannot_be_reaped",
        ),
    ),
    Row("004", "DATABASE_URL WORKER_ID POLL_INTERVAL", (OLD,)),
    Row("004", "task_runs, its statuses and columns", (f"{HERE}::test_004_task_runs",)),
    Row(
        "004",
        "spec_hash, index, replay",
        (
            "acceptance/test_results.py::test_the_hash_of_what_was_asked_for_is_filled_in",
            "integration/test_operator.py::test_a_replay_is_the_same_work_as_a_new_job",
            f"{HERE}::test_004_spec_hash_has_an_index",
        ),
    ),
    Row(
        "004",
        "executor: command, payload, stdout, stderr, exit code",
        (
            "integration/test_run_command.py::test_json_goes_in_and_comes_out",
            "integration/test_run_command.py::test_output_is_capped_and_cleaned",
        ),
    ),
    Row("004", "PostgreSQL 13+", ("unit/doctor/test_doctor.py::test_old_servers",)),
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no configuration file lies about."""
    monkeypatch.chdir(tmp_path)


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.of} {row.names}")
def test_every_row_has_a_test_that_exists(row: Row) -> None:
    assert row.tests
    for test in row.tests:
        path, _, name = test.partition("::")
        assert name in functions(TESTS / path), test


def test_every_row_of_the_table_is_here() -> None:
    assert {of: sum(row.of == of for row in ROWS) for of in ("000", "001", "002", "003", "004")} == {
        "000": 13, "001": 4, "002": 7, "003": 9, "004": 5,
    }  # fmt: skip


def columns(table: str) -> set[str]:
    return {
        thing.name.removeprefix(f"{table}.")
        for thing in expected()
        if thing.part_of == table and thing.kind == "column"
    }


def test_003_queue() -> None:
    given = {
        "BPC_QUEUE_URL": "amqp://h",
        "BPC_QUEUE_EXCHANGE": "e",
        "BPC_QUEUE_ROUTING_KEY": "r",
    }

    queue = load(env=given).queue
    assert (queue.enabled, queue.url, queue.exchange, queue.routing_key) == (True, "amqp://h", "e", "r")
    assert load(env=given | {"BPC_QUEUE_ENABLED": "false"}).queue.enabled is False
    assert load(env={}).queue.enabled is False


def test_003_timing() -> None:
    jobs = load(env={}).jobs
    assert (jobs.poll_interval_ms, jobs.lease_seconds, jobs.lease_renew_seconds) == (1000, 60, 30)

    given = {
        "BPC_JOBS_POLL_INTERVAL_MS": "200",
        "BPC_JOBS_LEASE_SECONDS": "20",
        "BPC_JOBS_LEASE_RENEW_SECONDS": "5",
    }
    jobs = load(env=given).jobs
    assert (jobs.poll_interval_ms, jobs.lease_seconds, jobs.lease_renew_seconds) == (200, 20, 5)


def test_003_max_attempts() -> None:
    assert load(env={}).jobs.max_attempts_default == 5
    assert load(env={"BPC_JOBS_MAX_ATTEMPTS_DEFAULT": "3"}).jobs.max_attempts_default == 3


def test_003_worker_id() -> None:
    assert load(env={}, default_worker_id="host-17").worker.id == "host-17"
    assert load(env={"BPC_WORKER_ID": "w"}, default_worker_id="host-17").worker.id == "w"


def test_000_priorities_and_queues() -> None:
    labels = {"critical": 0, "high": 1, "normal": 2, "low": 3}
    assert {label: priority_from(label) for label in labels} == labels
    assert [priority_from(str(number)) for number in range(4)] == list(Priority)

    queues = load(env={}, config_path=file("worker: {queues: {high: fast, low: slow}}")).worker.queues
    assert queues == ("fast", "slow")


def test_000_job_columns() -> None:
    assert {"job_id", "priority", "attempts", "created_at", "traceparent", "queue", "payload"} <= columns(
        "jobs"
    )
    assert not {"id", "retries", "creation_time", "origin_queue", "filepath"} & columns("jobs")


def metric_names() -> set[str]:
    names = set()
    for family in Metrics().registry.collect():
        names.add(f"{family.name}_total" if family.type == "counter" else family.name)
    return names


def test_000_metrics() -> None:
    """The names of old are not there beside them."""
    kept = ("produced", "acquired", "completed", "failed", "retried", "dead_letter")
    found = metric_names()

    assert {f"bpc_jobs_{each}_total" for each in kept} <= found
    assert {"bpc_job_duration_seconds", "bpc_queue_length", "bpc_circuit_breaker_state"} <= found
    assert not {"bpc_jobs_consumed_total", "bpc_job_processing_duration_seconds"} & found


def test_001_metrics() -> None:
    here = {"queue_length", "job_wait_seconds", "job_duration_seconds", "jobs_failed_total"}
    old = {"queue_depth", "dequeue_latency_histogram", "job_failures_total", "breaker_state_gauge"}
    found = {name.removeprefix("bpc_") for name in metric_names()}

    assert here | {"circuit_breaker_state"} <= found
    assert not old & found


async def test_000_reaper() -> None:
    """Pages of a hundred at most, a pause of ± 50 % after each, and a pass of about 200 ms."""
    pauses: list[float] = []

    class Store:
        pages = 3

        async def reap(self, *, ended_for: float = 0.0) -> list[Reaped]:  # noqa: ARG002 - it has its page
            self.pages -= 1
            job = Reaped(JobId(UUID(int=1)), "RUN_COMMAND", "default", Status.QUEUED, "w", 1)
            return [job] if self.pages else []

    def spread(seconds: float, by: float) -> float:
        pauses.append(by)
        return seconds * 0

    reaper = Reaper(cast("JobStore", Store()), Health(), Metrics(), interval_seconds=15, spread=spread)

    assert await reaper.sweep() == 2
    assert pauses == [0.5, 0.5]
    assert reaper_module._PASS_SECONDS == 0.2
    assert store.REAP_PAGE == 100


def test_000_log_keys() -> None:
    assert {"job_id", "queue", "outcome", "trace_id", "span_id", "worker_id"} <= set(ALLOWED)


def test_002_job_columns() -> None:
    here = {
        "lease_owner", "lease_expires_at", "last_heartbeat_at", "attempts", "max_attempts", "fail_code",
        "fail_reason", "stage", "scheduled_at", "expected_duration_ms",
    }  # fmt: skip

    assert here <= columns("jobs")
    assert not {"locked_by", "attempt_count", "next_earliest_run_at"} & columns("jobs")


def test_002_defaults() -> None:
    settings = load(env={})

    assert settings.reaper.interval_seconds == 15
    assert (settings.jobs.backoff_base, settings.jobs.backoff_max) == (2, 1024)
    assert "more than half" in problem({"DEFAULT_LEASE_SEC": "20", "HEARTBEAT_SEC": "15"})


def test_002_reaper_metrics() -> None:
    found = metric_names()

    assert {"bpc_reaper_jobs_moved_total", "bpc_reaper_scan_duration_seconds"} <= found


def test_004_task_runs() -> None:
    assert {*Status} == {"QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "DEAD_LETTER"}
    assert {"scheduled_at", "lease_expires_at", "lease_owner", "result", "last_error", "queue"} <= columns(
        "jobs"
    )
    assert "finished_at" in columns("jobs")
    assert not {"run_after", "leased_until", "result_json", "updated_at"} & columns("jobs")


def test_004_spec_hash_has_an_index() -> None:
    made = [thing.make or "" for thing in expected() if thing.part_of == "jobs" and thing.kind == "index"]

    assert "spec_hash" in columns("jobs")
    assert any("(spec_hash" in each for each in made)
