"""Metrics as they are read: names and labels of the contract, within bounds, by the rules of the format."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bpc_worker.handler_api import Measure, Tally
from bpc_worker.jobs.errors import Code
from bpc_worker.observability.metrics import MOST_LABEL_VALUES, Metrics
from tests.support.metric_rules import broken_rules
from tests.support.promtool import objections

# Those of the contract that this module makes; labels beside `le`.
NAMES = {
    "bpc_jobs_produced_total": {"queue", "type"},
    "bpc_jobs_acquired_total": {"queue", "type"},
    "bpc_jobs_completed_total": {"queue", "type", "status"},
    "bpc_jobs_failed_total": {"queue", "type", "reason"},
    "bpc_jobs_retried_total": {"queue", "type"},
    "bpc_jobs_dead_letter_total": {"queue", "type"},
    "bpc_job_duration_seconds": {"queue", "type"},
    "bpc_job_wait_seconds": {"queue", "type"},
    "bpc_wakeups_total": {"source"},
    "bpc_lease_renewals_total": set(),
    "bpc_leases_lost_total": set(),
    "bpc_reaper_jobs_moved_total": {"action", "table"},
    "bpc_reaper_scan_duration_seconds": {"table"},
    "bpc_webhook_deliveries_total": {"status"},
    "bpc_compiles_total": {"result"},
    "bpc_signings_total": {"result"},
    "bpc_compile_duration_seconds": set(),
    "bpc_payload_bytes": set(),
    "bpc_proof_bytes": set(),
    "bpc_receipt_bytes": set(),
    "bpc_db_pool_in_use": set(),
}


def used(*, types: int = 1) -> Metrics:
    """Every metric has at least one sample."""
    metrics = Metrics()
    for number in range(types):
        queue, kind = f"q{number}", f"T{number}"
        metrics.produced(queue, kind)
        metrics.acquired(queue, kind, waited=0.1)
        metrics.settled(queue, kind, status="DEAD_LETTER", seconds=0.1)
        metrics.failed(queue, kind, reason=f"OWN_{number}")
        metrics.failed(queue, kind, reason=Code.CHILD_DIED)
        metrics.retried(queue, kind)
        for tally in Tally:
            metrics.count(tally, f"OWN_{number}")
    metrics.woken("poll")
    metrics.reaped("q0", "T0", action="requeued")
    metrics.scanned(0.1)
    for measure in Measure:
        metrics.observe(measure, 10)
    return metrics


def text(metrics: Metrics) -> str:
    return metrics.text(dropped_log_keys=2).decode()


def labels_of(written: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(written):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        found[name] = {label for sample in family.samples for label in sample.labels} - {"le"}
    return found


def test_every_name_of_the_contract_is_there_with_its_labels() -> None:
    found = labels_of(text(used()))

    assert {name: found.get(name) for name in NAMES} == NAMES


def test_no_label_has_more_values_than_fifty_and_the_rest() -> None:
    values: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text(used(types=MOST_LABEL_VALUES + 20))):
        for sample in family.samples:
            for label, value in sample.labels.items():
                values.setdefault(f"{family.name} {label}", set()).add(value)

    assert {"other"} < values["bpc_jobs_acquired type"]
    assert len(values["bpc_jobs_acquired queue"]) == MOST_LABEL_VALUES + 1
    assert max(map(len, values.values())) <= MOST_LABEL_VALUES + 1


def test_what_is_written_follows_the_rules() -> None:
    assert broken_rules(text(used())) == []


@pytest.mark.slow  # where promtool has to be installed
def test_promtool_agrees() -> None:
    assert objections(text(used())) == ""
    assert "no help text" in objections("bpc_a 1\n")


HEAD = "# HELP {0} It.\n# TYPE {0} {1}\n"


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("bpc_a 1\n", "no TYPE"),
        ("# TYPE bpc_a gauge\nbpc_a 1\n", "no HELP"),
        (HEAD.format("bpc_a", "counter") + "bpc_a 1\n", "a counter ends in _total"),
        (HEAD.format("bpc_a_total", "gauge") + "bpc_a_total 1\n", "only a counter ends in _total"),
        (HEAD.format("bpc_a_count", "gauge") + "bpc_a_count 1\n", "_count belongs to histograms"),
        (HEAD.format("bpc_a_ms", "gauge") + "bpc_a_ms 1\n", "units are base units"),
        (HEAD.format("bpc_a_gauge", "gauge") + "bpc_a_gauge 1\n", "the name says its type"),
        (HEAD.format("a", "gauge") + "a 1\n", "the name begins with bpc_"),
        (HEAD.format("bpc_aB", "gauge") + "bpc_aB 1\n", "the name is lower case"),
        (HEAD.format("bpc_a", "gauge") + 'bpc_a{job_id="1"} 1\n', "no ids"),
        (HEAD.format("bpc_a", "gauge") + "bpc_a 1\n" + HEAD.format("bpc_a", "gauge"), "said twice"),
        (HEAD.format("bpc_a", "gauge") + "bpc_a 1", "the last line ends"),
    ],
)
def test_each_rule_can_be_broken(written: str, rule: str) -> None:
    assert re.search(rule, "; ".join(broken_rules(written)))


def test_types_and_queues_of_this_worker_keep_their_labels_whatever_else_is_queued() -> None:
    metrics = Metrics(types=["SIGN_PASSPORT"], queues=["default"])
    for number in range(60):
        metrics.produced(f"q{number}", f"JUNK_{number}")
    metrics.produced("default", "SIGN_PASSPORT")

    assert 'bpc_jobs_produced_total{queue="default",type="SIGN_PASSPORT"} 1.0' in text(metrics)
    assert 'bpc_jobs_produced_total{queue="other",type="other"} 11.0' in text(metrics)
